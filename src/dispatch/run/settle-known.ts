import type { SettledState } from "../../core/delivery.ts";
import { StoreError } from "../../storage/delivery-store.ts";
import type { DispatchContext } from "../dispatch-context.ts";
import { retrying, STORE_RETRY } from "./retrying.ts";

/**
 * Ends many runs, in one commit as long as the store knows them all. When one was removed in between, each
 * has a commit of its own, so that the others are settled; the one that is gone is no error.
 */
export async function settleKnown(
  context: Pick<DispatchContext, "store" | "abandon">,
  runIds: readonly string[],
  settled: { readonly state: SettledState; readonly reason: string | null },
): Promise<void> {
  const { store, abandon } = context;
  const settle = (some: readonly string[]): Promise<void> =>
    retrying(() => store.settleAll(some, settled), STORE_RETRY, abandon);
  try {
    await settle(runIds);
  } catch (error) {
    if (!isGone(error)) throw error;
    if (runIds.length > 1) await Promise.all(runIds.map((runId) => settleKnown(context, [runId], settled)));
  }
}

function isGone(error: unknown): boolean {
  return error instanceof StoreError && error.code === "NOT_FOUND";
}
