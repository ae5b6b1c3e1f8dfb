/** The error that the database rejects with, and which failures of SQLite are temporary. */

/**
 * An error of {@link "./sqlite-database".SqliteDatabase}.
 *
 * `UNAVAILABLE`: nothing was written and the same call may succeed later (full disk, locked file);
 * only when the writer thread itself died, a commit may have been completed whose answer was lost.
 * `CLOSED`: the database is closing. `FAILED`: the operation threw and was undone. `IN_USE`: another
 * process, or another database object of this one, holds the file.
 */
export class SqliteError extends Error {
  override readonly name = "SqliteError";
  readonly code: SqliteErrorCode;

  constructor(code: SqliteErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export type SqliteErrorCode = "UNAVAILABLE" | "CLOSED" | "FAILED" | "IN_USE";

/**
 * Primary result codes that say something about the file or the machine and nothing about the
 * statement: BUSY, LOCKED, NOMEM, READONLY, INTERRUPT, IOERR, CORRUPT, FULL, CANTOPEN, PROTOCOL, NOTADB.
 */
const environmental = new Set([5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 26]);

/** True when the error would have met any other write too, so that the whole commit is refused. */
export function isEnvironmental(error: unknown): boolean {
  const code = resultCode(error);
  return code !== undefined && environmental.has(code & 0xff);
}

/** True when the file is locked by another connection. */
export function isBusy(error: unknown): boolean {
  const code = resultCode(error);
  return code !== undefined && (code & 0xff) === 5;
}

function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  return typeof error.errcode === "number" ? error.errcode : undefined;
}
