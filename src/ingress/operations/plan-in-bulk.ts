import type { DeliverySummary } from "../../core/delivery.ts";
import type { DeliveryStore } from "../../storage/delivery-store.ts";
import { laterReplay } from "./later-replay.ts";
import type { Operation, OperationOutcome } from "./operation-outcome.ts";
import { planOperation } from "./plan-operation.ts";
import type { ReplayOptions } from "./plan-operation.ts";
import { planReplay } from "./replay-plan.ts";

export interface PlanInBulkOptions extends ReplayOptions {
  /** True when a person has named the delivery by its id. */
  readonly isNamed: boolean;
  /** Ids of the deliveries that the operation is to be carried out on. */
  readonly chosen: ReadonlySet<string>;
}

/** What an operation on many would do to one of them. Rejects with a `StoreError`. */
export async function planInBulk(
  store: Pick<DeliveryStore, "get" | "replayable" | "replaysOf">,
  operation: Operation,
  delivery: DeliverySummary,
  options: PlanInBulkOptions,
): Promise<OperationOutcome> {
  const reason =
    planOperation(operation, delivery, options) ??
    (operation === "replay" ? await whyNeedless(store, delivery, options) : undefined);
  if (reason !== undefined) return { kind: "left", reason };
  return operation === "replay" ? planReplay(store, delivery, options) : { kind: "planned" };
}

/** Why a call runs already, or will, without a replay of this delivery. */
async function whyNeedless(
  store: Pick<DeliveryStore, "get" | "replaysOf">,
  delivery: DeliverySummary,
  { isNamed, chosen }: PlanInBulkOptions,
): Promise<string | undefined> {
  const { state, relatedTo } = delivery;
  if (relatedTo?.how === "coalesced") {
    const { deliveryId } = relatedTo;
    if (chosen.has(deliveryId)) return `its call is a part of the run of ${deliveryId}, which is replayed`;
    // By its id alone, since it is replayed together with that one.
    if (!isNamed && (await store.get(deliveryId)) !== undefined)
      return `its call is a part of the run of ${deliveryId}; replay that one, or name this one by its id`;
  }
  if (isNamed) return undefined;
  if (relatedTo?.how === "replay" && state === "done") {
    return `it is a replay of ${relatedTo.deliveryId} and is done; to run it once more, name it by its id`;
  }
  const later = await laterReplay(store, delivery, chosen);
  if (later === undefined) return whyTheFirst(store, delivery);
  return later.isChosen ? `its replay ${later.id} is replayed` : `replayed as ${later.id} (${later.state})`;
}

/**
 * Why what a delivery is a replay of is replayed in its place: that one stands for other calls as well, which
 * were not reached when the replay of its own call failed at once.
 */
async function whyTheFirst(
  store: Pick<DeliveryStore, "get">,
  { state, runIds, relatedTo }: DeliverySummary,
): Promise<string | undefined> {
  if (state !== "failed" || runIds.length > 0 || relatedTo?.how !== "replay") return undefined;
  const first = await store.get(relatedTo.deliveryId);
  const calls = Math.max(0, ...(first?.runs ?? []).map((run) => run.calls));
  if (calls < 2) return undefined;
  return `it is a replay of ${relatedTo.deliveryId}, whose run stands for ${calls} calls; replay that one`;
}
