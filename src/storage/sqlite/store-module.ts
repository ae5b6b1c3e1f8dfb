/** The delivery store's part of the database file; imported by the writer thread. */
import type { SqliteModule } from "./engine/module.ts";
import { acceptOperation } from "./operations/accept.ts";
import { claimOperations } from "./operations/claims.ts";
import { gatheringOperations } from "./operations/coalesce-and-overlap.ts";
import { markMemory } from "./operations/replay-key-memory.ts";
import { operationalOperations } from "./operations/operational-state.ts";
import { retentionOperations } from "./operations/retention.ts";
import { runOperations } from "./operations/run.ts";
import { storeMigrations } from "./migrations.ts";

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
