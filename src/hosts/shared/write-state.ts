/** Writes to the state of a host, and the meaning of one that fails. */
import { hash } from "node:crypto";
import { HostError, type SystemEvent } from "../../core/host.ts";
import type { SqliteDatabase } from "../../storage/sqlite/engine/database.ts";
import { type EnqueueOutcome, SESSION_LIMITS } from "./state-operations.ts";

/** Keys of ordinary length stay readable, and in the order of time when their ids are. */
const MAX_KEY_CHARS = 256;

/** The key itself, or the digest of one that is too long to store. */
export function shortKey(key: string): string {
  return key.length <= MAX_KEY_CHARS ? key : `sha256:${hash("sha256", key)}`;
}

/** One commit of a host's state module; `what` begins the message of the {@link HostError} that a failure becomes. */
export async function writeState<Result>(
  database: SqliteDatabase,
  operation: string,
  args: object,
  what: string,
): Promise<Result> {
  try {
    return await database.write<Result>(operation, args);
  } catch (error) {
    throw stateError(error, what);
  }
}

/**
 * Words a failed write as a host error: retryable when the database was unavailable (full disk,
 * locked file) or closing, permanently otherwise.
 */
export function stateError(error: unknown, what: string): HostError {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return new HostError(`${what} could not be stored${typeof code === "string" ? ` (${code})` : ""}.`, {
    retryable: code === "UNAVAILABLE" || code === "CLOSED",
    cause: error,
  });
}

/**
 * Stores a system event by the host's own write. Rejects retryably when too many wait in the session, and
 * permanently when the text is too long: cutting it could cut the boundary around it.
 */
export async function enqueueEvent(
  event: SystemEvent,
  write: (key: string) => Promise<EnqueueOutcome>,
): Promise<Exclude<EnqueueOutcome, "full">> {
  const { sessionKey, text, idempotencyKey } = event;
  const { maxEventChars } = SESSION_LIMITS;
  if (text.length > maxEventChars) {
    throw new HostError(`A system event may have ${maxEventChars} characters; this one has more.`, {
      retryable: false,
    });
  }
  const outcome = await write(shortKey(idempotencyKey));
  if (outcome !== "full") return outcome;
  throw new HostError(`The session ${JSON.stringify(sessionKey)} has too many pending system events.`, {
    retryable: true,
  });
}
