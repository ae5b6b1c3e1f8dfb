import { ENDED_COALESCED, FAILED, QUEUED, RUNS_PER_DELIVERY } from "../../sqlite/codes.ts";
import type { RowOf, RowShape } from "../../sqlite/engine/row-query.ts";
import { type Session, statement } from "../engine/statement.ts";
import { lockRunsOf } from "./key-locks.ts";
import type { NewDeliveryRow, StoredKey } from "./new-delivery-row.ts";
import { lockWaits } from "./waits.ts";

const HOLDER = {
  /** As hexadecimal digits. */
  key: "text",
  expires_at: "integer",
  seq: "integer",
  tag: "text",
  runs: "integer",
  fingerprint: "blob?",
  ended: "integer?",
  related: "integer?",
  related_tag: "text?",
  repeats: "integer",
} as const satisfies RowShape;
/** A key with the delivery that has it. */
export type Holder = RowOf<typeof HOLDER>;

/** A coalesced delivery whose run has failed holds nothing any more: what came to nothing may be sent again. */
const readHolders = statement(
  HOLDER,
  `SELECT encode(c.key, 'hex') AS key, c.expires_at, d.seq, d.tag, d.runs, d.fingerprint, d.ended, d.related, d.related_tag,
    d.repeats
  FROM reveille.claims AS c JOIN reveille.deliveries AS d ON d.seq = c.seq
  WHERE c.key = ANY ($1::bytea[]) AND NOT (d.ended IS NOT DISTINCT FROM ${ENDED_COALESCED} AND EXISTS (
    SELECT 1 FROM reveille.runs AS r WHERE r.id = d.related * ${RUNS_PER_DELIVERY} AND r.state = ${FAILED}))`,
);

const COALESCING = {
  key: "text",
  run: "integer",
  tag: "text",
  opened_at: "integer",
  due_at: "integer",
} as const satisfies RowShape;

const readCoalescing = statement(
  COALESCING,
  `SELECT encode(key, 'hex') AS key, run, tag, opened_at, due_at
  FROM reveille.coalescing JOIN reveille.runs ON id = run WHERE key = ANY ($1::bytea[]) AND state = ${QUEUED}`,
);

const OVERLAPPING = {
  key: "text",
  id: "integer",
  tag: "text",
  /** 1: it is queued, and no host has begun it. */
  waits: "integer",
} as const satisfies RowShape;

const readOverlapping = statement(
  OVERLAPPING,
  `SELECT encode(overlap, 'hex') AS key, id, tag, (state = ${QUEUED} AND steps = 0 AND NOT EXISTS (
      SELECT 1 FROM reveille.attempts WHERE run = id AND status <> 'aborted'))::int AS waits
  FROM reveille.runs WHERE overlap = ANY ($1::bytea[]) AND state >= ${QUEUED} ORDER BY id`,
);

/** What is stored under the keys of deliveries that are about to be accepted; keys are hexadecimal digits. */
export interface Surroundings {
  readonly holders: ReadonlyMap<string, Holder>;
  readonly coalescing: ReadonlyMap<string, RowOf<typeof COALESCING>>;
  readonly overlapping: ReadonlyMap<string, readonly RowOf<typeof OVERLAPPING>[]>;
  /** The versions of the waits that the deliveries change. */
  readonly waits: ReadonlyMap<string, number>;
}

/** Reads it; the usual delivery has no key, and then nothing is asked. */
export async function readKeys(session: Session, rows: readonly NewDeliveryRow[]): Promise<Surroundings> {
  const claimed = rows.flatMap(({ claim, replayKeys }) => (claim === undefined ? replayKeys : [...replayKeys, claim]));
  const coalesced = rows.flatMap(({ coalesce }) => coalesce ?? []);
  const overlapping = rows.flatMap(({ overlap }) => overlap ?? []);
  await lockRunsOf(session, { coalesce: bytesOf(coalesced), overlap: bytesOf(overlapping) });
  const waited = rows.flatMap(({ delivery }) => (delivery.waits?.changes ?? []).map(({ id }) => id));
  return {
    waits: await lockWaits(session, waited),
    holders: byKey(claimed.length === 0 ? [] : await session.rows(readHolders, bytesOf(claimed))),
    coalescing: byKey(coalesced.length === 0 ? [] : await session.rows(readCoalescing, bytesOf(coalesced))),
    overlapping: Map.groupBy(
      overlapping.length === 0 ? [] : await session.rows(readOverlapping, bytesOf(overlapping)),
      ({ key }) => key,
    ),
  };
}

/** The holder of a key unless its claim has lapsed. */
export function holdsUntil(holder: Holder | undefined, now: number): Holder | undefined {
  return holder !== undefined && holder.expires_at > now ? holder : undefined;
}

function bytesOf(keys: readonly StoredKey[]): readonly Uint8Array[] {
  return keys.map(({ bytes }) => bytes);
}

function byKey<Row extends { readonly key: string }>(rows: readonly Row[]): ReadonlyMap<string, Row> {
  return new Map(rows.map((row) => [row.key, row]));
}
