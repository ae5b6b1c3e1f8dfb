/** How failures of the database become failures of the store. */
import { SqliteError } from "./engine/errors.ts";
import { StoreError } from "../delivery-store.ts";

export function notFound(runId: string): StoreError {
  return new StoreError("NOT_FOUND", `There is no run ${runId} of which this can be recorded.`);
}

/** Reads; what the database throws is thrown as a {@link StoreError}. */
export function reading<Result>(query: () => Result): Result {
  try {
    return query();
  } catch (error) {
    throw asStoreError(error);
  }
}

export function asStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const code = error instanceof SqliteError && error.code === "CLOSED" ? "CLOSED" : "UNAVAILABLE";
  return new StoreError(code, message, { cause: error });
}
