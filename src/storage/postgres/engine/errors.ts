/** What PostgreSQL and its client report, and what it means for a store. */
import { reasonLine } from "../../../core/reason-of.ts";
import { StoreError } from "../../delivery-store.ts";

/** Codes with which a server ends a session, or can no longer be written to. */
const ENDED = /^(?:08...|57P0[1-5]|25006)$/u;
/** Codes of a value or a statement that can never succeed, whatever is tried with it. */
const OWN_FAULT = /^(?:22...|23...|54...)$/u;

/** Codes of a transaction that waited for another one while that waited for it, or met its rows. */
const CONFLICT = /^40(?:001|P01)$/u;

/** The five characters of SQLSTATE; `undefined` for an error of the network or the client. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && /^[0-9A-Z]{5}$/u.test(code) ? code : undefined;
}

/** True when the server has ended the session, or cannot be written to any more. */
export function isSessionEnd(error: unknown): boolean {
  return ENDED.test(sqlStateOf(error) ?? "");
}

/** True when the same transaction may succeed at once. */
export function isConflict(error: unknown): boolean {
  return CONFLICT.test(sqlStateOf(error) ?? "");
}

/** True when another write, without the one that failed, may succeed. */
export function isOwnFault(error: unknown): boolean {
  return OWN_FAULT.test(sqlStateOf(error) ?? "");
}

export function asStoreError(error: unknown): Error {
  if (error instanceof StoreError || error instanceof RangeError) return error;
  return new StoreError("UNAVAILABLE", `PostgreSQL: ${reasonLine(error)}`, { cause: error });
}

export function notFound(id: string): StoreError {
  return new StoreError("NOT_FOUND", `There is no ${id} of which this can be recorded.`);
}
