import { setImmediate as nextTurn } from "node:timers/promises";
import type { DeliverySummary } from "../../core/delivery.ts";
import type { DeliveryPage, DeliveryQuery, DeliveryStore } from "../../storage/delivery-store.ts";
import type { OperationOutcome } from "./outcome.ts";

/** A selection of deliveries: those that meet every condition. */
export type DeliveryFilter = Omit<DeliveryQuery, "limit" | "cursor">;

/** The deliveries that one operation can be carried out on. */
const MAX_SELECTED = 10_000;

export interface Selection {
  /** Oldest first, each with what an operation would do to it. */
  readonly deliveries: readonly Chosen[];
  /** Named and not known. */
  readonly unknown: readonly string[];
  /** True when the operation could be carried out on more than were taken; the newest were. */
  readonly more: boolean;
}

export interface Chosen {
  readonly delivery: DeliverySummary;
  /** `planned`, or why it is passed over. */
  readonly plan: OperationOutcome;
}

/** Plans an operation on one delivery; `chosen` are the ids of all selected ones. */
export type Planner = (delivery: DeliverySummary, chosen: ReadonlySet<string>) => Promise<OperationOutcome>;

const PAGE = 200;
/** Reads after which others have their turn: a search must not keep calls waiting. */
const READS_AT_ONCE = 32;
/** The same for plans, each of which takes several reads. */
const PLANS_AT_ONCE = 8;

/**
 * The newest deliveries that fit and that the operation can be carried out on, at most `limit` of them and
 * never more than 10,000; and those that were passed over on the way, of which no more are listed.
 */
export async function selectDeliveries(
  store: Pick<DeliveryStore, "list">,
  filter: DeliveryFilter,
  { limit = MAX_SELECTED, plan }: { readonly limit?: number | undefined; readonly plan: Planner },
): Promise<Selection> {
  const most = Math.min(limit, MAX_SELECTED);
  const found: Chosen[] = [];
  const chosen = new Set<string>();
  let passedOver = 0;
  let looked = 0;
  for await (const delivery of newestFirst(store, filter)) {
    if (++looked % PLANS_AT_ONCE === 0) await nextTurn();
    const planned = await plan(delivery, chosen);
    if (planned.kind !== "planned") {
      if (++passedOver <= MAX_SELECTED) found.push({ delivery, plan: planned });
      continue;
    }
    if (chosen.size === most) return { deliveries: found.toReversed(), unknown: [], more: true };
    chosen.add(delivery.id);
    found.push({ delivery, plan: planned });
  }
  return { deliveries: found.toReversed(), unknown: [], more: false };
}

async function* newestFirst(store: Pick<DeliveryStore, "list">, filter: DeliveryFilter) {
  let cursor: string | null = null;
  do {
    const page: DeliveryPage = await store.list({ ...filter, limit: PAGE, ...(cursor === null ? {} : { cursor }) });
    yield* page.deliveries;
    cursor = page.nextCursor;
    await nextTurn();
  } while (cursor !== null);
}

/** The deliveries with these ids, each once. */
export async function findDeliveries(
  store: Pick<DeliveryStore, "get">,
  ids: readonly string[],
  plan: Planner,
): Promise<Selection> {
  const found: DeliverySummary[] = [];
  const unknown: string[] = [];
  for (const [at, id] of [...new Set(ids)].entries()) {
    if (at % READS_AT_ONCE === 0) await nextTurn();
    const delivery = await store.get(id);
    if (delivery === undefined) unknown.push(id);
    else found.push(summaryOf(delivery));
  }
  // Ids sort as they were accepted.
  found.sort((left, right) => (left.id < right.id ? -1 : 1));
  const chosen = new Set<string>();
  const deliveries: Chosen[] = [];
  for (const [at, delivery] of found.entries()) {
    if (at % PLANS_AT_ONCE === 0) await nextTurn();
    const planned = await plan(delivery, chosen);
    if (planned.kind === "planned") chosen.add(delivery.id);
    deliveries.push({ delivery, plan: planned });
  }
  return { deliveries, unknown, more: false };
}

/** Headers and replies of many deliveries are not to be held at once. */
function summaryOf(delivery: DeliverySummary): DeliverySummary {
  const {
    id,
    state,
    reason,
    route,
    mappingId,
    name,
    receivedAt,
    runIds,
    event,
    actor,
    level,
    chain,
    relatedTo,
    resolved,
  } = delivery;
  const summary = {
    id,
    state,
    reason,
    route,
    mappingId,
    name,
    receivedAt,
    runIds,
    event,
    actor,
    level,
    ...(chain && { chain }),
    relatedTo,
  };
  return resolved === undefined ? summary : { ...summary, resolved };
}
