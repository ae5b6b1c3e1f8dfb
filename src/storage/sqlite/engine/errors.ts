import { reasonOf } from "../../../core/reason-of.ts";

/**
 * An error of {@link "./database".SqliteDatabase}.
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

/** Advice for the failures of SQLite at the opening of a file, by primary result code. */
const ADVICE_BY_RESULT: ReadonlyMap<number, string> = new Map([
  [8, "Give the gateway's user the right to write it."],
  [10, "Check the disk and its free space; when the file is damaged, restore it from a backup."],
  [11, "The file is damaged. Restore it from a backup, or rescue what can be read with: sqlite3 <file> .recover"],
  [13, "The disk is full. Free some space."],
  [
    14,
    "Check that it is a file in a folder that the gateway's user may write, and the limit of open files (ulimit -n).",
  ],
  [26, "Restore it from a backup, or move it and the files beside it away to start with an empty one."],
]);

/** Advice for the failures of the operating system, by error code. */
const ADVICE_BY_CODE: ReadonlyMap<string, string> = new Map([
  ["EACCES", "Give the gateway's user the right to write there."],
  ["EPERM", "Give the gateway's user the right to write there."],
  ["EROFS", "The file system is read-only. Choose another state directory."],
  ["ENOSPC", "The disk is full. Free some space."],
  ["EDQUOT", "The disk quota is used up. Free some space."],
  ["EMFILE", "The process has too many open files. Raise the limit (ulimit -n)."],
  ["ENFILE", "The machine has too many open files. Close some programs."],
  ["EEXIST", "A file has the name of the folder. Move it away or choose another state directory."],
  ["ENOTDIR", "A part of the path is a file. Choose another state directory."],
  ["ENOENT", "The folder cannot be created there. Choose another state directory."],
]);

/** An error of opening a file or a folder, for a person: the path, the problem and a way out. */
export function describeOpenError(path: string, error: unknown): string {
  const message = reasonOf(error);
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = "code" in cause && typeof cause.code === "string" ? ADVICE_BY_CODE.get(cause.code) : undefined;
    const advice = ADVICE_BY_RESULT.get((resultCode(cause) ?? 0) & 0xff) ?? code;
    if (advice !== undefined) return `${path} cannot be opened: ${message}. ${advice}`;
  }
  return message;
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
