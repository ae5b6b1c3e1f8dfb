/** The meaning of a failed write for the caller of the host. */
import { hash } from "node:crypto";
import { HostError } from "../../core/host.ts";

/** Idempotency keys as they are stored. */

/** Keys of ordinary length stay readable, and in the order of time when their ids are. */
const MAX_KEY_CHARS = 256;

/** The key itself, or the digest of one that is too long to store. */
export function shortKey(key: string): string {
  return key.length <= MAX_KEY_CHARS ? key : `sha256:${hash("sha256", key)}`;
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

/** `duplicate`: an event with this key was stored before. `full`: nothing was stored. */
export type EnqueueOutcome = "stored" | "duplicate" | "full";

/** `repeated`: a run with this id has begun before; nothing was stored. */
export type BeginRunOutcome = "begun" | "repeated";
