/** What a write that failed means to whoever asked the host for it. */
import { HostError } from "../../../core/host.ts";

/**
 * Words a failed write as a host error: retryable when the database was unavailable (full disk,
 * locked file) or closing, for good otherwise.
 */
export function stateError(error: unknown, what: string): HostError {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return new HostError(`${what} could not be stored${typeof code === "string" ? ` (${code})` : ""}.`, {
    retryable: code === "UNAVAILABLE" || code === "CLOSED",
    cause: error,
  });
}
