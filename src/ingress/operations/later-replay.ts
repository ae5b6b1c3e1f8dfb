import { setImmediate as nextTurn } from "node:timers/promises";
import type { DeliverySummary, State } from "../../core/delivery.ts";
import type { DeliveryStore } from "../../storage/delivery-store.ts";

/** Deliveries of one call whose replays are looked at. */
const MAX_REPLAYED = 100;
/** Of these, so many before others have their turn. */
const AT_ONCE = 8;
/** How often a replay is followed back to what it is a replay of. */
const MAX_STEPS_BACK = 20;

const OPEN_OR_DONE: ReadonlySet<State> = new Set(["queued", "running", "held", "done"]);

type Reader = Pick<DeliveryStore, "get" | "replaysOf">;
type Replay = Pick<DeliverySummary, "id" | "state">;

export interface LaterReplay extends Replay {
  /** True when it, or the run that it became a part of, is among those that are chosen. */
  readonly isChosen: boolean;
}

/**
 * The replay that makes another one of the same call needless: one that was made after the delivery, of
 * itself, of what it is a replay of or of another replay of that, and whose run is open, done or of a
 * delivery that is `chosen`. Where there are too many to tell, it is one of them. `undefined` when there is
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
