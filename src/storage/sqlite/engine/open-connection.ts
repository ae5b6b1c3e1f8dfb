import { chmodSync, closeSync, existsSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

/** Bytes to which the log is cut after it started over; overwriting is cheaper than growing. */
const KEPT_LOG_BYTES = 64 * 1024 * 1024;
const PAGE_BYTES = 8192;
const CACHE_BYTES = 16 * 1024 * 1024;
/** Only other processes (a backup, a person with the sqlite3 tool) can make the writer wait. */
const BUSY_TIMEOUT_MS = 500;

/**
 * Opens a connection that writes: WAL, `synchronous=FULL` (both read back, since a pragma that
 * does not take effect says nothing), no automatic checkpoints.
 *
 * Throws when the file system supports no write-ahead log.
 */
export function openWriteConnection(file: string): DatabaseSync {
  const database = new DatabaseSync(file, { timeout: BUSY_TIMEOUT_MS });
  try {
    database.exec(`PRAGMA page_size = ${PAGE_BYTES}`);
    // Like the size of a page, it takes effect in a new file alone.
    database.exec("PRAGMA auto_vacuum = INCREMENTAL");
    database.exec("PRAGMA journal_mode = WAL");
    database.exec("PRAGMA synchronous = FULL");
    database.exec("PRAGMA wal_autocheckpoint = 0");
    database.exec(`PRAGMA journal_size_limit = ${KEPT_LOG_BYTES}`);
    database.exec(`PRAGMA cache_size = ${-CACHE_BYTES / 1024}`);
    database.exec("PRAGMA temp_store = MEMORY");
    assertPragma(database, "journal_mode", "wal");
    assertPragma(database, "synchronous", 2);
    assertPragma(database, "wal_autocheckpoint", 0);
  } catch (error) {
    database.close();
    throw error;
  }
  return database;
}

/** Opens a connection that can only read, for the main thread. */
export function openReadConnection(file: string): DatabaseSync {
  return new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
}

/**
 * Makes the file, or takes back rights that others have on it: only its owner may read it.
 *
 * Only for the holder of the lock: closing a descriptor would release the locks that SQLite has on
 * the same file in this process.
 */
export function makePrivate(file: string): void {
  if (!existsSync(file)) closeSync(openSync(file, "a", 0o600));
  for (const path of [file, `${file}-wal`, `${file}-shm`]) {
    if (existsSync(path)) chmodSync(path, 0o600);
  }
}

function assertPragma(database: DatabaseSync, name: string, expected: string | number): void {
  const row = database.prepare(`PRAGMA ${name}`).get();
  const value = row?.[name];
  if (value !== expected) {
    throw new Error(`SQLite did not take ${name} = ${expected} for this file; it stays at ${String(value)}.`);
  }
}
