import { setImmediate as nextTurn } from "node:timers/promises";
import type { DeliverySummary } from "../delivery.ts";
import type { DeliveryQuery, DeliveryStore } from "../store/delivery-store.ts";

/** Which deliveries are meant: those that fit everything that is named. */
export type DeliveryFilter = Omit<DeliveryQuery, "limit" | "cursor">;

/** The deliveries that one operation can be carried out on. */
const MAX_SELECTED = 10_000;

export interface Selection {
  /** Oldest first. */
  readonly deliveries: readonly DeliverySummary[];
  /** Named and not known. */
  readonly unknown: readonly string[];
  /** True when more deliveries fit than were taken; the newest were. */
  readonly more: boolean;
}

const PAGE = 200;
/** Reads after which others have their turn: a search must not keep calls waiting. */
const READS_AT_ONCE = 32;

/** The newest deliveries that fit, at most `limit` of them and never more than 10,000. */
export async function selectDeliveries(
  store: Pick<DeliveryStore, "list">,
  filter: DeliveryFilter,
  limit: number = MAX_SELECTED,
): Promise<Selection> {
  const most = Math.min(limit, MAX_SELECTED);
  const found: DeliverySummary[] = [];
  let cursor: string | null = null;
  do {
    const page = await store.list({ ...filter, limit: PAGE, ...(cursor === null ? {} : { cursor }) });
    found.push(...page.deliveries);
    cursor = page.nextCursor;
    await nextTurn();
  } while (cursor !== null && found.length <= most);
  return { deliveries: found.slice(0, most).toReversed(), unknown: [], more: found.length > most };
}

/** The deliveries with these ids, each once. */
export async function findDeliveries(store: Pick<DeliveryStore, "get">, ids: readonly string[]): Promise<Selection> {
  const deliveries: DeliverySummary[] = [];
  const unknown: string[] = [];
  for (const [at, id] of [...new Set(ids)].entries()) {
    if (at % READS_AT_ONCE === 0) await nextTurn();
    const found = await store.get(id);
    if (found === undefined) unknown.push(id);
    else deliveries.push(summaryOf(found));
  }
  // Ids sort as they were accepted.
  return { deliveries: deliveries.toSorted((left, right) => (left.id < right.id ? -1 : 1)), unknown, more: false };
}

/** Headers and replies of many deliveries are not to be held at once. */
function summaryOf(delivery: DeliverySummary): DeliverySummary {
  const { id, state, reason, route, mappingId, name, receivedAt, runIds, event, sender, relatedTo } = delivery;
  return { id, state, reason, route, mappingId, name, receivedAt, runIds, event, sender, relatedTo };
}
