import type { DatabaseSync } from "node:sqlite";
import { rowQuery, type RowQuery } from "../engine/row-query.ts";
import { EarliestReceipts } from "../../retention-round.ts";
import { isClosed, isFilled, RETAINED_ROW, retainedColumns, type RetainedRow } from "./retention-removal.ts";

/** Deliveries, in order of acceptance, that one query covers. */
const BLOCK = 256;
/** Deliveries that are read at once. */
const MAX_ROWS = 64;

/** Removes deliveries or only their requests. */
type RetentionTask = "remove" | "empty";

/** Limits the work of one step. */
export interface StepBudget {
  /** False when the step must end. */
  readonly isLeft: () => boolean;
  /** Deliveries and bytes that may go at once. */
  readonly room: () => { readonly deliveries: number; readonly bytes: number };
  /** Counts a block or a delivery that the step has looked at. */
  readonly spend: (what: "block" | "delivery", row?: RetainedRow) => void;
}

/**
 * A pass over all deliveries, from the oldest on, in short steps.
 *
 * Times of receipt only nearly grow, since clocks are set, and open deliveries stay while they are open; so a
 * pass does not stop at the first delivery that is too young. It remembers of each block the earliest receipt
 * that is left to act on, and skips the block until that lies before the bound.
 */
export class RetentionPass {
  readonly #task: RetentionTask;
  readonly #due: RowQuery<RetainedRow>;
  readonly #earliest: RowQuery<{ readonly time: number | null }>;
  readonly #nextSeq: RowQuery<{ readonly seq: number | null }>;
  readonly #lastSeq: RowQuery<{ readonly seq: number | null }>;
  readonly #receipts = new EarliestReceipts();
  #at = 0;

  constructor(database: DatabaseSync, task: RetentionTask) {
    this.#task = task;
    const inBlock = "d.seq >= ?1 AND d.seq < ?2";
    this.#due = rowQuery(
      database,
      RETAINED_ROW,
      `SELECT ${retainedColumns} FROM deliveries AS d
      WHERE ${inBlock} AND received_at < ?3 ${task === "empty" ? `AND ${isFilled}` : ""} AND ${isClosed}
      ORDER BY d.seq LIMIT ${MAX_ROWS}`,
    );
    this.#earliest = rowQuery(
      database,
      { time: "integer?" },
      `SELECT min(received_at) AS time FROM deliveries AS d
      WHERE ${inBlock} ${task === "empty" ? `AND (received_at >= ?3 OR ${isFilled})` : ""}`,
    );
    this.#nextSeq = rowQuery(database, { seq: "integer?" }, "SELECT min(seq) AS seq FROM deliveries WHERE seq >= ?");
    this.#lastSeq = rowQuery(database, { seq: "integer?" }, "SELECT max(seq) AS seq FROM deliveries");
  }

  /**
   * Acts on closed deliveries that were received before a time, until the budget is used up. True at the end
   * of the pass; the next call begins another one. `act` takes neighbors that are alike, or one that is not;
   * it returns false when it is not done with that one, and the next step begins with it.
   */
  step(before: number, act: (rows: readonly RetainedRow[]) => boolean, budget: StepBudget): boolean {
    while (budget.isLeft()) {
      const seq = this.#next(before);
      if (seq === undefined) {
        this.#at = 0;
        return true;
      }
      const block = Math.floor(seq / BLOCK);
      const rows = this.#due.all(seq, (block + 1) * BLOCK, before);
      if (!this.#actOn(rows, act, budget)) return false;
      if (rows.length < MAX_ROWS) {
        this.#remember(block, before);
        this.#at = (block + 1) * BLOCK;
      }
      budget.spend("block");
    }
    return false;
  }

  /** Begins another pass with the next call. */
  restart(): void {
    this.#at = 0;
  }

  /** Begins another pass and looks at every block again. */
  forget(): void {
    this.restart();
    this.#receipts.forget();
  }

  /** The next delivery in a block that has something to act on; `undefined` at the end. */
  #next(before: number): number | undefined {
    for (;;) {
      const seq = this.#nextSeq.get(this.#at)?.seq ?? null;
      if (seq === null) return undefined;
      const first = Math.floor(seq / BLOCK);
      const block = this.#receipts.skip(first, before);
      if (block === first) return seq;
      this.#at = block * BLOCK;
    }
  }

  #remember(block: number, before: number): void {
    const end = (block + 1) * BLOCK;
    // The last block still gains deliveries.
    if (end > Number(this.#lastSeq.get()?.seq)) return;
    const args = this.#task === "empty" ? [before] : [];
    this.#receipts.remember(block, this.#earliest.get(block * BLOCK, end, ...args)?.time);
  }

  /** False when the step must end. */
  #actOn(rows: readonly RetainedRow[], act: (rows: readonly RetainedRow[]) => boolean, budget: StepBudget): boolean {
    for (let from = 0; from < rows.length;) {
      const stretch = rows.slice(from, stretchEnd(rows, from, budget.room()));
      this.#at = stretch[0]!.seq;
      if (!act(stretch)) return false;
      this.#at = stretch.at(-1)!.seq + 1;
      for (const row of stretch) budget.spend("delivery", row);
      if (!budget.isLeft()) return false;
      from += stretch.length;
    }
    return true;
  }
}

/** Runs of a delivery that may go together with its neighbors. */
const FEW_RUNS = 4;

/**
 * The end of the neighbors, from a place on, that go with one statement for each table: what copies could still
 * arrive of goes alone, and so does what has many runs or an unknown size.
 */
function stretchEnd(rows: readonly RetainedRow[], from: number, room: ReturnType<StepBudget["room"]>): number {
  let end = from;
  for (let bytes = 0; end < rows.length && end - from < room.deliveries && bytes < room.bytes; end++) {
    const row = rows[end]!;
    const isAlike = row.claim === null && row.marks === null && row.bytes !== null && row.runs <= FEW_RUNS;
    if (!isAlike || (end > from && row.seq !== rows[end - 1]!.seq + 1)) break;
    bytes += row.bytes;
  }
  return Math.max(end, from + 1);
}
