import type { DatabaseSync } from "node:sqlite";
import { rowQuery, type RowOf, type RowShape } from "../engine/row-query.ts";
import { PURGE_GRACE_MS } from "./claims.ts";
import { emptyBytes } from "./delivery-bytes.ts";
import type { ReplayKeyMemory } from "./replay-key-memory.ts";
import { unpackReplayKeys } from "../replay-keys.ts";
import { ENDED_COALESCED, ENDED_FAILED, ENDED_FILTERED, HELD, QUEUED, RUNNING, RUNS_PER_DELIVERY } from "../codes.ts";

/** What retention knows of a delivery; the columns of {@link retainedColumns}. */
export const RETAINED_ROW = {
  seq: "integer",
  runs: "integer",
  claim: "blob?",
  marks: "blob?",
  /** What it counts for; `null` for nothing. */
  bytes: "integer?",
  /** 1 while its request is kept. */
  filled: "integer",
} as const satisfies RowShape;
export type RetainedRow = RowOf<typeof RETAINED_ROW>;

/** Runs of one delivery that are removed or emptied at once. */
export const MAX_RUNS_AT_ONCE = 512;

/** `begun`: the delivery has so many runs that the rest of the work is left to the next call. */
export type RemovalResult = "removed" | "emptied" | "unchanged" | "begun";

/** Removes single deliveries that are not open; to be used inside a transaction. */
export interface RetentionRemoval {
  /** Removes the delivery, or only its request as long as copies of it could still arrive. */
  remove(row: RetainedRow, now: number): RemovalResult;
  /** Removes the request alone. */
  empty(row: RetainedRow): RemovalResult;
  /** Removes the agent's replies, which stay when a request is removed. */
  forgetReplies(row: RetainedRow): void;
  /** True, once, when the last removal is not in the database: its transaction was undone. */
  wasUndone(): boolean;
}

const openRunOf = (seq: string) =>
  `EXISTS (SELECT 1 FROM runs WHERE state IN (${HELD}, ${QUEUED}, ${RUNNING}) AND state > 0
    AND runs.id >= ${seq} * ${RUNS_PER_DELIVERY} AND runs.id < (${seq} + 1) * ${RUNS_PER_DELIVERY})`;

/**
 * True of a delivery `d` that nobody works on: none of its runs is open, nor the one that its call is a part of.
 * `state > 0` is there for the partial index, which is as small as the number of open runs.
 */
export const isClosed = `NOT ${openRunOf("d.seq")} AND NOT (d.ended IS ${ENDED_COALESCED} AND ${openRunOf("d.related")})`;

/** True of a delivery `d` whose request is kept; the length is known without reading the body. */
export const isFilled = `EXISTS (
  SELECT 1 FROM contents WHERE contents.id = d.seq * ${RUNS_PER_DELIVERY} AND length(body) IS NOT NULL)`;

/** What a delivery is called when its own name is not kept. */
const plainName = "coalesce(mapping_id, route)";

const before = (text: string, end: string) => `substr(${text}, 1, instr(${text} || '${end}', '${end}') - 1)`;
/** What a filter says before it shows the first value, the clause; and what stands before all that a transform says. */
const startOfReason = before(before("reason", ":"), '"');

/** Of a delivery `d`. */
export const retainedColumns = `d.seq, d.runs, d.claim, d.marks, d.bytes, ${isFilled} AS filled`;

/**
 * Prepares removal.
 *
 * Removing takes the delivery with all that belongs to it. Emptying takes what the sender wrote: headers,
 * query and body, and what was made of them: the texts of its runs, the values in the reason of one that was
 * filtered, what a module said in that of one that failed at once, the replies that are no agent's but the text
 * itself, and its name, since nobody knows any more whether a template made it; the mapping's or the route's
 * stands there instead. The rest of what a list shows stays, and so do the rest of the specs and the agent's
 * replies.
 *
 * The newest delivery of all is never removed: after a restart its number would be given out again.
 */
export function retentionRemoval(database: DatabaseSync, memory: ReplayKeyMemory): RetentionRemoval {
  const newest = rowQuery(database, { seq: "integer?" }, "SELECT max(seq) AS seq FROM deliveries");
  const unlapsedClaim = database.prepare("SELECT 1 FROM claims WHERE key = ? AND seq = ? AND expires_at > ?");
  const deleteClaim = database.prepare("DELETE FROM claims WHERE key = ? AND seq = ?");
  const deleteDelivery = database.prepare("DELETE FROM deliveries WHERE seq = ?");
  const deletions = [
    database.prepare("DELETE FROM attempts WHERE run >= ? AND run < ?"),
    database.prepare("DELETE FROM contents WHERE id >= ? AND id < ?"),
    database.prepare("DELETE FROM runs WHERE id >= ? AND id < ?"),
  ];
  const keepRuns = database.prepare("UPDATE deliveries SET runs = ? WHERE seq = ?");
  // Where the text is NULL it could not be stored as one and is within the spec.
  const emptyContents = database.prepare(`
    UPDATE contents SET
      spec = json_replace(
        iif(text IS NULL AND spec IS NOT NULL, json_remove(spec, '$.text', '$.message'), spec),
        '$.name', (SELECT ${plainName} FROM deliveries WHERE seq = ?3)),
      text = iif(spec IS NULL, NULL, ''),
      headers = iif(headers IS NULL, NULL, '{}'),
      query = iif(query IS NULL, NULL, '{}'),
      body = NULL
    WHERE id >= ?1 AND id < ?2`);
  const emptyAttempts = database.prepare(`
    UPDATE attempts SET reply = NULL WHERE run >= ? AND run < ? AND reply IS NOT NULL
      AND EXISTS (SELECT 1 FROM contents WHERE id = run AND spec ->> '$.mode' = 'deliver')`);
  const emptyReplies = database.prepare("UPDATE attempts SET reply = NULL WHERE run >= ? AND run < ?");
  const emptyDelivery = database.prepare(`
    UPDATE deliveries SET name = ${plainName}, bytes = min(bytes, ?),
      reason = iif(ended IN (${ENDED_FILTERED}, ${ENDED_FAILED}), ${startOfReason}, reason) WHERE seq = ?`);
  const lastFilled = rowQuery(
    database,
    { id: "integer" },
    "SELECT id FROM contents WHERE id >= ? AND id < ? AND text IS NOT '' ORDER BY id DESC LIMIT 1",
  );
  const kept = rowQuery(
    database,
    { filled: "integer" },
    `SELECT ${isFilled} AS filled FROM deliveries AS d WHERE seq = ?`,
  );
  let last: { readonly seq: number; readonly removed: boolean } | undefined;

  const mayGo = ({ seq, claim, marks }: RetainedRow, now: number) => {
    // A request counts as of the time it began; a copy may have begun before and still be on its way.
    const since = now - PURGE_GRACE_MS;
    if (unpackReplayKeys(marks).some(({ expiresAt }) => expiresAt > since)) return false;
    if (claim !== null && unlapsedClaim.get(claim, seq, since) !== undefined) return false;
    return seq < Number(newest.get()?.seq);
  };

  const removeRuns = (from: number, to: number) => {
    for (const deletion of deletions) deletion.run(from, to);
  };

  const empty = ({ seq, runs, filled }: RetainedRow) => {
    if (filled === 0) return "unchanged";
    const first = seq * RUNS_PER_DELIVERY;
    let [from, to] = [first, first + RUNS_PER_DELIVERY];
    // The last ones first: the row with the body says whether there is more to do.
    if (runs > MAX_RUNS_AT_ONCE) {
      from = Math.max(first, (lastFilled.get(first, to)?.id ?? first) + 1 - MAX_RUNS_AT_ONCE);
      to = from + MAX_RUNS_AT_ONCE;
    }
    emptyAttempts.run(from, to);
    emptyContents.run(from, to, seq);
    if (from > first) return "begun";
    emptyDelivery.run(emptyBytes(runs), seq);
    last = { seq, removed: false };
    return "emptied";
  };

  return {
    empty,
    forgetReplies({ seq }) {
      emptyReplies.run(seq * RUNS_PER_DELIVERY, (seq + 1) * RUNS_PER_DELIVERY);
    },
    remove(row, now) {
      if (!mayGo(row, now)) return empty(row);
      const { seq, runs, claim, marks } = row;
      const [first, end] = [seq * RUNS_PER_DELIVERY, (seq + 1) * RUNS_PER_DELIVERY];
      if (runs > MAX_RUNS_AT_ONCE) {
        removeRuns(first + runs - MAX_RUNS_AT_ONCE, end);
        keepRuns.run(runs - MAX_RUNS_AT_ONCE, seq);
        return "begun";
      }
      last = { seq, removed: true };
      removeRuns(first, end);
      if (claim !== null) deleteClaim.run(claim, seq);
      memory.release(unpackReplayKeys(marks), seq);
      deleteDelivery.run(seq);
      return "removed";
    },
    wasUndone() {
      if (last === undefined) return false;
      const row = kept.get(last.seq);
      const isUndone = last.removed ? row !== undefined : row?.filled === 1;
      last = undefined;
      return isUndone;
    },
  };
}
