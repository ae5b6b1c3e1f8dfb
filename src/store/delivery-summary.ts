import type { DeliverySummary } from "../delivery.ts";
import { deliveryId, runIds } from "./public-id.ts";
import { endedStateOf, runStateOf } from "./sqlite-codes.ts";
import { isoTime } from "./stored-rows.ts";

export interface DeliveryRow {
  readonly seq: number;
  readonly tag: string;
  readonly received_at: number;
  readonly route: string;
  readonly mapping_id: string | null;
  readonly name: string;
  readonly runs: number;
  readonly ended: number | null;
  readonly reason: string | null;
}

/**
 * One delivery as it appears in a list. Its state is not stored: it is the highest of its runs'
 * (running, queued, held, failed, canceled, done), with the reason of the first run in that state.
 */
export function deliverySummary(
  row: DeliveryRow,
  runs: readonly { readonly state: number; readonly reason: string | null }[],
): DeliverySummary {
  const code = Math.max(...runs.map((run) => run.state));
  const deciding = runs.filter((run) => run.state === code);
  return {
    id: deliveryId(row.seq, row.tag),
    state: row.ended === null ? runStateOf(code) : endedStateOf(row.ended),
    reason: row.ended === null ? (deciding.find((run) => run.reason !== null)?.reason ?? null) : row.reason,
    route: row.route,
    mappingId: row.mapping_id,
    name: row.name,
    receivedAt: isoTime(row.received_at),
    runIds: runIds(row.seq, row.tag, row.runs),
  };
}
