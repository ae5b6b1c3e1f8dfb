import type { DeliveryDetail, DeliverySummary } from "../../core/delivery.ts";
import { payloadGone, notDone } from "../replay.ts";
import type { DeliveryStore } from "../../storage/delivery-store.ts";
import type { OperationOutcome } from "./operation-outcome.ts";
import type { ReplayOptions } from "./plan-operation.ts";

/**
 * What a replay of a delivery would do, or why nothing is left that it could be made of. Rejects with a
 * `StoreError`.
 */
export async function planReplay(
  store: Pick<DeliveryStore, "get" | "replayable">,
  { id }: DeliverySummary,
  options: ReplayOptions,
): Promise<OperationOutcome> {
  const delivery = await store.get(id);
  if (delivery === undefined) return { kind: "unknown" };
  // Without a body it is unclear whether it ever had one; the texts of the runs go together with it.
  if (delivery.bodyBytes === 0) {
    const stored = await store.replayable(id);
    const gone = stored && payloadGone(stored, options);
    if (gone) return { kind: "refused", refusal: gone };
  }
  return { kind: "planned", replay: factsOf(delivery, options) };
}

function factsOf({ state, runs }: DeliveryDetail, { asAccepted }: ReplayOptions) {
  // The run of a coalesced call stands for others as well, which are not replayed with it.
  if (state === "coalesced") return { runs: 1, repeated: 1, done: 0, calls: 1 };
  return {
    runs: runs.length,
    repeated: asAccepted ? notDone(runs).length : runs.length,
    done: runs.filter((run) => run.state === "done").length,
    calls: Math.max(1, ...runs.map(({ calls }) => calls)),
  };
}
