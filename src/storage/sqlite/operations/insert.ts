import type { DatabaseSync } from "node:sqlite";
import { type AcceptRow, AT, RUN_FIELDS } from "./accept-row.ts";
import { deliveryBytes, requestBytes, ROW_BYTES } from "./delivery-bytes.ts";
import { ENDED_COALESCED, ENDED_DUPLICATE, HELD, QUEUED, RUNS_PER_DELIVERY } from "../codes.ts";

/** The keys that a delivery owns, as they are stored. */
export interface OwnedKeys {
  readonly claim: Uint8Array | null;
  readonly replayKeys: Uint8Array | null;
}

/** Of a delivery that no copy is recognized by. */
export const NO_OWNED_KEYS: OwnedKeys = { claim: null, replayKeys: null };

/** The columns of runs that coalesce or overlap with others. */
export interface RunGrouping {
  readonly dueAt: number | null;
  readonly overlap: Uint8Array | null;
  /** 1 for a run that coalesces calls. */
  readonly calls: number | null;
}

/** The end of a delivery that has no run to carry out, and the delivery it belongs to. */
interface DeliveryEnd {
  readonly ended: number | null;
  readonly reason: string | null;
  readonly related: number | null;
  readonly relatedTag: string | null;
  /** Why its runs wait for a person. */
  readonly held?: string | null;
}

/** The stored fields of a delivery besides its request and its end. */
interface StoredParts {
  readonly name: string;
  readonly runs: number;
  readonly bytes: number;
  /** The delivery that it is a replay of. */
  readonly replayed: number | null;
}

/** The delivery that a replay repeats. */
type Replay = Pick<DeliveryEnd, "related">;

/** Names a delivery. */
interface DeliveryRef {
  readonly seq: number;
  readonly tag: string;
}

/** Inserts a delivery; to be used inside a transaction. */
export interface InsertOperations {
  /** As the usual one: with its runs, and nothing particular about it. */
  plain(row: AcceptRow, owned: OwnedKeys): void;
  /** With its runs or with the end that it has. */
  withExtras(row: AcceptRow, owned: OwnedKeys, end: DeliveryEnd, grouped?: RunGrouping): void;
  /** As skipped: with its request, without its runs. */
  skipped(row: AcceptRow, owned: OwnedKeys, end: DeliveryEnd): void;
  /** As a part of a delivery: with its request and with what its run was to be, for the other's run to read. */
  coalesced(row: AcceptRow, owned: OwnedKeys, into: DeliveryRef, replay: Replay): void;
  /** As a repeat of a delivery: without its request, and so without the name that may have come from it. */
  duplicate(row: AcceptRow, of: DeliveryRef): void;
}

/** Prepares the insertions. Each value costs something: the usual delivery is spared those that it has not. */
export function insertOperations(database: DatabaseSync): InsertOperations {
  const columns =
    "seq, tag, received_at, route, mapping_id, name, event, sender, credential, runs, claim, fingerprint, marks, bytes, answered, level, chain";
  const insertPlain = database.prepare(`
    INSERT INTO deliveries (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const insertParticular = database.prepare(`
    INSERT INTO deliveries (${columns}, ended, reason, related, related_tag, replayed)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const insertRun = database.prepare(`
    INSERT INTO runs (id, tag, lane, kind, state, steps, expires_at) VALUES (?, ?, ?, ?, ${QUEUED}, 0, ?)`);
  const insertHeld = database.prepare(`
    INSERT INTO runs (id, tag, lane, kind, state, steps, expires_at, reason) VALUES (?, ?, ?, ?, ${HELD}, 0, ?, ?)`);
  const insertGrouped = database.prepare(`
    INSERT INTO runs (id, tag, lane, kind, state, steps, expires_at, due_at, overlap, calls)
    VALUES (?, ?, ?, ?, ${QUEUED}, 0, ?, ?, ?, ?)`);
  const insertContents = database.prepare(
    "INSERT INTO contents (id, spec, text, quotation, headers, query, body) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );

  function insert(row: AcceptRow, { claim, replayKeys: marks }: OwnedKeys, end: DeliveryEnd & StoredParts): void {
    const [seq, tag, at, route, mapping, , event, sender, credential] = row;
    const print = claim === null ? null : row[AT.fingerprint];
    const { ended, reason, related, relatedTag, runs, bytes, name, replayed } = end;
    const first = [seq, tag, at, route, mapping, name, event, sender, credential, runs, claim, print, marks] as const;
    insertParticular.run(
      ...first,
      bytes,
      row[AT.answered],
      row[AT.level],
      row[AT.chain],
      ended,
      reason,
      related,
      relatedTag,
      replayed,
    );
  }

  function insertRuns(row: AcceptRow, grouped: RunGrouping | undefined, held: string | null = null): void {
    const [seq, tag] = row;
    const base = seq * RUNS_PER_DELIVERY;
    for (let at = AT.runs, id = base; at < row.length; at += RUN_FIELDS, id++) {
      const spec = row[at + 2] as string;
      const text = row[at + 3] as string | null;
      const lane = row[at] as string;
      const kind = row[at + 1] as number;
      const expiresAt = row[at + 4] as number | null;
      if (held !== null) insertHeld.run(id, tag, lane, kind, expiresAt, held);
      else if (grouped === undefined) insertRun.run(id, tag, lane, kind, expiresAt);
      else insertGrouped.run(id, tag, lane, kind, expiresAt, grouped.dueAt, grouped.overlap, grouped.calls);
      if (id === base) insertRequest(row, spec, text);
      else insertContents.run(id, spec, text, null, null, null, null);
    }
  }

  function insertRequest(row: AcceptRow, spec: string | null, text: string | null): void {
    const id = row[0] * RUNS_PER_DELIVERY;
    const quotation = text === null ? null : row[AT.quotation];
    insertContents.run(id, spec, text, quotation, row[AT.headers], row[AT.query], row[AT.body]);
  }

  return {
    plain(row, { claim, replayKeys: marks }) {
      const [seq, tag, at, route, mapping, name, event, sender, credential] = row;
      const runs = countOf(row);
      const print = row[AT.fingerprint];
      const known = [row[AT.answered], row[AT.level], row[AT.chain]] as const;
      const more = [runs, claim, print, marks, deliveryBytes(row), ...known] as const;
      insertPlain.run(seq, tag, at, route, mapping, name, event, sender, credential, ...more);
      insertRuns(row, undefined);
    },
    withExtras(row, owned, end, grouped) {
      const runs = countOf(row);
      insert(row, owned, { ...end, runs, bytes: deliveryBytes(row), name: row[AT.name], replayed: end.related });
      if (runs === 0) insertRequest(row, null, null);
      else insertRuns(row, grouped, end.held);
    },
    skipped(row, owned, end) {
      insert(row, owned, { ...end, runs: 0, bytes: requestBytes(row), name: row[AT.name], replayed: end.related });
      insertRequest(row, null, null);
    },
    coalesced(row, owned, { seq: related, tag: relatedTag }, { related: replayed }) {
      const parts = { runs: 0, bytes: deliveryBytes(row), name: row[AT.name], replayed };
      insert(row, owned, { ended: ENDED_COALESCED, reason: null, related, relatedTag, ...parts });
      insertRequest(row, row[AT.runs + 2] as string, row[AT.runs + 3] as string | null);
    },
    duplicate(row, { seq: related, tag: relatedTag }) {
      const parts = { runs: 0, bytes: ROW_BYTES, name: row[AT.mappingId] ?? row[AT.route], replayed: null };
      insert(row, NO_OWNED_KEYS, { ended: ENDED_DUPLICATE, reason: null, related, relatedTag, ...parts });
    },
  };
}

function countOf(row: AcceptRow): number {
  return (row.length - AT.runs) / RUN_FIELDS;
}
