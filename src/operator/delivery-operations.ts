import type { DeliveryDetail, DeliverySummary, State } from "../delivery.ts";
import { isRefusal, refuse } from "../errors.ts";
import type { ErrorCode, Refusal } from "../errors.ts";
import type { Generation } from "../generation.ts";
import { replayDelivery } from "../pipeline.ts";
import type { IngressContext } from "../stages/ingress-context.ts";
import { StoreError } from "../store/delivery-store.ts";
import type { DeliveryPage, DeliveryQuery } from "../store/delivery-store.ts";
import type { Operation, OperationOutcome } from "./operation-outcome.ts";
import { planOperation } from "./plan-operation.ts";
import type { ReplayOptions } from "./plan-operation.ts";
import { findDeliveries, selectDeliveries } from "./select-deliveries.ts";
import type { DeliveryFilter } from "./select-deliveries.ts";

/** Which deliveries an operation in bulk is about. */
export type Target =
  | { readonly ids: readonly string[] }
  | { readonly filter: DeliveryFilter; readonly limit?: number | undefined };

export interface BulkOptions extends ReplayOptions {
  /** Nothing is changed; the outcome says what would be. */
  readonly dryRun: boolean;
}

export interface BulkOutcome {
  /** Deliveries that were meant, with those that were not reached. */
  readonly matched: number;
  /** True when more fit than an operation takes at once. */
  readonly more: boolean;
  /** In the order in which they were treated, the oldest first. */
  readonly deliveries: readonly { readonly delivery: DeliverySummary; readonly outcome: OperationOutcome }[];
  readonly unknown: readonly string[];
  /** Why the rest was not treated: the queue is full, the store does not write, the gateway stops. */
  readonly stopped: Refusal | undefined;
}

const CANCELED = "canceled by the operator";

/** After these the rest would be refused as well. */
const STOPPING: ReadonlySet<ErrorCode> = new Set(["QUEUE_FULL", "STORE_UNAVAILABLE", "SHUTTING_DOWN"]);

/** Cancellations and removals under way at once, which share commits. */
const AT_ONCE = 32;

/** What an operator can read of deliveries and do to them. Reads reject with a `StoreError`. */
export class DeliveryOperations {
  readonly #ingress: IngressContext;
  readonly #generation: () => Generation;

  constructor({ ingress, generation }: { ingress: IngressContext; generation: () => Generation }) {
    this.#ingress = ingress;
    this.#generation = generation;
  }

  /** Newest first. A page may hold fewer rows than the limit and still have a `nextCursor`. */
  list(query: DeliveryQuery): Promise<DeliveryPage> {
    return this.#ingress.store.list(query);
  }

  get(deliveryId: string): Promise<DeliveryDetail | undefined> {
    return this.#ingress.store.get(deliveryId);
  }

  /** The body exactly as received; `undefined` when there is none, or not any more. */
  body(deliveryId: string): Promise<Uint8Array | undefined> {
    return this.#ingress.store.body(deliveryId);
  }

  /**
   * Makes a new delivery of an old one, which stays as it is: a held one stays held until it is canceled.
   * One that is queued or running is left alone, since it would run twice.
   */
  replay(deliveryId: string, options: ReplayOptions): Promise<OperationOutcome> {
    return this.#single("replay", deliveryId, options);
  }

  /** Ends the runs that are queued, running or held; a run under way is stopped. */
  cancel(deliveryId: string): Promise<OperationOutcome> {
    return this.#single("cancel", deliveryId, { asAccepted: false });
  }

  /** Removes a delivery that has ended. */
  purge(deliveryId: string): Promise<OperationOutcome> {
    return this.#single("purge", deliveryId, { asAccepted: false });
  }

  /** One operation on many deliveries, at most 10,000 at once; ends early where the rest would fail as well. */
  async bulk(operation: Operation, target: Target, options: BulkOptions): Promise<BulkOutcome> {
    const { store } = this.#ingress;
    const selection =
      "ids" in target
        ? await findDeliveries(store, target.ids)
        : await selectDeliveries(store, target.filter, target.limit);
    const { deliveries: matched, unknown, more } = selection;
    const treated: { delivery: DeliverySummary; outcome: OperationOutcome }[] = [];
    // Replays keep the order of the calls that they repeat.
    const atOnce = operation === "replay" ? 1 : AT_ONCE;
    let stopped: Refusal | undefined;
    for (let at = 0; at < matched.length && stopped === undefined; at += atOnce) {
      const group = await Promise.all(
        matched.slice(at, at + atOnce).map(async (delivery) => ({
          delivery,
          outcome: await this.#treat(operation, delivery, options),
        })),
      );
      for (const { delivery, outcome } of group) {
        if (isStopping(outcome)) stopped ??= outcome.refusal;
        else treated.push({ delivery, outcome });
      }
    }
    return { matched: matched.length, more, deliveries: treated, unknown, stopped };
  }

  async #single(operation: Operation, deliveryId: string, options: ReplayOptions): Promise<OperationOutcome> {
    const delivery = await this.#ingress.store.get(deliveryId);
    if (delivery === undefined) return { kind: "unknown" };
    return this.#treat(operation, delivery, { ...options, dryRun: false });
  }

  async #treat(operation: Operation, delivery: DeliverySummary, options: BulkOptions): Promise<OperationOutcome> {
    const reason = planOperation(operation, delivery, options);
    if (reason !== undefined) return { kind: "left", reason };
    if (options.dryRun) return { kind: "planned" };
    try {
      return await this.#carryOut(operation, delivery.id, options);
    } catch (error) {
      return outcomeOf(error);
    }
  }

  #carryOut(operation: Operation, deliveryId: string, options: ReplayOptions): Promise<OperationOutcome> {
    switch (operation) {
      case "replay":
        return this.#replay(deliveryId, options);
      case "cancel":
        return this.#cancel(deliveryId);
      case "purge":
        return this.#purge(deliveryId);
    }
  }

  async #replay(deliveryId: string, options: ReplayOptions): Promise<OperationOutcome> {
    const accepted = await replayDelivery(this.#ingress, this.#generation(), deliveryId, options);
    if (!isRefusal(accepted)) {
      const { deliveryId: id, runIds, ended } = accepted;
      return { kind: "replayed", deliveryId: id, runIds, state: ended ?? "queued" };
    }
    return accepted.refused === "DELIVERY_NOT_FOUND" ? { kind: "unknown" } : { kind: "refused", refusal: accepted };
  }

  async #cancel(deliveryId: string): Promise<OperationOutcome> {
    const { store, dispatcher } = this.#ingress;
    const open = await this.#runs(deliveryId, ({ state }) => OPEN.has(state));
    await store.settleAll(open, { state: "canceled", reason: CANCELED });
    // One that was settled in the meantime stays as it was.
    const canceled = new Set(await this.#runs(deliveryId, ({ state }) => state === "canceled"));
    const runIds = open.filter((runId) => canceled.has(runId));
    if (runIds.length > 0) dispatcher.withdraw({ runIds, state: "canceled", reason: CANCELED });
    return { kind: "canceled", runs: runIds.length };
  }

  async #purge(deliveryId: string): Promise<OperationOutcome> {
    const { removed, emptied } = await this.#ingress.store.remove([deliveryId], this.#ingress.host.clock.now());
    if (removed > 0) return { kind: "removed" };
    return emptied > 0 ? { kind: "emptied" } : { kind: "left", reason: "it is a part of a run that has not ended" };
  }

  async #runs(deliveryId: string, wanted: (run: DeliveryDetail["runs"][number]) => boolean): Promise<string[]> {
    const delivery = await this.#ingress.store.get(deliveryId);
    return (delivery?.runs ?? []).filter(wanted).map(({ id }) => id);
  }
}

const OPEN: ReadonlySet<State> = new Set(["queued", "running", "held"]);

function isStopping(outcome: OperationOutcome): outcome is Extract<OperationOutcome, { kind: "refused" }> {
  return outcome.kind === "refused" && STOPPING.has(outcome.refusal.refused);
}

function outcomeOf(error: unknown): OperationOutcome {
  if (!(error instanceof StoreError)) throw error;
  if (error.code === "NOT_FOUND") return { kind: "unknown" };
  return { kind: "refused", refusal: refuse(error.code === "CLOSED" ? "SHUTTING_DOWN" : "STORE_UNAVAILABLE") };
}
