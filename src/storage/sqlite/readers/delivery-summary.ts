import type { DeliverySummary, RelatedDelivery, State } from "../../../core/delivery.ts";
import type { RowOf, RowShape } from "../engine/row-query.ts";
import { deliveryId, runIds } from "../public-id.ts";
import { ENDED_COALESCED, ENDED_DUPLICATE, endedStateOf, runStateOf } from "../codes.ts";
import { isoTime } from "./stored-rows.ts";

/** What a list shows of a delivery, as it is stored. */
export const DELIVERY_ROW = {
  seq: "integer",
  tag: "text",
  received_at: "integer",
  route: "text",
  mapping_id: "text?",
  name: "text",
  runs: "integer",
  ended: "integer?",
  reason: "text?",
  event: "text?",
  sender: "text?",
  related: "integer?",
  related_tag: "text?",
} as const satisfies RowShape;
export type DeliveryRow = RowOf<typeof DELIVERY_ROW>;

/** The columns of a {@link DeliveryRow}; `table` is what the query calls `deliveries`. */
export function deliveryColumns(table: string): string {
  return Object.keys(DELIVERY_ROW)
    .map((column) => `${table}.${column}`)
    .join(", ");
}

/**
 * One delivery as it appears in a list. As long as it has a run that is not skipped its state is not
 * stored: it is the highest of its runs' (running, queued, held, failed, canceled, done), with the
 * reason of the first run in that state.
 */
export function deliverySummary(
  row: DeliveryRow,
  runs: readonly { readonly state: number; readonly reason: string | null }[],
): DeliverySummary {
  const code = Math.max(...runs.map((run) => run.state));
  const deciding = runs.filter((run) => run.state === code);
  return {
    id: deliveryId(row.seq, row.tag),
    state: deliveryState(row.ended, runs),
    reason: row.ended === null ? (deciding.find((run) => run.reason !== null)?.reason ?? null) : row.reason,
    route: row.route,
    mappingId: row.mapping_id,
    name: row.name,
    receivedAt: isoTime(row.received_at),
    runIds: runIds(row.seq, row.tag, row.runs),
    event: row.event,
    sender: row.sender,
    relatedTo: relatedDelivery(row),
  };
}

/** The state of a delivery, by its stored end or its runs. */
export function deliveryState(ended: number | null, runs: readonly { readonly state: number }[]): State {
  return ended === null ? runStateOf(Math.max(...runs.map((run) => run.state))) : endedStateOf(ended);
}

function relatedDelivery({ ended, related, related_tag: tag }: DeliveryRow): RelatedDelivery | null {
  if (related === null || tag === null) return null;
  const how = ended === ENDED_DUPLICATE ? "duplicate" : ended === ENDED_COALESCED ? "coalesced" : "replay";
  return { how, deliveryId: deliveryId(related, tag) };
}
