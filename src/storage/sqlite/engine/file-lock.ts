import { closeSync, existsSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { isBusy, SqliteError } from "./errors.ts";

/**
 * Holds `<file>.lock` for as long as this process has the database open.
 *
 * It is a lock of the operating system on an empty SQLite file, so it ends with the process however
 * that dies, and there is nothing stale to clean up.
 */
export class FileLock {
  readonly #holder: DatabaseSync;

  constructor(holder: DatabaseSync) {
    this.#holder = holder;
  }

  /** Throws a {@link SqliteError} `IN_USE` when another holder is alive. */
  static acquire(file: string): FileLock {
    const path = `${file}.lock`;
    if (!existsSync(path)) closeSync(openSync(path, "a", 0o600));
    const holder = new DatabaseSync(path, { timeout: 0 });
    try {
      // Without a journal in memory, BEGIN EXCLUSIVE leaves a second file behind.
      holder.exec("PRAGMA journal_mode = MEMORY");
      holder.exec("BEGIN EXCLUSIVE");
    } catch (error) {
      holder.close();
      if (!isBusy(error)) throw error;
      throw new SqliteError(
        "IN_USE",
        `${file} is in use by another process; stop that process or choose another state directory.`,
        { cause: error },
      );
    }
    return new FileLock(holder);
  }

  release(): void {
    this.#holder.close();
  }
}
