import { ENDED_COALESCED, ENDED_DUPLICATE, ENDED_FAILED, HELD, QUEUED, RUNS_PER_DELIVERY } from "../../sqlite/codes.ts";
import type { DeliveryKey } from "../../sqlite/public-id.ts";
import { command, type Session, type SqlValue } from "../engine/statement.ts";
import { deliveryBytes, type NewDeliveryRow, requestBytes, ROW_BYTES } from "./new-delivery-row.ts";

/** How a delivery is stored. */
export type Insertion = { readonly seq: number; readonly row: NewDeliveryRow } & (
  | { readonly as: "whole"; readonly dueAt: number | null; readonly calls: number | null }
  /** With its request, without its runs. */
  | { readonly as: "skipped"; readonly ended: number; readonly reason: string }
  /** As a part of another: its run is there for that one's run to read. */
  | { readonly as: "coalesced"; readonly into: DeliveryKey }
  /** Without its request, and so without the name that may have come from it. */
  | { readonly as: "duplicate"; readonly of: DeliveryKey }
);

const insertDeliveries = command(`
  INSERT INTO reveille.deliveries (seq, tag, received_at, route, mapping_id, name, event, sender, level, chain,
    credential, answered, runs, fingerprint, bytes, ended, reason, related, related_tag, replayed)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
    $9::int[], $10::text[], $11::text[], $12::int[], $13::int[], $14::bytea[], $15::bigint[], $16::int[], $17::text[],
    $18::bigint[], $19::text[], $20::bigint[])`);
const insertRuns = command(`
  INSERT INTO reveille.runs (id, tag, lane, kind, state, expires_at, reason, due_at, overlap, calls)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::int[], $5::int[], $6::bigint[], $7::text[], $8::bigint[],
    $9::bytea[], $10::int[])`);
const insertContents = command(`
  INSERT INTO reveille.contents (id, spec, text, headers, query, body)
  SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[])`);

type Cell = string | number | Uint8Array | null;

/** Stores deliveries, their runs and their requests, with three statements for all of them. */
export async function insertAll(session: Session, insertions: readonly Insertion[]): Promise<void> {
  if (insertions.length === 0) return;
  await session.run(insertDeliveries, ...columnsOf(insertions.map(deliveryCells)));
  const runs = insertions.flatMap(runCells);
  if (runs.length > 0) await session.run(insertRuns, ...columnsOf(runs));
  const contents = insertions.flatMap(contentCells);
  if (contents.length > 0) await session.run(insertContents, ...columnsOf(contents));
}

/** Turns rows, of which there is at least one, into the arrays of a statement. */
export function columnsOf(rows: readonly (readonly Cell[])[]): SqlValue[] {
  return rows[0]!.map((_, column) => rows.map((row) => row[column]!));
}

function deliveryCells(insertion: Insertion): readonly Cell[] {
  const { seq, row, as } = insertion;
  const { delivery, tag, level, chain, replayOf, claim } = row;
  const { receivedAt, route, mappingId, event, actor, credentialId, answered, idempotency } = delivery;
  const isDuplicate = as === "duplicate";
  const fingerprint =
    claim === undefined || isDuplicate || row.ended === ENDED_FAILED ? null : idempotency!.fingerprint;
  const { ended, reason, related } = endOf(insertion);
  return [
    seq,
    tag,
    receivedAt,
    route,
    mappingId,
    isDuplicate ? (mappingId ?? route) : delivery.name,
    event ?? null,
    actor ?? null,
    level,
    chain,
    credentialId ?? null,
    answered ?? null,
    as === "whole" ? row.runs.length : 0,
    fingerprint,
    bytesOf(insertion),
    ended,
    reason,
    related?.seq ?? null,
    related?.tag ?? null,
    isDuplicate ? null : (replayOf?.seq ?? null),
  ];
}

function endOf(insertion: Insertion): {
  readonly ended: number | null;
  readonly reason: string | null;
  readonly related: DeliveryKey | undefined;
} {
  const { delivery, ended, replayOf } = insertion.row;
  switch (insertion.as) {
    case "whole":
      return { ended, reason: delivery.ended?.reason ?? null, related: replayOf };
    case "skipped":
      return { ended: insertion.ended, reason: insertion.reason, related: replayOf };
    case "coalesced":
      return { ended: ENDED_COALESCED, reason: null, related: insertion.into };
    case "duplicate":
      return { ended: ENDED_DUPLICATE, reason: null, related: insertion.of };
  }
}

function bytesOf({ as, row }: Insertion): number {
  if (as === "duplicate") return ROW_BYTES;
  return as === "skipped" ? requestBytes(row) : deliveryBytes(row);
}

function runCells(insertion: Insertion): readonly (readonly Cell[])[] {
  if (insertion.as !== "whole") return [];
  const { seq, row, dueAt, calls } = insertion;
  const { held } = row.delivery;
  return row.runs.map(({ lane, kind, expiresAt }, index) => [
    seq * RUNS_PER_DELIVERY + index,
    row.tag,
    lane,
    kind,
    held === undefined ? QUEUED : HELD,
    expiresAt,
    held ?? null,
    dueAt,
    row.overlap?.bytes ?? null,
    calls,
  ]);
}

/** The first row has the request, too. */
function contentCells({ seq, row, as }: Insertion): readonly (readonly Cell[])[] {
  if (as === "duplicate") return [];
  const { headers, query, delivery, runs } = row;
  const request = [headers, query, delivery.body] as const;
  const first = seq * RUNS_PER_DELIVERY;
  if (as === "skipped" || runs.length === 0) return [[first, null, null, ...request]];
  return runs.map(({ json, text }, index) => [
    first + index,
    json,
    text,
    ...(index === 0 ? request : ([null, null, null] as const)),
  ]);
}
