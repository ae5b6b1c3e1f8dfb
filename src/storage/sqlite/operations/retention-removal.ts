import type { DatabaseSync, StatementSync } from "node:sqlite";
import { rowQuery, type RowOf, type RowQuery, type RowShape } from "../engine/row-query.ts";
import { PURGE_GRACE_MS } from "./claims.ts";
import { ROW_BYTES } from "./delivery-bytes.ts";
import type { ReplayKeyMemory } from "./replay-key-memory.ts";
import { unpackReplayKeys } from "../replay-keys.ts";
import { ENDED_COALESCED, ENDED_FAILED, ENDED_FILTERED, HELD, QUEUED, RUNNING, RUNS_PER_DELIVERY } from "../codes.ts";

/** The row of a delivery that retention reads; the columns of {@link retainedColumns}. */
export const RETAINED_ROW = {
  seq: "integer",
  runs: "integer",
  claim: "blob?",
  marks: "blob?",
  /** Its share of the counted bytes; `null` for nothing. */
  bytes: "integer?",
} as const satisfies RowShape;
export type RetainedRow = RowOf<typeof RETAINED_ROW>;

/** Runs of one delivery that are removed or emptied at once. */
export const MAX_RUNS_AT_ONCE = 512;

/** `begun`: the delivery has so many runs that the rest of the work is left to the next call. */
export type RemovalResult = "removed" | "emptied" | "unchanged" | "begun";

const openRunOf = (seq: string) =>
  `EXISTS (SELECT 1 FROM runs WHERE state IN (${HELD}, ${QUEUED}, ${RUNNING}) AND state > 0
    AND runs.id >= ${seq} * ${RUNS_PER_DELIVERY} AND runs.id < (${seq} + 1) * ${RUNS_PER_DELIVERY})`;

/**
 * True of a delivery `d` with no open run, neither its own nor the one that its call was coalesced into.
 * `state > 0` selects the partial index, which has a row for each open run only.
 */
export const isClosed = `NOT ${openRunOf("d.seq")} AND NOT (d.ended IS ${ENDED_COALESCED} AND ${openRunOf("d.related")})`;

/** True of a delivery `d` whose request is kept; the length is known without reading the body. */
export const isFilled = `EXISTS (
  SELECT 1 FROM contents WHERE contents.id = d.seq * ${RUNS_PER_DELIVERY} AND length(body) IS NOT NULL)`;

/** The name of a delivery whose own name is not kept. */
const plainName = "coalesce(mapping_id, route)";

const before = (text: string, end: string) => `substr(${text}, 1, instr(${text} || '${end}', '${end}') - 1)`;
/** The clause of a filter before the first value, and the part of a failure before the words of a transform. */
const startOfReason = before(before("reason", ":"), '"');

/** Of a delivery `d`. */
export const retainedColumns = "d.seq, d.runs, d.claim, d.marks, d.bytes";

/**
 * Removes single deliveries that are not open; use it inside a transaction.
 *
 * Removing deletes the delivery with all its rows. Emptying deletes what the sender wrote: headers, query and
 * body, and what derives from them: the texts of the runs, the values in a filter's reason, a module's words in
 * the reason of a delivery that failed at once, replies that repeat the text, and the name, which a template may
 * have made; the name of the mapping or the route replaces it. The other columns that a list shows stay, and so
 * do the rest of the specs and the agent's replies.
 *
 * The newest delivery of all is never removed: after a restart its number would be given out again.
 */
export class RetentionRemoval {
  readonly #memory: ReplayKeyMemory;
  readonly #newest: RowQuery<{ readonly seq: number | null }>;
  readonly #unlapsedClaim: StatementSync;
  readonly #deleteClaim: StatementSync;
  readonly #deleteDeliveries: StatementSync;
  readonly #deleteRuns: readonly StatementSync[];
  readonly #keepRuns: StatementSync;
  readonly #emptyContents: StatementSync;
  readonly #emptyAttempts: StatementSync;
  readonly #emptyReplies: StatementSync;
  readonly #emptyDeliveries: StatementSync;
  readonly #lastFilled: RowQuery<{ readonly id: number }>;
  readonly #filled: RowQuery<{ readonly filled: number }>;
  #last: { readonly seq: number; readonly removed: boolean } | undefined;

  constructor(database: DatabaseSync, memory: ReplayKeyMemory) {
    this.#memory = memory;
    this.#newest = rowQuery(database, { seq: "integer?" }, "SELECT max(seq) AS seq FROM deliveries");
    this.#unlapsedClaim = database.prepare("SELECT 1 FROM claims WHERE key = ? AND seq = ? AND expires_at > ?");
    this.#deleteClaim = database.prepare("DELETE FROM claims WHERE key = ? AND seq = ?");
    this.#deleteDeliveries = database.prepare("DELETE FROM deliveries WHERE seq >= ? AND seq <= ?");
    this.#deleteRuns = [
      database.prepare("DELETE FROM attempts WHERE run >= ? AND run < ?"),
      database.prepare("DELETE FROM contents WHERE id >= ? AND id < ?"),
      database.prepare("DELETE FROM runs WHERE id >= ? AND id < ?"),
    ];
    this.#keepRuns = database.prepare("UPDATE deliveries SET runs = ? WHERE seq = ?");
    // A text that could not be stored as one is NULL and is within the spec.
    this.#emptyContents = database.prepare(`
      UPDATE contents SET
        spec = json_replace(
          iif(text IS NULL AND spec IS NOT NULL, json_remove(spec, '$.text', '$.message'), spec),
          '$.name', (SELECT ${plainName} FROM deliveries WHERE seq = contents.id / ${RUNS_PER_DELIVERY})),
        text = iif(spec IS NULL, NULL, ''),
        quotation = NULL,
        headers = iif(headers IS NULL, NULL, '{}'),
        query = iif(query IS NULL, NULL, '{}'),
        body = NULL
      WHERE id >= ?1 AND id < ?2`);
    this.#emptyAttempts = database.prepare(`
      UPDATE attempts SET reply = iif(EXISTS (SELECT 1 FROM contents WHERE id = run AND spec ->> '$.mode' = 'deliver'), NULL, reply),
        activity = NULL
      WHERE run >= ? AND run < ? AND (reply IS NOT NULL OR activity IS NOT NULL)`);
    this.#emptyReplies = database.prepare(
      "UPDATE attempts SET reply = NULL, activity = NULL WHERE run >= ? AND run < ?",
    );
    this.#emptyDeliveries = database.prepare(`
      UPDATE deliveries SET name = ${plainName}, bytes = min(bytes, ${ROW_BYTES} * (1 + runs)),
        reason = iif(ended IN (${ENDED_FILTERED}, ${ENDED_FAILED}), ${startOfReason}, reason)
      WHERE seq >= ? AND seq <= ?`);
    this.#lastFilled = rowQuery(
      database,
      { id: "integer" },
      "SELECT id FROM contents WHERE id >= ? AND id < ? AND (text IS NOT '' OR quotation IS NOT NULL) ORDER BY id DESC LIMIT 1",
    );
    this.#filled = rowQuery(
      database,
      { filled: "integer" },
      `SELECT ${isFilled} AS filled FROM deliveries AS d WHERE seq = ?`,
    );
  }

  /** Removes the delivery, or only its request as long as copies of it could still arrive. */
  remove(row: RetainedRow, now: number): RemovalResult {
    if (!this.#isRemovable(row, now)) return this.empty(row);
    const { seq, runs, claim, marks: replayKeys } = row;
    const [first, end] = [seq * RUNS_PER_DELIVERY, (seq + 1) * RUNS_PER_DELIVERY];
    if (runs > MAX_RUNS_AT_ONCE) {
      this.#removeRuns(first + runs - MAX_RUNS_AT_ONCE, end);
      this.#keepRuns.run(runs - MAX_RUNS_AT_ONCE, seq);
      return "begun";
    }
    this.#last = { seq, removed: true };
    this.#removeRuns(first, end);
    if (claim !== null) this.#deleteClaim.run(claim, seq);
    this.#memory.release(unpackReplayKeys(replayKeys), seq);
    this.#deleteDeliveries.run(seq, seq);
    return "removed";
  }

  /**
   * Removes neighbors that no copy is recognized by, with one statement for each table: a tenth of the work. False,
   * and nothing is done, when the newest delivery is among them.
   */
  removeStretch(rows: readonly RetainedRow[]): boolean {
    const [first, last] = [rows[0]!.seq, rows.at(-1)!.seq];
    if (last >= Number(this.#newest.get()?.seq)) return false;
    this.#last = { seq: last, removed: true };
    this.#removeRuns(first * RUNS_PER_DELIVERY, (last + 1) * RUNS_PER_DELIVERY);
    this.#deleteDeliveries.run(first, last);
    return true;
  }

  /** Removes the request alone. */
  empty({ seq, runs }: RetainedRow): RemovalResult {
    if (this.#filled.get(seq)?.filled !== 1) return "unchanged";
    const first = seq * RUNS_PER_DELIVERY;
    let [from, to] = [first, first + RUNS_PER_DELIVERY];
    // The last runs first: the first run's row has the body, which says whether there is more to do.
    if (runs > MAX_RUNS_AT_ONCE) {
      from = Math.max(first, (this.#lastFilled.get(first, to)?.id ?? first) + 1 - MAX_RUNS_AT_ONCE);
      to = from + MAX_RUNS_AT_ONCE;
    }
    this.#emptyAttempts.run(from, to);
    this.#emptyContents.run(from, to);
    if (from > first) return "begun";
    this.#emptyDeliveries.run(seq, seq);
    this.#last = { seq, removed: false };
    return "emptied";
  }

  /** Removes the requests of neighbors that have them. */
  emptyStretch(rows: readonly RetainedRow[]): void {
    const [first, last] = [rows[0]!.seq, rows.at(-1)!.seq];
    const range = [first * RUNS_PER_DELIVERY, (last + 1) * RUNS_PER_DELIVERY] as const;
    this.#emptyAttempts.run(...range);
    this.#emptyContents.run(...range);
    this.#emptyDeliveries.run(first, last);
    this.#last = { seq: last, removed: false };
  }

  /** Removes the agent's replies, which stay when a request is removed. */
  forgetReplies({ seq }: RetainedRow): void {
    this.#emptyReplies.run(seq * RUNS_PER_DELIVERY, (seq + 1) * RUNS_PER_DELIVERY);
  }

  /** True, once, when the last removal is not in the database: its transaction was rolled back. */
  wasUndone(): boolean {
    if (this.#last === undefined) return false;
    const row = this.#filled.get(this.#last.seq);
    const isUndone = this.#last.removed ? row !== undefined : row?.filled === 1;
    this.#last = undefined;
    return isUndone;
  }

  #isRemovable({ seq, claim, marks: replayKeys }: RetainedRow, now: number): boolean {
    // A request counts as of the time it began; a copy may have begun before and still be on its way.
    const since = now - PURGE_GRACE_MS;
    if (unpackReplayKeys(replayKeys).some(({ expiresAt }) => expiresAt > since)) return false;
    if (claim !== null && this.#unlapsedClaim.get(claim, seq, since) !== undefined) return false;
    return seq < Number(this.#newest.get()?.seq);
  }

  #removeRuns(from: number, to: number): void {
    for (const statement of this.#deleteRuns) statement.run(from, to);
  }
}
