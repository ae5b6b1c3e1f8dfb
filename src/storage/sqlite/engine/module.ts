/** The contract of a module that adds its tables and operations to the shared database file. */
import type { DatabaseSync } from "node:sqlite";

/** One version of a module's tables: SQL statements in the order in which they run. */
export type Migration = readonly string[];

/**
 * A module of the database: its tables and the operations that write them.
 *
 * The writer thread imports the file that exports it (as `sqliteModule`), applies the migrations
 * in order of their names, and prepares the operations once. It must import nothing that touches
 * the main thread's state.
 */
export interface SqliteModule {
  /** Lower-case word; prefixes its migration table and names its operations (`store.accept`). */
  readonly name: string;
  readonly migrations: Readonly<Record<string, Migration>>;
  /** Prepares statements and returns the operations that use them. */
  operations(database: DatabaseSync): SqliteOperations;
  /**
   * Prepares reads on a connection of the reader thread; their arguments and results are cloned. One that reads at
   * several points in time calls `letPass` before each.
   */
  reads?(database: DatabaseSync, letPass: () => void): SqliteOperations;
}

/** Loads a module by the URL of the file that exports it. */
export async function importSqliteModule(url: string): Promise<SqliteModule> {
  const exported = (await import(url)) as { sqliteModule?: SqliteModule };
  if (exported.sqliteModule === undefined) throw new Error(`${url} does not export sqliteModule.`);
  return exported.sqliteModule;
}

/**
 * Operations by name. Each runs inside the transaction of its group commit; what it returns must
 * survive a structured clone and reaches the caller after the commit. A throw undoes that
 * operation alone and rejects its caller; the others of the commit are then run a second time, so
 * an operation is synchronous and depends on nothing but its arguments and the database.
 */
export type SqliteOperations = Readonly<Record<string, (args: never) => unknown>>;

/** The part of the host's logger that the database uses; this layer knows no host. */
export interface SqliteLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
