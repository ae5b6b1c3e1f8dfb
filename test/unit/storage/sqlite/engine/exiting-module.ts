/** A module that ends the thread that imports it, as a crash at start would. */
import { isMainThread } from "node:worker_threads";
import type { SqliteModule } from "../../../../../src/storage/sqlite/engine/module.ts";

if (!isMainThread) process.exit(3);

export const sqliteModule: SqliteModule = { name: "exiting", migrations: {}, operations: () => ({}) };
