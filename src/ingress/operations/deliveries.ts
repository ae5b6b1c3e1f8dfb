import type { DeliveryDetail, DeliverySummary } from "../../core/delivery.ts";
import type { RunDetail, State } from "../../core/run.ts";
import { isRefusal } from "../../core/errors.ts";
import type { Refusal } from "../../core/errors.ts";
import type { ActiveConfig } from "../active-config.ts";
import { type HowToReplay, releasedBefore, replayDelivery } from "../replay.ts";
import type { IngressContext } from "../context.ts";
import type { DeliveryPage, DeliveryQuery } from "../../storage/delivery-store.ts";
import { letRepliesGo } from "./let-replies-go.ts";
import { type Operation, type OperationOutcome, outcomeOf, replayedOutcome, stopOf } from "./outcome.ts";
import { laterReplay, planInBulk, planOperation } from "./plan.ts";
import type { ReplayOptions } from "./plan.ts";
import { findDeliveries, selectDeliveries } from "./select.ts";
import type { DeliveryFilter, Planner, Selection } from "./select.ts";

/** Which deliveries an operation in bulk is about. */
export type Target =
  | { readonly ids: readonly string[] }
  | { readonly filter: DeliveryFilter; readonly limit?: number | undefined };

export interface ListedQuery extends DeliveryQuery {
  /** True: only dead letters that neither a replay nor a person has resolved. */
  readonly open?: boolean;
}

export interface OperationOptions extends ReplayOptions {
  /** Of a resolution: the person's reason. */
  readonly note?: string | undefined;
  /** Of a release: what approved it. */
  readonly by?: string | undefined;
}

export interface BulkOptions extends OperationOptions {
  /** Nothing is changed; the outcome says what would be. */
  readonly dryRun: boolean;
}

export interface BulkOutcome {
  /** Deliveries that were meant, with those that were not reached. */
  readonly matched: number;
  /** True when the operation could be carried out on more than it takes at once. */
  readonly more: boolean;
  /** In the order in which they were treated, the oldest first. */
  readonly deliveries: readonly { readonly delivery: DeliverySummary; readonly outcome: OperationOutcome }[];
  readonly unknown: readonly string[];
  /** Why the rest was not treated: the queue is full, the store does not write, the gateway stops. */
  readonly stopped: Refusal | undefined;
}

const CANCELED = "canceled by the operator";

/** Failures that one page of open ones looks through, while it finds none; and rows of a page of the store. */
const MAX_LOOKED = 2_000;
const MAX_PAGE = 200;

/** Cancellations and removals at once; they share commits. */
const AT_ONCE = 32;

/** An operator's actions on deliveries. Reads reject with a `StoreError`. */
export class DeliveryOperations {
  readonly #ingress: IngressContext;
  readonly #active: () => ActiveConfig;
  /** The latest replay of all that fit: two at once could take the same deliveries. */
  #replaying: Promise<unknown> = Promise.resolve();
  #releasing: Promise<unknown> = Promise.resolve();

  constructor({ ingress, active }: { ingress: IngressContext; active: () => ActiveConfig }) {
    this.#ingress = ingress;
    this.#active = active;
  }

  /**
   * Newest first. A page may hold fewer rows than the limit and still have a `nextCursor`. With `open`,
   * dead letters alone, without those that a replay or a person has resolved: up to 2,000 failures are looked
   * through for one.
   */
  async list({ open = false, ...query }: ListedQuery): Promise<DeliveryPage> {
    if (!open) return this.#listOnce(query);
    let next: DeliveryQuery = { ...query, state: "failed" };
    for (let looked = 0; ;) {
      const page = await this.#listOnce(next);
      const found = page.deliveries.length;
      const deliveries = page.deliveries.filter((each) => !isResolved(each));
      if (deliveries.length > query.limit) {
        next = { ...next, limit: query.limit };
        continue;
      }
      looked += found;
      // A store ends a page early, even without a row, when its time is over.
      const isLast = found === 0 || page.nextCursor === null || looked >= MAX_LOOKED;
      if (deliveries.length > 0 || isLast) return { ...page, deliveries };
      next = { ...next, cursor: page.nextCursor, limit: Math.min(MAX_PAGE, next.limit * 4) };
    }
  }

  async #listOnce(query: DeliveryQuery): Promise<DeliveryPage> {
    const { deliveries, nextCursor } = await this.#ingress.store.list(query);
    const listed: DeliverySummary[] = [];
    for (const delivery of deliveries) listed.push(await this.#withReplay(delivery));
    return { deliveries: listed, nextCursor };
  }

  async get(deliveryId: string): Promise<DeliveryDetail | undefined> {
    const { store } = this.#ingress;
    const delivery = await store.get(deliveryId);
    if (delivery === undefined) return undefined;
    const [replays, duplicates] = await Promise.all([store.replaysOf(deliveryId), store.duplicatesOf(deliveryId)]);
    return { ...(await this.#withReplay(delivery)), replays, duplicates };
  }

  /** Adds to a dead letter the replay that makes another one needless. */
  async #withReplay<Delivery extends DeliverySummary>(delivery: Delivery): Promise<Delivery> {
    if (delivery.state !== "failed") return delivery;
    const replay = await laterReplay(this.#ingress.store, delivery, new Set());
    if (replay === undefined || replay.state === "failed") return delivery;
    return { ...delivery, replayedAs: { deliveryId: replay.id, state: replay.state } };
  }

  /** Exactly as received; `undefined` when there is none, or not any more. */
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

  /**
   * Lets the runs of a held delivery begin, as they were accepted: in a new delivery, which takes its place. Runs whose
   * replies are held go on where they stopped, in the same one. `by` says what approved it, if that was an event.
   */
  release(deliveryId: string, by?: string): Promise<OperationOutcome> {
    return this.#single("release", deliveryId, { asAccepted: true, by });
  }

  /** Ends the runs that are queued, running or held; an active run is stopped. */
  cancel(deliveryId: string): Promise<OperationOutcome> {
    return this.#single("cancel", deliveryId, { asAccepted: false });
  }

  /** Removes a delivery that has ended. */
  purge(deliveryId: string): Promise<OperationOutcome> {
    return this.#single("purge", deliveryId, { asAccepted: false });
  }

  /** Takes a failed delivery from the list of open failures, with a note that says why it needs nothing more. */
  resolve(deliveryId: string, note?: string): Promise<OperationOutcome> {
    return this.#single("resolve", deliveryId, { asAccepted: false, note });
  }

  /**
   * One operation on many deliveries, at most 10,000 at once; ends early where the rest would fail as well.
   * A replay of all that fit passes over those of which a later replay is open or done; named ones are
   * always replayed.
   */
  bulk(operation: Operation, target: Target, options: BulkOptions): Promise<BulkOutcome> {
    if (operation !== "replay" || "ids" in target || options.dryRun) return this.#bulk(operation, target, options);
    const outcome = this.#replaying.then(() => this.#bulk(operation, target, options));
    this.#replaying = outcome.catch(() => {});
    return outcome;
  }

  async #bulk(operation: Operation, target: Target, options: BulkOptions): Promise<BulkOutcome> {
    const { deliveries: matched, unknown, more } = await this.#select(operation, target, options);
    const treated: { delivery: DeliverySummary; outcome: OperationOutcome }[] = [];
    // Replays keep the order of the calls that they repeat.
    const atOnce = operation === "replay" ? 1 : AT_ONCE;
    let stopped: Refusal | undefined;
    for (let at = 0; at < matched.length; at += atOnce) {
      // Skipped deliveries are reported after the stop too: they are not a part of the rest.
      const reached = matched
        .slice(at, at + atOnce)
        .filter(({ plan }) => stopped === undefined || plan.kind !== "planned");
      const group = await Promise.all(
        reached.map(async ({ delivery, plan }) => {
          const isPlanned = plan.kind === "planned" && !options.dryRun;
          return { delivery, outcome: isPlanned ? await this.#treat(operation, delivery, options) : plan };
        }),
      );
      for (const { delivery, outcome } of group) {
        const why = stopOf(outcome);
        stopped ??= why;
        if (why === undefined || outcome.kind === "replayed") treated.push({ delivery, outcome });
      }
    }
    return { matched: matched.length, more, deliveries: treated, unknown, stopped };
  }

  #select(operation: Operation, target: Target, options: BulkOptions): Promise<Selection> {
    const { store } = this.#ingress;
    const isNamed = "ids" in target;
    const plan: Planner = (delivery, chosen) => planInBulk(store, operation, delivery, { ...options, isNamed, chosen });
    if (isNamed) return findDeliveries(store, target.ids, plan);
    return selectDeliveries(store, target.filter, { limit: target.limit, plan });
  }

  async #single(operation: Operation, deliveryId: string, options: OperationOptions): Promise<OperationOutcome> {
    const delivery = await this.#ingress.store.get(deliveryId);
    if (delivery === undefined) return { kind: "unknown" };
    return this.#treat(operation, delivery, options);
  }

  async #treat(operation: Operation, delivery: DeliverySummary, options: OperationOptions): Promise<OperationOutcome> {
    const reason = planOperation(operation, delivery, options);
    if (reason !== undefined) return { kind: "left", reason };
    try {
      return await this.#carryOut(operation, delivery.id, options);
    } catch (error) {
      return outcomeOf(error);
    }
  }

  #carryOut(operation: Operation, deliveryId: string, options: OperationOptions): Promise<OperationOutcome> {
    switch (operation) {
      case "replay":
        return this.#replay(deliveryId, options);
      case "release":
        return this.#release(deliveryId, options.by);
      case "cancel":
        return this.#cancel(deliveryId, CANCELED);
      case "purge":
        return this.#purge(deliveryId);
      case "resolve":
        return this.#resolve(deliveryId, options.note);
    }
  }

  async #replay(deliveryId: string, options: HowToReplay): Promise<OperationOutcome> {
    const replayed = await replayDelivery(this.#ingress, this.#active(), deliveryId, options);
    if (!isRefusal(replayed)) return replayedOutcome(replayed);
    return replayed.refused === "DELIVERY_NOT_FOUND" ? { kind: "unknown" } : { kind: "refused", refusal: replayed };
  }

  /** One after the other: two at once could begin the same runs. */
  #release(deliveryId: string, by: string | undefined): Promise<OperationOutcome> {
    const released = this.#releasing.then(() => this.#releaseOnce(deliveryId, by));
    this.#releasing = released.catch(() => {});
    return released;
  }

  async #releaseOnce(deliveryId: string, by: string | undefined): Promise<OperationOutcome> {
    const delivery = await this.#ingress.store.get(deliveryId);
    if (delivery === undefined) return { kind: "unknown" };
    if (delivery.state !== "held") return { kind: "left", reason: `it is ${delivery.state} by now` };
    const released = await letRepliesGo(this.#ingress, delivery, this.#active().config.maxQueuedRuns);
    if (released !== undefined) return released;
    // A process may have ended between the new delivery and the end of this one.
    const before = await releasedBefore(this.#ingress, deliveryId);
    const outcome: OperationOutcome =
      before === undefined
        ? await this.#replay(deliveryId, { asAccepted: true, isRelease: true })
        : { kind: "replayed", deliveryId: before.id, runIds: [], state: before.state };
    const approved = by === undefined ? "" : `, ${by}`;
    if (outcome.kind === "replayed") await this.#cancel(deliveryId, `released as ${outcome.deliveryId}${approved}`);
    return outcome;
  }

  async #cancel(deliveryId: string, reason: string): Promise<OperationOutcome> {
    const { store, dispatcher, host } = this.#ingress;
    const open = await this.#runs(deliveryId, ({ state }) => OPEN.has(state));
    await store.settleAll(idsOf(open), { state: "canceled", reason, at: host.clock.now() });
    // One that was settled in the meantime stays as it was.
    const ended = new Set(idsOf(await this.#runs(deliveryId, ({ state }) => state === "canceled")));
    const canceled = open.filter(({ id }) => ended.has(id));
    // Of runs that another gateway carries out, that one reports all but those that it does not know.
    const runIds = idsOf(dispatcher.elsewhere.isHere ? canceled : canceled.filter(({ state }) => state === "held"));
    if (runIds.length > 0) dispatcher.withdraw({ runIds, state: "canceled", reason });
    return { kind: "canceled", runs: canceled.length };
  }

  async #purge(deliveryId: string): Promise<OperationOutcome> {
    const { removed, emptied } = await this.#ingress.store.remove([deliveryId], this.#ingress.host.clock.now());
    if (removed > 0) return { kind: "removed" };
    return emptied > 0 ? { kind: "emptied" } : { kind: "left", reason: "it is a part of a run that has not ended" };
  }

  async #resolve(deliveryId: string, note = ""): Promise<OperationOutcome> {
    const { store, host } = this.#ingress;
    const isNew = await store.resolve(deliveryId, { at: host.clock.now(), note: note.trim() || null });
    return isNew ? { kind: "resolved" } : { kind: "left", reason: "it is no longer an open failure" };
  }

  async #runs(deliveryId: string, wanted: (run: RunDetail) => boolean): Promise<readonly RunDetail[]> {
    return ((await this.#ingress.store.get(deliveryId))?.runs ?? []).filter(wanted);
  }
}

function idsOf(runs: readonly RunDetail[]): string[] {
  return runs.map(({ id }) => id);
}

function isResolved({ replayedAs, resolved }: DeliverySummary): boolean {
  return replayedAs?.state === "done" || resolved !== undefined;
}

const OPEN: ReadonlySet<State> = new Set(["queued", "running", "held"]);
