/** Lets replies leave that were held: a person has looked at them. */
import type { DeliveryDetail } from "../../core/delivery.ts";
import { refuse } from "../../core/errors.ts";
import { HELD_REPLY } from "../../core/run.ts";
import type { IngressContext } from "../context.ts";
import type { OperationOutcome } from "./outcome.ts";

const RELEASED = "a person let its reply go";

/**
 * The runs whose replies are held go on where they stopped: no agent is asked again. `undefined`: the delivery has none.
 * Rejects with a `StoreError`.
 */
export async function letRepliesGo(
  { store, dispatcher, host }: Pick<IngressContext, "store" | "dispatcher" | "host">,
  { mappingId, runs }: DeliveryDetail,
  maxQueuedRuns: number,
): Promise<OperationOutcome | undefined> {
  const held = runs.filter(({ state, reason }) => state === "held" && reason?.startsWith(HELD_REPLY));
  if (held.length === 0) return undefined;
  if (!dispatcher.reserve(held.length, maxQueuedRuns)) return { kind: "refused", refusal: refuse("QUEUE_FULL") };
  try {
    const at = host.clock.now();
    for (const { id: runId } of held) {
      const { lane, spec } = await store.loadRun(runId);
      // First, so that a reply that is let go is not held again.
      await store.recordStep(runId, "released", { at });
      await store.postpone(runId, { dueAt: at, reason: RELEASED });
      const progress = { state: "queued", dueAt: at, expiresAt: null, begun: true, replied: true } as const;
      // Each at once: should the store refuse the next, no one else would find this one before a restart.
      dispatcher.enqueue([{ runId, mappingId, lane, kind: spec.kind, ...progress }]);
    }
    return { kind: "released", runs: held.length };
  } finally {
    dispatcher.release(held.length);
  }
}
