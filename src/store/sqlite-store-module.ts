/** The delivery store's part of the database file; imported by the writer thread. */
import type { SqliteModule } from "../sqlite/sqlite-module.ts";
import { acceptOperation } from "./accept-operation.ts";
import { claimOperations } from "./claim-operations.ts";
import { runOperations } from "./run-operations.ts";
import { storeMigrations } from "./sqlite-migrations.ts";

export const sqliteModule: SqliteModule = {
  name: "store",
  migrations: storeMigrations,
  operations(database) {
    const claims = claimOperations(database);
    return {
      accept: acceptOperation(database, claims),
      ...runOperations(database, claims),
      /** Does nothing; whoever gets its answer knows that all earlier writes have theirs. */
      barrier: () => undefined,
    };
  },
};
