/** Reads pages of deliveries, newest first, and their counts. Each page looks at a bounded number of rows. */
import type { StatsPage, StatsQuery } from "../../delivery-stats.ts";
import { type DeliveryPage, type DeliveryQuery, StoreError } from "../../delivery-store.ts";
import { codeOfEnded, codeOfLevel, codeOfRunState, DONE, RUNS_PER_DELIVERY } from "../../sqlite/codes.ts";
import type { RowOf, RowShape } from "../../sqlite/engine/row-query.ts";
import { cursorOf, parseCursor } from "../../sqlite/public-id.ts";
import { DELIVERY_ROW, deliveryColumns, deliverySummary, LISTED_RUN } from "../../sqlite/readers/stored-rows.ts";
import { STATS_ROW, statsRowOf } from "../../stored-values.ts";
import { type Session, statement } from "../engine/statement.ts";

const MAX_LIMIT = 200;
/** Rows that one page looks at, whatever it finds. */
const SCANNED_DELIVERIES = 4_000;
/** Rows whose texts one page searches. */
const SEARCHED_DELIVERIES = 250;
const COUNTED_DELIVERIES = 1_000;
const MAX_SEQ = Math.floor(Number.MAX_SAFE_INTEGER / RUNS_PER_DELIVERY);

const ofDelivery = (id: string): string =>
  `${id} >= d.seq * ${RUNS_PER_DELIVERY} AND ${id} < (d.seq + 1) * ${RUNS_PER_DELIVERY}`;
const highestState = `(SELECT max(state) FROM reveille.runs AS r WHERE ${ofDelivery("r.id")})`;
/** In the collation "C" only ASCII letters have a case. */
const lower = (text: string): string => `lower(${text} COLLATE "C")`;
const contains = (text: string): string => `position($3 IN ${lower(text)}) > 0`;

/**
 * The text of a run `c`; one that could not be stored as a text is within the spec. There JSON escapes what PostgreSQL has
 * no text for, U+0000 and halves of surrogate pairs: each gets U+FFFD in its place, as in what is searched for.
 */
const textOfRun = String.raw`coalesce(c.text, (SELECT coalesce(spec ->> 'message', spec ->> 'text') FROM (SELECT regexp_replace(c.spec,
    '(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})', '\1�', 'g')::json AS spec) AS whole), '')`;

const isFound = `(${contains("d.name")} OR ${contains("coalesce(d.event, '')")} OR ${contains("coalesce(d.reason, '')")}
  OR EXISTS (SELECT 1 FROM reveille.runs AS r WHERE ${ofDelivery("r.id")} AND ${contains("coalesce(r.reason, '')")})
  OR EXISTS (SELECT 1 FROM reveille.contents AS c WHERE ${ofDelivery("c.id")} AND ${contains(textOfRun)}))`;

const isWanted = `($6::text IS NULL OR d.route = $6)
  AND ($7::text IS NULL OR ${lower("d.sender")} IN (${lower("$7")}, ${lower("$8")}, ${lower("$9")}))
  AND ($10::bigint IS NULL OR d.received_at >= $10) AND ($11::bigint IS NULL OR d.received_at < $11)
  AND ($12::int IS NULL OR d.level = $12)
  AND ($14::text IS NULL OR (d.chain >= $14 || ' ' AND d.chain < $14 || '!')) AND ($3::text IS NULL OR ${isFound})`;
const page = (isInState: string) =>
  statement(
    DELIVERY_ROW,
    `SELECT ${deliveryColumns("d")} FROM reveille.deliveries AS d
    WHERE d.seq < $1 AND d.seq >= $2 AND ${isInState} AND ${isWanted} ORDER BY d.seq DESC LIMIT $13`,
  );
const isInState = `(d.ended = $4::int OR (d.ended IS NULL AND ${highestState} = $5::int))`;
const WINDOW_START = { seq: "integer?", scanned: "integer" } as const;
const oldestOf = (from: string) =>
  statement(WINDOW_START, `SELECT min(seq) AS seq, count(*) AS scanned FROM (${from} LIMIT $2) AS d`);

/** How deliveries are found, and the start of the window of rows that one page looks at. */
interface Scan {
  readonly page: ReturnType<typeof page>;
  readonly windows: readonly (readonly [statement: ReturnType<typeof oldestOf>, code: "ended" | "run" | "none"])[];
}

const newest = oldestOf("SELECT seq FROM reveille.deliveries WHERE seq < $1 ORDER BY seq DESC");
/** Row after row. */
const all: Scan = {
  page: page(`(($4::int IS NULL AND $5::int IS NULL) OR ${isInState})`),
  windows: [[newest, "none"]],
};
/**
 * By the indexes of what is open, failed or ended: such deliveries are few, and far between. Pairs are compared, since no
 * other index has them; an array is looked up, since the server would read all deliveries beside a set.
 */
const rare: Scan = {
  page: page(`d.seq = ANY (ARRAY(
    SELECT id / ${RUNS_PER_DELIVERY} FROM reveille.runs WHERE state > 0
      AND (state, id) < ($5::int, $1::bigint * ${RUNS_PER_DELIVERY})
      AND (state, id) >= ($5::int, $2::bigint * ${RUNS_PER_DELIVERY})
    UNION ALL SELECT seq FROM reveille.deliveries WHERE ended IS NOT NULL
      AND (ended, seq) < ($4::int, $1::bigint) AND (ended, seq) >= ($4::int, $2::bigint)))
    AND ${isInState}`),
  windows: [
    [
      oldestOf(`SELECT id / ${RUNS_PER_DELIVERY} AS seq FROM reveille.runs WHERE state > 0
        AND state >= $3::int AND (state, id) < ($3::int, $1::bigint * ${RUNS_PER_DELIVERY})
        ORDER BY state DESC, id DESC`),
      "run",
    ],
    [
      oldestOf(`SELECT seq FROM reveille.deliveries WHERE ended IS NOT NULL
        AND ended >= $3::int AND (ended, seq) < ($3::int, $1::bigint) ORDER BY ended DESC, seq DESC`),
      "ended",
    ],
  ],
};
const readListed = statement(
  { ...LISTED_RUN, seq: "integer" },
  `SELECT d.seq, r.state, r.reason, r.settled_at FROM unnest($1::bigint[]) AS d (seq)
  JOIN reveille.runs AS r ON ${ofDelivery("r.id")} ORDER BY r.id`,
);

/** Throws a {@link StoreError} `INVALID` for a cursor that the store did not issue. */
export async function deliveryPage(session: Session, query: DeliveryQuery): Promise<DeliveryPage> {
  const { limit, state, text, route, actor, receivedFrom, receivedBefore, level, chain } = query;
  const before = beforeOf(query.cursor);
  const codes = {
    none: null,
    ended: state === undefined ? null : codeOfEnded(state),
    run: state === undefined ? null : codeOfRunState(state),
  };
  const scan = state === undefined || codes.run === DONE ? all : rare;
  const scanned = text === undefined ? SCANNED_DELIVERIES : SEARCHED_DELIVERIES;
  let lowest = 0;
  for (const [window, code] of scan.windows) {
    const values = code === "none" ? [before, scanned] : [before, scanned, codes[code]];
    const start = await session.first(window, ...values);
    if (start?.scanned === scanned) lowest = Math.max(lowest, start.seq ?? 0);
  }
  const rows = await session.rows(
    scan.page,
    before,
    lowest,
    text?.replaceAll(/[A-Z]/gu, (letter) => letter.toLowerCase()) ?? null,
    codes.ended,
    codes.run,
    route ?? null,
    actor ?? null,
    actor?.toLowerCase() ?? null,
    actor?.toUpperCase() ?? null,
    receivedFrom ?? null,
    receivedBefore ?? null,
    codeOfLevel(level),
    limit + 1,
    chain ?? null,
  );
  const isCut = rows.length > limit;
  if (isCut) rows.length = limit;
  const next = isCut ? rows.at(-1)!.seq : lowest;
  const seqs = rows.map(({ seq }) => seq);
  const runs = Map.groupBy(await session.rows(readListed, seqs), ({ seq }) => seq);
  return {
    deliveries: rows.map((row) => deliverySummary(row, runs.get(row.seq) ?? [])),
    nextCursor: next === 0 ? null : cursorOf(next),
  };
}

/** Checks a query before a connection is taken for it. */
export function assertQuery({ limit, cursor }: DeliveryQuery): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
    throw new StoreError("INVALID", `The limit of a page is a whole number from 1 to ${MAX_LIMIT}.`);
  }
  beforeOf(cursor);
}

/** Keys below this one are on the page. */
function beforeOf(cursor: string | undefined): number {
  const seq = cursor === undefined ? MAX_SEQ : parseCursor(cursor);
  if (seq === undefined) throw new StoreError("INVALID", "The cursor is none that a page of this list gave out.");
  return seq;
}

const WINDOW = { lowest: "integer?", latest: "integer?", scanned: "integer" } as const satisfies RowShape;

const readWindow = statement(
  WINDOW,
  `SELECT min(seq) AS lowest, max(received_at) AS latest, count(*) AS scanned FROM (
    SELECT seq, received_at FROM reveille.deliveries WHERE seq < $1 ORDER BY seq DESC LIMIT ${COUNTED_DELIVERIES}) AS d`,
);
const used = (...keys: readonly string[]): string =>
  `(SELECT sum(${keys.map((key) => `coalesce((usage::json ->> '${key}')::float8, 0)`).join(" + ")})
    FROM reveille.attempts WHERE ${ofDelivery("run")} AND usage IS NOT NULL)`;
const readStats = statement(
  STATS_ROW,
  `SELECT bucket, name, ended, state, count(*) AS deliveries, sum(runs)::bigint AS runs, sum(bytes)::bigint AS bytes,
    coalesce(sum(tokens), 0)::float8 AS tokens, coalesce(sum(cost), 0)::float8 AS cost
  FROM (SELECT received_at / $5::bigint AS bucket, coalesce(mapping_id, route) AS name, ended, runs, bytes,
      CASE WHEN ended IS NULL THEN ${highestState} END AS state,
      ${used("inputTokens", "outputTokens")} AS tokens, ${used("costUsd")} AS cost
    FROM reveille.deliveries AS d WHERE seq < $1 AND seq >= $2 AND received_at >= $3 AND received_at < $4) AS d
  GROUP BY bucket, name, ended, state`,
);

/** Throws a {@link StoreError} `INVALID` for a cursor that the store did not issue. */
export async function statsPage(session: Session, query: StatsQuery): Promise<StatsPage> {
  const { from, before, bucketMs, cursor } = query;
  const below = cursor === undefined ? MAX_SEQ : parseCursor(cursor);
  if (below === undefined) throw new StoreError("INVALID", "The cursor is none that these counts gave out.");
  const window: RowOf<typeof WINDOW> | undefined = await session.first(readWindow, below);
  if (window === undefined || window.lowest === null || window.latest === null) return { rows: [], nextCursor: null };
  const counted = await session.rows(readStats, below, window.lowest, from, before, bucketMs);
  const rows = counted.map((row) => statsRowOf(row, query));
  // Times of receipt only nearly grow: the end is a whole window before the period.
  const isLast = window.scanned < COUNTED_DELIVERIES || window.latest < from;
  return { rows, nextCursor: isLast ? null : cursorOf(window.lowest) };
}
