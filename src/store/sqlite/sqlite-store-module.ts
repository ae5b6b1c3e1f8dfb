/** The delivery store's part of the database file; imported by the writer thread. */
import type { SqliteModule } from "../../sqlite/sqlite-module.ts";
import { acceptOperation } from "./accept-operation.ts";
import { claimOperations } from "./claim-operations.ts";
import { gatheringOperations } from "./gathering-operations.ts";
import { markMemory } from "./mark-memory.ts";
import { operationalOperations } from "./operational-operations.ts";
import { retentionOperations } from "./retention-operations.ts";
import { runOperations } from "./run-operations.ts";
import { storeMigrations } from "./sqlite-migrations.ts";

export const sqliteModule: SqliteModule = {
  name: "store",
  migrations: storeMigrations,
  operations(database) {
    const claims = claimOperations(database);
    const memory = markMemory(database, claims);
    const shared = { claims, memory, gathering: gatheringOperations(database) };
    return {
      accept: acceptOperation(database, shared),
      ...runOperations(database, shared),
      ...operationalOperations(database),
      ...retentionOperations(database, memory),
      /** Does nothing; whoever gets its answer knows that all earlier writes have theirs. */
      barrier: () => undefined,
    };
  },
};
