import { setImmediate as nextTurn } from "node:timers/promises";
import type { DeliveryDetail, DeliverySummary } from "../../core/delivery.ts";
import type { State } from "../../core/run.ts";
import type { DeliveryStore } from "../../storage/delivery-store.ts";
import { notDone, payloadGone } from "../replay.ts";
import type { Operation, OperationOutcome } from "./outcome.ts";

/** Deliveries of one call whose replays are looked at. */
const MAX_REPLAYED = 100;
/** Of these, so many before others have their turn. */
const AT_ONCE = 8;
/** The number of replays over which the original of a replay is searched. */
const MAX_STEPS_BACK = 20;

const OPEN_OR_DONE: ReadonlySet<State> = new Set(["queued", "running", "held", "done"]);

type Reader = Pick<DeliveryStore, "get" | "replaysOf">;
type Replay = Pick<DeliverySummary, "id" | "state">;

interface LaterReplay extends Replay {
  /** True when it, or the run that it became a part of, is among those that are chosen. */
  readonly isChosen: boolean;
}

/**
 * The replay that makes another one of the same call needless: one that was made after the delivery, of
 * itself, of what it is a replay of or of another replay of that, and whose run is open, done or of a
 * delivery that is `chosen`. Of too many, it is one of them. `undefined` when there is
 * none. Rejects with a `StoreError`.
 */
export async function laterReplay(
  store: Reader,
  delivery: DeliverySummary,
  chosen: ReadonlySet<string>,
): Promise<LaterReplay | undefined> {
  // The set grows while it is gone through.
  const family = new Set([await firstOf(store, delivery), delivery.id]);
  let latest: Replay | undefined;
  let looked = 0;
  for (const id of family) {
    if (++looked > MAX_REPLAYED) return latest && { ...latest, isChosen: false };
    if (looked % AT_ONCE === 0) await nextTurn();
    for (const replay of await store.replaysOf(id)) {
      const { id: carrier, state } = await carrierOf(store, replay);
      const isChosen = chosen.has(carrier);
      // Ids sort as they were accepted.
      if (replay.id > delivery.id && (isChosen || OPEN_OR_DONE.has(state))) return { ...replay, isChosen };
      if (replay.id > (latest ?? delivery).id) latest = replay;
      family.add(replay.id).add(carrier);
    }
  }
  return undefined;
}

/** The delivery whose run carries the call: the replay itself, or what it became a part of. */
async function carrierOf(store: Reader, replay: Replay): Promise<Replay> {
  if (replay.state !== "coalesced") return replay;
  const carrier = (await store.get(replay.id))?.relatedTo;
  return (carrier && (await store.get(carrier.deliveryId))) ?? replay;
}

/** The id of what was replayed first, also when that is gone. */
async function firstOf(store: Reader, delivery: DeliverySummary): Promise<string> {
  let first = delivery;
  for (let step = 0; step < MAX_STEPS_BACK && first.relatedTo?.how === "replay"; step++) {
    const before = await store.get(first.relatedTo.deliveryId);
    if (before === undefined) return first.relatedTo.deliveryId;
    first = before;
  }
  return first.id;
}

export interface ReplayOptions {
  /** Runs the stored actions again as they were, and not the stored bytes through today's configuration. */
  readonly asAccepted: boolean;
}

const OPEN: ReadonlySet<State> = new Set(["queued", "running", "held"]);

/** Why a delivery in that state is left alone by an operation; `undefined` when it can be carried out. */
export function planOperation(
  operation: Operation,
  delivery: DeliverySummary,
  options: ReplayOptions,
): string | undefined {
  switch (operation) {
    case "replay":
      return whyNotReplay(delivery, options);
    case "release":
      return delivery.state === "held" ? undefined : `it is ${delivery.state}; only a held one can be released`;
    case "cancel":
      return OPEN.has(delivery.state) ? undefined : `it is ${delivery.state}; nothing of it is left to cancel`;
    case "purge":
      return OPEN.has(delivery.state)
        ? `it is ${delivery.state}; cancel it first, or wait until it has ended`
        : undefined;
    case "resolve":
      return whyNotResolve(delivery);
  }
}

function whyNotResolve({ state, resolved }: DeliverySummary): string | undefined {
  if (state !== "failed") return `it is ${state}; only a failed one can be resolved`;
  return resolved === undefined ? undefined : `it was resolved at ${resolved.at}`;
}

/** A held delivery can be replayed: nothing continues with it by itself, and it stays held. */
function whyNotReplay(
  { state, relatedTo, runIds }: DeliverySummary,
  { asAccepted }: ReplayOptions,
): string | undefined {
  if (state === "queued" || state === "running") {
    return `it is ${state} and would run twice; cancel it first, or wait until it has ended`;
  }
  if (state === "duplicate") {
    return `it repeats ${relatedTo?.deliveryId ?? "another delivery"}, which has the request; replay that one`;
  }
  if (asAccepted && state !== "coalesced" && runIds.length === 0) {
    return `it is ${state} and was accepted without a run; replay it without "as accepted"`;
  }
  return undefined;
}

/**
 * Plans the replay of a delivery, or says why it can no longer be replayed. Rejects with a
 * `StoreError`.
 */
async function planReplay(
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
  // The run of a coalesced call holds other calls too, which are not replayed with it.
  if (state === "coalesced") return { runs: 1, repeated: 1, done: 0, calls: 1 };
  return {
    runs: runs.length,
    repeated: asAccepted ? notDone(runs).length : runs.length,
    done: runs.filter((run) => run.state === "done").length,
    calls: Math.max(1, ...runs.map(({ calls }) => calls)),
  };
}

interface PlanInBulkOptions extends ReplayOptions {
  /** True when a person has named the delivery by its id. */
  readonly isNamed: boolean;
  /** Ids of the deliveries that the operation is to be carried out on. */
  readonly chosen: ReadonlySet<string>;
}

/** Plans an operation on one of many deliveries. Rejects with a `StoreError`. */
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
  if (delivery.resolved !== undefined) return `it was resolved at ${delivery.resolved.at}`;
  if (relatedTo?.how === "replay" && state === "done") {
    return `it is a replay of ${relatedTo.deliveryId} and is done; to run it once more, name it by its id`;
  }
  const later = await laterReplay(store, delivery, chosen);
  if (later === undefined) return whyTheFirst(store, delivery);
  return later.isChosen ? `its replay ${later.id} is replayed` : `replayed as ${later.id} (${later.state})`;
}

/**
 * Why what a delivery is a replay of is replayed in its place: that one represents other calls as well, which
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
  return `it is a replay of ${relatedTo.deliveryId}, whose run serves ${calls} calls; replay that one`;
}
