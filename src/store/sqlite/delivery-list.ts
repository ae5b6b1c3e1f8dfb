import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { DeliveryPage, DeliveryQuery } from "../delivery-store.ts";
import { StoreError } from "../delivery-store.ts";
import { deliverySummary, type DeliveryRow } from "./delivery-summary.ts";
import { DeliveryText, SEARCHED_DELIVERIES } from "./delivery-text.ts";
import { cursorOf, parseCursor } from "./public-id.ts";
import { readSnapshot } from "./read-snapshot.ts";
import { codeOfEnded, codeOfRunState, DONE, RUNS_PER_DELIVERY } from "./sqlite-codes.ts";

const MAX_LIMIT = 200;
/** Rows that one page looks at, whatever it finds; some 2 ms of the main thread. */
const SCANNED_DELIVERIES = 4000;
const SCANNED_RUNS = 1000;

/** A window of keys and a query for what matches in it, newest first. */
interface Scan {
  /** The lowest key of the window below a key; `undefined` when the window reaches the oldest row. */
  readonly lowest: (before: number, code: number | null) => number | undefined;
  readonly matches: StatementSync;
  readonly keysPerDelivery: number;
}

/** The scan for a state, and the state's code. */
interface Choice {
  readonly scan: Scan;
  readonly code: number | null;
}

const columns =
  "d.seq, d.tag, received_at, route, mapping_id, name, runs, ended, d.reason, event, sender, related, related_tag";
/** NOCASE knows ASCII letters alone; of other names the usual ways to write them are compared. */
const isWanted = `
  (?3 IS NULL OR route = ?3) AND (?6 IS NULL OR sender COLLATE NOCASE IN (?6, ?7, ?8))
  AND (?9 IS NULL OR received_at >= ?9) AND (?10 IS NULL OR received_at < ?10)`;
const runsOfDelivery = (seq: string) =>
  `r.id >= ${seq} * ${RUNS_PER_DELIVERY} AND r.id < (${seq} + 1) * ${RUNS_PER_DELIVERY}`;
const stateOfDelivery = `(SELECT max(state) FROM runs AS r WHERE ${runsOfDelivery("d.seq")})`;

/**
 * Pages of deliveries, newest first.
 *
 * States that are rare in the long run (all but done) are found by partial indexes. For the rest a
 * page looks at a bounded number of rows and then ends, short or even empty, with a cursor to go
 * on: at a million rows a page costs what it costs at a thousand. Times of receipt only nearly grow,
 * so they are compared row by row. A text is searched in fewer rows, since it has to be read.
 */
export class DeliveryList {
  readonly #any: Scan;
  readonly #done: Scan;
  readonly #notDone: Scan;
  readonly #ended: Scan;
  readonly #runs: StatementSync;
  readonly #text: DeliveryText;
  readonly #inSnapshot: ReturnType<typeof readSnapshot>;

  constructor(reader: DatabaseSync) {
    const match = (condition: string) =>
      reader.prepare(`
        SELECT ${columns} FROM deliveries AS d
        WHERE seq < ?1 AND seq >= ?2 AND ${condition} AND ${isWanted} ORDER BY seq DESC LIMIT ?4`);
    const oldest = reader.prepare(`
      SELECT seq AS key FROM deliveries WHERE seq < ? ORDER BY seq DESC LIMIT 1 OFFSET ${SCANNED_DELIVERIES - 1}`);
    const oldestEnded = reader.prepare(`
      SELECT seq AS key FROM deliveries WHERE seq < ? AND ended = ?
      ORDER BY seq DESC LIMIT 1 OFFSET ${SCANNED_DELIVERIES - 1}`);
    // `state > 0` is there for the partial index.
    const oldestNotDone = reader.prepare(`
      SELECT id - id % ${RUNS_PER_DELIVERY} AS key FROM runs WHERE id < ? AND state = ? AND state > 0
      ORDER BY id DESC LIMIT 1 OFFSET ${SCANNED_RUNS - 1}`);
    const lowest = (before: number) => keyOf(oldest.get(before));
    this.#any = { lowest, matches: match("?5 IS NULL"), keysPerDelivery: 1 };
    this.#done = { lowest, matches: match(`ended IS NULL AND ${stateOfDelivery} = ?5`), keysPerDelivery: 1 };
    this.#ended = {
      lowest: (before, code) => keyOf(oldestEnded.get(before, code)),
      matches: match("ended = ?5"),
      keysPerDelivery: 1,
    };
    // The first run in the state stands for its delivery.
    this.#notDone = {
      lowest: (before, code) => keyOf(oldestNotDone.get(before, code)),
      matches: reader.prepare(`
        SELECT ${columns} FROM runs AS f CROSS JOIN deliveries AS d ON d.seq = f.id / ${RUNS_PER_DELIVERY}
        WHERE f.id < ?1 AND f.id >= ?2 AND f.state = ?5 AND f.state > 0 AND ${isWanted}
          AND NOT EXISTS (SELECT 1 FROM runs AS e
            WHERE e.id >= d.seq * ${RUNS_PER_DELIVERY} AND e.id < f.id AND e.state = f.state)
          AND ${stateOfDelivery} = ?5
        ORDER BY f.id DESC LIMIT ?4`),
      keysPerDelivery: RUNS_PER_DELIVERY,
    };
    this.#runs = reader.prepare(`SELECT state, reason FROM runs AS r WHERE ${runsOfDelivery("?1")} ORDER BY id`);
    this.#text = new DeliveryText(reader);
    this.#inSnapshot = readSnapshot(reader);
  }

  /** Throws a {@link StoreError} `INVALID` for a cursor nobody gave out and for a limit out of range. */
  page(query: DeliveryQuery): DeliveryPage {
    const { limit } = query;
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT) {
      throw new StoreError("INVALID", `The limit of a page is a whole number from 1 to ${MAX_LIMIT}.`);
    }
    const choice = this.#choose(query.state);
    if (choice === undefined) return { deliveries: [], nextCursor: null };
    const before = beforeOf(query.cursor) * choice.scan.keysPerDelivery;
    return this.#inSnapshot(() => this.#read(choice, before, query));
  }

  #read({ scan, code }: Choice, before: number, query: DeliveryQuery): DeliveryPage {
    const lowest = scan.lowest(before, code);
    const { rows, next } = this.#find(scan, [before, lowest ?? 0, code], query);
    const nextSeq = next ?? (lowest === undefined ? undefined : lowest / scan.keysPerDelivery);
    return {
      deliveries: rows.map((row) => deliverySummary(row, this.#runsOf(row))),
      nextCursor: nextSeq === undefined ? null : cursorOf(nextSeq),
    };
  }

  /** Up to a page of what matches in a window; `next` when there may be more in it. */
  #find(
    scan: Scan,
    [before, lowest, code]: readonly [number, number, number | null],
    { limit, route, sender, receivedFrom, receivedBefore, text }: DeliveryQuery,
  ): { readonly rows: DeliveryRow[]; readonly next: number | undefined } {
    const rows = scan.matches.all(
      before,
      lowest,
      route ?? null,
      text === undefined ? limit + 1 : SEARCHED_DELIVERIES + 1,
      code,
      sender ?? null,
      sender?.toLowerCase() ?? null,
      sender?.toUpperCase() ?? null,
      receivedFrom ?? null,
      receivedBefore ?? null,
    ) as unknown as DeliveryRow[];
    const isCut = rows.length > (text === undefined ? limit : SEARCHED_DELIVERIES);
    if (isCut) rows.pop();
    const lastSeq = isCut ? rows.at(-1)!.seq : undefined;
    if (text === undefined) return { rows, next: lastSeq };
    const { found, next } = this.#text.search(rows, { text, limit });
    return { rows: found, next: next ?? lastSeq };
  }

  /** `undefined` for a state that is never stored. */
  #choose(state: string | undefined): Choice | undefined {
    if (state === undefined) return { scan: this.#any, code: null };
    const ended = codeOfEnded(state);
    if (ended !== -1) return { scan: this.#ended, code: ended };
    const code = codeOfRunState(state);
    if (code === -1) return undefined;
    return { scan: code === DONE ? this.#done : this.#notDone, code };
  }

  #runsOf(row: DeliveryRow) {
    return this.#runs.all(row.seq) as unknown as { state: number; reason: string | null }[];
  }
}

/** Keys below this one are on the page. */
function beforeOf(cursor: string | undefined): number {
  if (cursor === undefined) return Math.floor(Number.MAX_SAFE_INTEGER / RUNS_PER_DELIVERY);
  const seq = parseCursor(cursor);
  if (seq === undefined) throw new StoreError("INVALID", "The cursor is none that a page of this list gave out.");
  return seq;
}

function keyOf(row: Record<string, unknown> | undefined): number | undefined {
  return row === undefined ? undefined : Number(row["key"]);
}
