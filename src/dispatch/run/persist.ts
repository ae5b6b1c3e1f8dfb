import type { DispatchContext } from "../dispatch-context.ts";
import { retrying, STORE_RETRY } from "./retrying.ts";

/** Writes state of a run, as soon as the disk takes it; rejects when it never will, or at a shutdown's deadline. */
export function persist(context: Pick<DispatchContext, "abandon">, write: () => Promise<void>): Promise<void> {
  return retrying(write, STORE_RETRY, context.abandon);
}
