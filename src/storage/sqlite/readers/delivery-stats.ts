import type { DatabaseSync } from "node:sqlite";
import type { StatsPage, StatsQuery } from "../../delivery-stats.ts";
import { StoreError } from "../../delivery-store.ts";
import { STATS_ROW, statsRowOf } from "../../stored-values.ts";
import { RUNS_PER_DELIVERY } from "../codes.ts";
import { rowQuery, type RowOf, type RowQuery, type RowShape } from "../engine/row-query.ts";
import { cursorOf, parseCursor } from "../public-id.ts";

/** Rows that one page looks at; some 20 ms of the thread for reads. */
const SCANNED_DELIVERIES = 10_000;
const MAX_SEQ = Math.floor(Number.MAX_SAFE_INTEGER / RUNS_PER_DELIVERY);

const WINDOW_ROW = { lowest: "integer?", latest: "integer?", scanned: "integer" } as const satisfies RowShape;

/** Counts deliveries by time, mapping and state, a bounded number of rows at a time. */
export class StatsReader {
  readonly #window: RowQuery<RowOf<typeof WINDOW_ROW>>;
  readonly #counts: RowQuery<RowOf<typeof STATS_ROW>>;

  constructor(reader: DatabaseSync) {
    const ofAttempts = (value: string) => `(SELECT sum(${value}) FROM attempts
      WHERE run >= seq * ${RUNS_PER_DELIVERY} AND run < (seq + 1) * ${RUNS_PER_DELIVERY} AND usage IS NOT NULL)`;
    this.#window = rowQuery(
      reader,
      WINDOW_ROW,
      `SELECT min(seq) AS lowest, max(received_at) AS latest, count(*) AS scanned FROM (
        SELECT seq, received_at FROM deliveries WHERE seq < ? ORDER BY seq DESC LIMIT ${SCANNED_DELIVERIES})`,
    );
    // Grouped by the expression: SQLite would take `name` for that of the delivery.
    this.#counts = rowQuery(
      reader,
      STATS_ROW,
      `SELECT received_at / CAST(?5 AS INTEGER) AS bucket, coalesce(mapping_id, route) AS name, ended, state,
        count(*) AS deliveries, sum(runs) AS runs, coalesce(sum(bytes), 0) AS bytes,
        total(${ofAttempts("coalesce(usage ->> 'inputTokens', 0) + coalesce(usage ->> 'outputTokens', 0)")}) AS tokens,
        total(${ofAttempts("usage ->> 'costUsd'")}) AS cost
      FROM (SELECT d.*, CASE WHEN ended IS NULL THEN (SELECT max(state) FROM runs AS r
        WHERE r.id >= d.seq * ${RUNS_PER_DELIVERY} AND r.id < (d.seq + 1) * ${RUNS_PER_DELIVERY}) END AS state
        FROM deliveries AS d WHERE seq < ?1 AND seq >= ?2 AND received_at >= ?3 AND received_at < ?4)
      GROUP BY bucket, coalesce(mapping_id, route), ended, state`,
    );
  }

  /** Throws as {@link checkStatsQuery} does. */
  page(query: StatsQuery): StatsPage {
    const below = checkStatsQuery(query);
    const { from, before, bucketMs } = query;
    const window = this.#window.get(below);
    if (window === undefined || window.lowest === null || window.latest === null) return { rows: [], nextCursor: null };
    const counted = this.#counts.all(below, window.lowest, from, before, bucketMs);
    const rows = counted.map((row) => statsRowOf(row, query));
    // Times of receipt only nearly grow: the end is a whole window before the period.
    const isLast = window.scanned < SCANNED_DELIVERIES || window.latest < from;
    return { rows, nextCursor: isLast ? null : cursorOf(window.lowest) };
  }
}

/**
 * Gives the seq below which the page begins. Throws a {@link StoreError} `INVALID` for a cursor that the store did not
 * issue.
 */
export function checkStatsQuery({ cursor }: StatsQuery): number {
  const below = cursor === undefined ? MAX_SEQ : parseCursor(cursor);
  if (below === undefined) throw new StoreError("INVALID", "The cursor is none that these counts gave out.");
  return below;
}
