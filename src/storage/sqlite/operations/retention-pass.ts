import type { DatabaseSync } from "node:sqlite";
import { rowQuery } from "../engine/row-query.ts";
import { isClosed, isFilled, RETAINED_ROW, retainedColumns, type RetainedRow } from "./retention-removal.ts";

/** Neighbors in order of acceptance that are looked at together. */
const BLOCK = 256;
/** Deliveries that are read at once. */
const MAX_ROWS = 64;
/** Blocks of which a pass remembers how old they are; some 16 million deliveries. */
const MAX_KNOWN_BLOCKS = 65_536;

/** What may be done before a step must end. */
export interface StepBudget {
  /** False when the step must end. */
  readonly isLeft: () => boolean;
  /** To be called for each block and each delivery that was looked at. */
  readonly spend: (what: "block" | "delivery", row?: RetainedRow) => void;
}

/** A pass over all deliveries, from the oldest on, in short steps. */
export interface RetentionPass {
  /**
   * Acts on closed deliveries that were received before a time, until the budget is used up. True when the
   * pass has come to its end; the next call begins another one. A delivery with which `act` is not done is
   * the first of the next step.
   */
  step(before: number, act: (row: RetainedRow) => boolean, budget: StepBudget): boolean;
  /** Begins another pass with the next call. */
  restart(): void;
  /** Does that, too, and trusts nothing that was remembered. */
  forget(): void;
}

/**
 * Prepares a pass. Times of receipt only nearly grow, since clocks are set, and open deliveries stay for as
 * long as they are open; so it does not stop at the first delivery that is too young. Of each block it has
 * been through it remembers the earliest receipt of what is left to do there, and looks at the block again
 * when that lies before the bound: a pass that finds nothing new costs next to nothing.
 */
export function retentionPass(database: DatabaseSync, task: "remove" | "empty"): RetentionPass {
  const inBlock = "d.seq >= ?1 AND d.seq < ?2";
  const due = rowQuery(
    database,
    RETAINED_ROW,
    `SELECT ${retainedColumns} FROM deliveries AS d
    WHERE ${inBlock} AND received_at < ?3 ${task === "empty" ? `AND ${isFilled}` : ""} AND ${isClosed}
    ORDER BY d.seq LIMIT ${MAX_ROWS}`,
  );
  const earliest = rowQuery(
    database,
    { time: "integer?" },
    `SELECT min(received_at) AS time FROM deliveries AS d
    WHERE ${inBlock} ${task === "empty" ? `AND (received_at >= ?3 OR ${isFilled})` : ""}`,
  );
  const nextSeq = rowQuery(database, { seq: "integer?" }, "SELECT min(seq) AS seq FROM deliveries WHERE seq >= ?");
  const lastSeq = rowQuery(database, { seq: "integer?" }, "SELECT max(seq) AS seq FROM deliveries");
  const known = new Map<number, number>();
  let at = 0;

  /** The next delivery in a block that must be looked at; `undefined` at the end. */
  const next = (before: number): number | undefined => {
    for (;;) {
      const seq = nextSeq.get(at)?.seq ?? null;
      if (seq === null) return undefined;
      const first = Math.floor(seq / BLOCK);
      let block = first;
      while ((known.get(block) ?? -Infinity) >= before) block++;
      if (block === first) return seq;
      at = block * BLOCK;
    }
  };

  const remember = (block: number, before: number) => {
    const end = (block + 1) * BLOCK;
    // The last block is still being filled.
    if (end > Number(lastSeq.get()?.seq)) return;
    if (known.size >= MAX_KNOWN_BLOCKS) known.clear();
    const args = task === "empty" ? [before] : [];
    // Without one nothing is left to do in it.
    known.set(block, earliest.get(block * BLOCK, end, ...args)?.time ?? Infinity);
  };

  /** False when the step must end. */
  const actOn = (rows: readonly RetainedRow[], act: (row: RetainedRow) => boolean, budget: StepBudget): boolean => {
    for (const row of rows) {
      at = row.seq;
      if (!act(row)) return false;
      at++;
      budget.spend("delivery", row);
      if (!budget.isLeft()) return false;
    }
    return true;
  };

  return {
    step(before, act, budget) {
      while (budget.isLeft()) {
        const seq = next(before);
        if (seq === undefined) {
          at = 0;
          return true;
        }
        const block = Math.floor(seq / BLOCK);
        const rows = due.all(seq, (block + 1) * BLOCK, before);
        if (!actOn(rows, act, budget)) return false;
        if (rows.length < MAX_ROWS) {
          remember(block, before);
          at = (block + 1) * BLOCK;
        }
        budget.spend("block");
      }
      return false;
    },
    restart() {
      at = 0;
    },
    forget() {
      at = 0;
      known.clear();
    },
  };
}
