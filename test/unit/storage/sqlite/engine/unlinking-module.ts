/** A module that takes the database's file away while it is opened, as another program would. */
import { rmSync } from "node:fs";
import type { SqliteModule } from "../../../../../src/storage/sqlite/engine/module.ts";

export const sqliteModule: SqliteModule = {
  name: "unlinking",
  migrations: {},
  operations(database) {
    rmSync(database.location()!);
    return {};
  },
};
