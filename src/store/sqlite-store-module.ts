/** The delivery store's part of the database file; imported by the writer thread. */
import type { SqliteModule } from "../sqlite/sqlite-module.ts";
import { acceptOperation } from "./accept-operation.ts";
import { claimOperations } from "./claim-operations.ts";
import { markMemory } from "./mark-memory.ts";
import { runOperations } from "./run-operations.ts";
import { storeMigrations } from "./sqlite-migrations.ts";

export const sqliteModule: SqliteModule = {
  name: "store",
  migrations: storeMigrations,
  operations(database) {
    const claims = claimOperations(database);
    const memory = markMemory(database, claims);
    return {
      accept: acceptOperation(database, claims, memory),
      ...runOperations(database, claims, memory),
      /** Does nothing; whoever gets its answer knows that all earlier writes have theirs. */
      barrier: () => undefined,
    };
  },
};
