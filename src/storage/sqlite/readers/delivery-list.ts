import type { DatabaseSync } from "node:sqlite";
import type { DeliverySummary } from "../../../core/delivery.ts";
import { type DeliveryPage, type DeliveryQuery, StoreError } from "../../delivery-store.ts";
import { codeOfEnded, codeOfLevel, codeOfRunState, DONE, RUNS_PER_DELIVERY } from "../codes.ts";
import { type RowOf, rowQuery, type RowQuery, type RowShape, snapshotReader } from "../engine/row-query.ts";
import { shareCore } from "../engine/share-core.ts";
import { cursorOf, parseCursor } from "../public-id.ts";
import { QUOTED_BYTES } from "../quotation.ts";
import { digestQuery } from "./delivery-digest.ts";
import { DigestSearch, type SeqRange } from "./digest-search.ts";
import { DELIVERY_ROW, deliveryColumns, type DeliveryRow, deliverySummary, LISTED_RUN } from "./stored-rows.ts";

/** Deliveries that are searched together, and bytes of their texts: reading these is what takes time. */
const SEARCHED_DELIVERIES = 250;
const SEARCHED_BYTES = 1024 * 1024;

/** True when a delivery contains a text, and the bytes that may have been read to see it. */
const FOUND_ROW = { bytes: "integer", found: "integer" } as const satisfies RowShape;

/** Finds deliveries by a text in what a person sees of them, without regard to the case of ASCII letters. */
class DeliveryTextSearch {
  readonly #search: RowQuery<RowOf<typeof FOUND_ROW>>;

  constructor(reader: DatabaseSync) {
    const contains = (text: string) => `instr(lower(${text}), ?2) > 0`;
    const ofRuns = (id: string) => `${id} >= ?1 * ${RUNS_PER_DELIVERY} AND ${id} < (?1 + 1) * ${RUNS_PER_DELIVERY}`;
    // A text that could not be stored as one is within the spec.
    const text = "coalesce(text, spec ->> '$.message', spec ->> '$.text')";
    this.#search = rowQuery(
      reader,
      FOUND_ROW,
      `SELECT (SELECT coalesce(sum(octet_length(text) + ${QUOTED_BYTES}), 0) FROM contents WHERE ${ofRuns("id")}) AS bytes,
        coalesce(${contains("name")} OR ${contains("coalesce(event, '')")} OR ${contains("coalesce(reason, '')")}
          OR EXISTS (SELECT 1 FROM runs WHERE ${ofRuns("id")} AND ${contains("runs.reason")})
          OR EXISTS (SELECT 1 FROM whole_contents WHERE ${ofRuns("id")} AND ${contains(text)}), 0) AS found
      FROM deliveries WHERE seq = ?1`,
    );
  }

  /**
   * The first of the rows that contain the text, up to a limit. `next` is the seq below which the search
   * continues when it did not come to the end of the rows.
   */
  search<Row extends { readonly seq: number }>(
    rows: readonly Row[],
    { text, limit }: { readonly text: string; readonly limit: number },
  ): { readonly found: Row[]; readonly next: number | undefined } {
    const wanted = text.replaceAll(/[A-Z]/gu, (letter) => letter.toLowerCase());
    const found: Row[] = [];
    let bytes = 0;
    for (const [index, row] of rows.entries()) {
      shareCore();
      const result = this.#search.get(row.seq, wanted);
      bytes += result?.bytes ?? 0;
      if (result?.found === 1) found.push(row);
      const isEnough = found.length === limit || bytes >= SEARCHED_BYTES;
      if (isEnough && index < rows.length - 1) return { found, next: row.seq };
    }
    return { found, next: undefined };
  }
}

const MAX_LIMIT = 200;
/** Rows that are looked at together, whatever is found; some 2 ms. */
const SCANNED_DELIVERIES = 4000;
const SCANNED_RUNS = 1000;

/** A window of keys and a query for what matches in it, newest first. */
interface Scan {
  /** The lowest key of the window below a key; `undefined` when the window reaches the oldest row. */
  readonly lowest: (before: number, code: number | null) => number | undefined;
  readonly matches: RowQuery<DeliveryRow>;
  readonly keysPerDelivery: number;
}

/** A scan for a state, and the state's code. */
interface Choice {
  readonly scan: Scan;
  readonly code: number | null;
}

const columns = deliveryColumns("d");
/** NOCASE knows ASCII letters alone; of other names the usual ways to write them are compared. */
const isWanted = `
  (?3 IS NULL OR route = ?3) AND (?6 IS NULL OR sender COLLATE NOCASE IN (?6, ?7, ?8))
  AND (?9 IS NULL OR received_at >= ?9) AND (?10 IS NULL OR received_at < ?10) AND (?11 IS NULL OR level = ?11)
  AND (?12 IS NULL OR (chain >= ?12 || ' ' AND chain < ?12 || '!'))`;
const runsOfDelivery = (seq: string) =>
  `r.id >= ${seq} * ${RUNS_PER_DELIVERY} AND r.id < (${seq} + 1) * ${RUNS_PER_DELIVERY}`;
const stateOfDelivery = `(SELECT max(state) FROM runs AS r WHERE ${runsOfDelivery("d.seq")})`;

export interface ListOptions {
  /** The time after which a page ends at the end of a window. */
  readonly pageMs?: number;
  readonly beforeWindow?: () => void;
}

/**
 * Pages of deliveries, newest first.
 *
 * States that are rare in the long run (all but done) are found by partial indexes, and digests tell where nothing
 * can be found. The rest is searched window by window; when its time is over the page ends, short or even empty,
 * with a cursor to go on. Times of receipt only nearly grow, so they are compared row by row. A text is searched in
 * smaller windows, since it has to be read. A delivery may be `failed` by its runs or at once: both are looked for in
 * one window, which ends where the first of them does.
 */
export class DeliveryList {
  readonly #any: Scan;
  readonly #done: Scan;
  readonly #notDone: Scan;
  readonly #ended: Scan;
  readonly #runs: RowQuery<RowOf<typeof LISTED_RUN>>;
  readonly #text: DeliveryTextSearch;
  readonly #digests: DigestSearch;
  readonly #pageMs: number;
  readonly #beforeWindow: () => void;
  readonly #inSnapshot: ReturnType<typeof snapshotReader>;

  constructor(reader: DatabaseSync, { pageMs = 0, beforeWindow = () => undefined }: ListOptions = {}) {
    this.#pageMs = pageMs;
    this.#beforeWindow = beforeWindow;
    this.#digests = new DigestSearch(reader);
    const match = (condition: string) =>
      rowQuery(
        reader,
        DELIVERY_ROW,
        `SELECT ${columns} FROM deliveries AS d
        WHERE seq < ?1 AND seq >= ?2 AND ${condition} AND ${isWanted} ORDER BY seq DESC LIMIT ?4`,
      );
    const key = (sql: string) => rowQuery(reader, { key: "integer" }, sql);
    const oldest = key(
      `SELECT seq AS key FROM deliveries WHERE seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ${SCANNED_DELIVERIES - 1}`,
    );
    const oldestEnded = key(
      `SELECT seq AS key FROM deliveries WHERE seq < ? AND ended = ?
      ORDER BY seq DESC LIMIT 1 OFFSET ${SCANNED_DELIVERIES - 1}`,
    );
    // `state > 0` is there for the partial index.
    const oldestNotDone = key(
      `SELECT id - id % ${RUNS_PER_DELIVERY} AS key FROM runs WHERE id < ? AND state = ? AND state > 0
      ORDER BY id DESC LIMIT 1 OFFSET ${SCANNED_RUNS - 1}`,
    );
    const lowest = (before: number) => oldest.get(before)?.key;
    this.#any = { lowest, matches: match("?5 IS NULL"), keysPerDelivery: 1 };
    this.#done = { lowest, matches: match(`ended IS NULL AND ${stateOfDelivery} = ?5`), keysPerDelivery: 1 };
    this.#ended = {
      lowest: (before, code) => oldestEnded.get(before, code)?.key,
      matches: match("ended = ?5"),
      keysPerDelivery: 1,
    };
    // The first run in the state represents its delivery.
    this.#notDone = {
      lowest: (before, code) => oldestNotDone.get(before, code)?.key,
      matches: rowQuery(
        reader,
        DELIVERY_ROW,
        `SELECT ${columns} FROM runs AS f CROSS JOIN deliveries AS d ON d.seq = f.id / ${RUNS_PER_DELIVERY}
        WHERE f.id < ?1 AND f.id >= ?2 AND f.state = ?5 AND f.state > 0 AND ${isWanted}
          AND NOT EXISTS (SELECT 1 FROM runs AS e
            WHERE e.id >= d.seq * ${RUNS_PER_DELIVERY} AND e.id < f.id AND e.state = f.state)
          AND ${stateOfDelivery} = ?5
        ORDER BY f.id DESC LIMIT ?4`,
      ),
      keysPerDelivery: RUNS_PER_DELIVERY,
    };
    this.#runs = rowQuery(
      reader,
      LISTED_RUN,
      `SELECT state, reason, settled_at FROM runs AS r WHERE ${runsOfDelivery("?1")} ORDER BY id`,
    );
    this.#text = new DeliveryTextSearch(reader);
    this.#inSnapshot = snapshotReader(reader);
  }

  /** Throws as {@link checkListQuery} does. */
  page(query: DeliveryQuery): DeliveryPage {
    const before = checkListQuery(query);
    const choices = this.#choose(query.state);
    if (choices.length === 0) return { deliveries: [], nextCursor: null };
    return this.#read(choices, before, query);
  }

  /** Each window is read at a point in time of its own: a long one would keep the log from starting over. */
  #read(choices: readonly Choice[], before: number, query: DeliveryQuery): DeliveryPage {
    const endMs = performance.now() + this.#pageMs;
    const digested = digestQuery(query);
    const deliveries: DeliverySummary[] = [];
    let next: number | undefined = before;
    do {
      const [from, limit] = [next, query.limit - deliveries.length];
      this.#beforeWindow();
      next = this.#inSnapshot(() => {
        const range = digested === undefined ? { before: from, lowest: 0 } : this.#digests.next(from, digested);
        if (range === undefined) return undefined;
        const lowest = Math.max(range.lowest, ...choices.map((choice) => lowestSeq(choice, range.before)));
        const window = this.#find(choices, { before: range.before, lowest }, query, limit);
        for (const row of window.rows) {
          shareCore();
          deliveries.push(deliverySummary(row, this.#runs.all(row.seq)));
        }
        return window.next ?? (lowest === 0 ? undefined : lowest);
      });
    } while (next !== undefined && deliveries.length < query.limit && performance.now() < endMs);
    return { deliveries, nextCursor: next === undefined ? null : cursorOf(next) };
  }

  /** Up to a page of what matches in a window; `next` when there may be more in it. */
  #find(
    choices: readonly Choice[],
    { before, lowest }: SeqRange,
    { route, actor, level, chain, receivedFrom, receivedBefore, text }: DeliveryQuery,
    limit: number,
  ): { readonly rows: DeliveryRow[]; readonly next: number | undefined } {
    const most = text === undefined ? limit : SEARCHED_DELIVERIES;
    const rows = newestFirst(
      choices.map(({ scan: { matches, keysPerDelivery }, code }) =>
        matches.all(
          before * keysPerDelivery,
          lowest * keysPerDelivery,
          route ?? null,
          most + 1,
          code,
          actor ?? null,
          actor?.toLowerCase() ?? null,
          actor?.toUpperCase() ?? null,
          receivedFrom ?? null,
          receivedBefore ?? null,
          codeOfLevel(level),
          chain ?? null,
        ),
      ),
    );
    const isCut = rows.length > most;
    if (isCut) rows.length = most;
    const lastSeq = isCut ? rows.at(-1)!.seq : undefined;
    if (text === undefined) return { rows, next: lastSeq };
    const { found, next } = this.#text.search(rows, { text, limit });
    return { rows: found, next: next ?? lastSeq };
  }

  /** The places of deliveries in a state, each in one place; empty for a state that is never stored. */
  #choose(state: string | undefined): readonly Choice[] {
    if (state === undefined) return [{ scan: this.#any, code: null }];
    const [ended, code] = [codeOfEnded(state), codeOfRunState(state)];
    const choices: Choice[] = [];
    if (ended !== -1) choices.push({ scan: this.#ended, code: ended });
    if (code !== -1) choices.push({ scan: code === DONE ? this.#done : this.#notDone, code });
    return choices;
  }
}

/** The start of the window of a scan below a delivery; 0 when it reaches the oldest. */
function lowestSeq({ scan: { lowest, keysPerDelivery }, code }: Choice, before: number): number {
  return (lowest(before * keysPerDelivery, code) ?? 0) / keysPerDelivery;
}

/** Rows of several scans as those of one; each has its own newest first. */
function newestFirst([rows = [], ...others]: readonly DeliveryRow[][]): DeliveryRow[] {
  return others.length === 0 ? rows : [rows, ...others].flat().toSorted((left, right) => right.seq - left.seq);
}

/**
 * Gives the seq below which the page begins. Throws a {@link StoreError} `INVALID` for a cursor that the store did not
 * issue and for a limit out of range.
 */
export function checkListQuery({ limit, cursor }: DeliveryQuery): number {
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
    throw new StoreError("INVALID", `The limit of a page is a whole number from 1 to ${MAX_LIMIT}.`);
  }
  if (cursor === undefined) return Math.floor(Number.MAX_SAFE_INTEGER / RUNS_PER_DELIVERY);
  const seq = parseCursor(cursor);
  if (seq === undefined) throw new StoreError("INVALID", "The cursor is none that a page of this list gave out.");
  return seq;
}
