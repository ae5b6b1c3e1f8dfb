import { hasDrifted } from "../../retention-round.ts";
import type { DatabaseSync } from "node:sqlite";
import { rowQuery, type RowQuery } from "../engine/row-query.ts";
import { countedBytes, emptyBytes } from "./delivery-bytes.ts";
import type { ReplayKeyMemory } from "./replay-key-memory.ts";
import { RetentionPass, type StepBudget } from "./retention-pass.ts";
import { isClosed, MAX_RUNS_AT_ONCE, RETAINED_ROW, retainedColumns, RetentionRemoval } from "./retention-removal.ts";
import type { RemovalResult, RetainedRow } from "./retention-removal.ts";
import { fileShrinker } from "./shrink-file.ts";

/** Bounds of one step of `prune`: the deliveries that it acts on unless it is asked for more, and looks for them. */
const MAX_DELIVERIES = 64;
const LOOKS_PER_DELIVERY = 3 / 64;
/** Bytes that one step frees. */
const MAX_FREED_BYTES = 1024 * 1024;

/** Removed, emptied, and left alone or unknown. */
export type RemoveResult = [removed: number, emptied: number, kept: number];
/** Removed, emptied, and 1 when there may be more to do. */
export type PruneResult = [removed: number, emptied: number, more: 0 | 1];

type PruneArgs = [now: number, removeBefore: number, emptyBefore: number, maxBytes: number | null, most?: number];

/** The passes of a round, in their order. */
type Phase = "old" | "requests" | "excess";

interface Limits {
  readonly now: number;
  readonly removeBefore: number;
  readonly emptyBefore: number;
  readonly maxBytes: number | null;
  /** Deliveries that one step acts on. */
  readonly most: number;
}

/** The operations that remove deliveries, by name. */
export function retentionOperations(database: DatabaseSync, memory: ReplayKeyMemory) {
  const retention = new Retention(database, memory);
  return { remove: retention.remove.bind(retention), prune: retention.prune.bind(retention) };
}

/**
 * Removes deliveries whose runs are all closed.
 *
 * A round of steps removes what is old enough, then empties what is, then, while all deliveries count for more
 * bytes than allowed, removes the oldest whatever their age. Each counts for what it was accepted with and an
 * allowance for its rows; the rest of the file does not count. At the end of a round the file shrinks when much of
 * it is free.
 *
 * The position of a round is in memory only. After a step whose transaction was rolled back, the next step
 * begins the round again.
 */
class Retention {
  readonly #removal: RetentionRemoval;
  readonly #counted: ReturnType<typeof countedBytes>;
  readonly #closed: RowQuery<RetainedRow & { readonly closed: number }>;
  readonly #freeBytes: () => number;
  readonly #shrink: () => boolean;
  readonly #passes: Readonly<Record<Phase, RetentionPass>>;
  #round: { readonly limits: Limits; phase: Phase } | undefined;

  constructor(database: DatabaseSync, memory: ReplayKeyMemory) {
    this.#removal = new RetentionRemoval(database, memory);
    this.#closed = rowQuery(
      database,
      { ...RETAINED_ROW, closed: "integer" },
      `SELECT ${retainedColumns}, ${isClosed} AS closed FROM deliveries AS d WHERE d.seq = ? AND d.tag = ?`,
    );
    this.#freeBytes = freeFileBytes(database);
    this.#shrink = fileShrinker(database);
    this.#counted = countedBytes(database);
    this.#passes = {
      old: new RetentionPass(database, "remove"),
      requests: new RetentionPass(database, "empty"),
      excess: new RetentionPass(database, "remove"),
    };
  }

  /** The time, and then seq and tag of each delivery in turn. */
  remove([now, ...keys]: [number, ...(number | string)[]]): RemoveResult {
    const counts = { removed: 0, emptied: 0, kept: 0 };
    this.#counted.load();
    for (let at = 0; at < keys.length; at += 2) counts[this.#removeWholly(keys[at]!, keys[at + 1]!, now)]++;
    this.#counted.store();
    return [counts.removed, counts.emptied, counts.kept];
  }

  /** One step. */
  prune([now, removeBefore, emptyBefore, maxBytes, most = MAX_DELIVERIES]: PruneArgs): PruneResult {
    const limits = { now, removeBefore, emptyBefore, maxBytes, most };
    if (this.#removal.wasUndone()) {
      this.#round = undefined;
      for (const pass of Object.values(this.#passes)) pass.forget();
    }
    if (this.#round !== undefined && hasDrifted(this.#round.limits, limits)) this.#round = undefined;
    const counts = { removed: 0, emptied: 0, unchanged: 0, begun: 0 };
    this.#counted.load();
    const more = this.#step(limits, (result) => counts[result]++);
    this.#counted.store();
    if (!more) this.#round = undefined;
    return [counts.removed, counts.emptied, more ? 1 : 0];
  }

  #beginRound(limits: Limits): { readonly limits: Limits; phase: Phase } {
    for (const pass of Object.values(this.#passes)) pass.restart();
    return { limits, phase: "old" };
  }

  /** Takes what the delivery has lost from the counted bytes. */
  #count({ seq, bytes, runs }: RetainedRow, result: RemovalResult): RemovalResult {
    if (bytes === null) return result;
    if (result === "removed") this.#counted.lose(seq, bytes);
    else if (result === "emptied") this.#counted.lose(seq, bytes - Math.min(bytes, emptyBytes(runs)));
    return result;
  }

  /** True when there may be more to do. */
  #step(limits: Limits, report: (result: RemovalResult) => void): boolean {
    const { now, removeBefore, emptyBefore, maxBytes } = limits;
    const budget = stepBudget(this.#freeBytes, limits.most);
    const passes = this.#passes;
    const areAllCounted = maxBytes === null || this.#counted.addNew();
    // Deliveries that are not counted yet could only add to the total.
    const isOver = () => maxBytes !== null && this.#counted.total() > maxBytes;
    const isDone = (row: RetainedRow, result: RemovalResult) => {
      report(this.#count(row, result));
      return result !== "begun";
    };
    const remove = (rows: readonly RetainedRow[]) => {
      if (rows.length === 1 || !this.#removal.removeStretch(rows)) {
        return rows.every((row) => isDone(row, this.#removal.remove(row, now)));
      }
      return rows.every((row) => isDone(row, "removed"));
    };
    const empty = (rows: readonly RetainedRow[]) => {
      if (rows.length === 1) return isDone(rows[0]!, this.#removal.empty(rows[0]!));
      this.#removal.emptyStretch(rows);
      return rows.every((row) => isDone(row, "emptied"));
    };
    const round = (this.#round ??= this.#beginRound(limits));
    if (round.phase === "old") {
      if (!passes.old.step(removeBefore, remove, budget)) return true;
      round.phase = "requests";
    }
    if (round.phase === "requests") {
      if (!passes.requests.step(emptyBefore, empty, budget)) return true;
      round.phase = "excess";
    }
    const untilItFits = {
      ...budget,
      isLeft: () => isOver() && budget.isLeft(),
      room: () => ({
        ...budget.room(),
        bytes: Math.min(budget.room().bytes, this.#counted.total() - Number(maxBytes)),
      }),
    };
    if (isOver() && !passes.excess.step(Infinity, remove, untilItFits) && isOver()) return true;
    return !areAllCounted || this.#shrink();
  }

  #removeWholly(seq: number | string, tag: number | string, now: number): "removed" | "emptied" | "kept" {
    for (;;) {
      const row = this.#closed.get(seq, tag);
      if (row === undefined || row.closed === 0) return "kept";
      const result = this.#count(row, this.#removal.remove(row, now));
      if (result === "begun") continue;
      if (result === "removed") return "removed";
      this.#removal.forgetReplies(row);
      // A delivery that had lost its request before counts as emptied, too.
      return "emptied";
    }
  }
}

/** Freed bytes are bounded too: freeing a page of a body that is in no cache costs the most. */
function stepBudget(freeBytes: () => number, most: number): StepBudget {
  const freeAtStart = freeBytes();
  let [blocks, deliveries, runs] = [0, 0, 0];
  return {
    isLeft: () =>
      blocks < most * LOOKS_PER_DELIVERY &&
      deliveries < most &&
      runs < MAX_RUNS_AT_ONCE &&
      freeBytes() - freeAtStart < MAX_FREED_BYTES,
    room: () => ({ deliveries: most - deliveries, bytes: MAX_FREED_BYTES }),
    spend(what, row) {
      if (what === "block") blocks++;
      else deliveries++;
      runs += row?.runs ?? 0;
    },
  };
}

/** Bytes of the free pages of the file. */
function freeFileBytes(database: DatabaseSync): () => number {
  const pageBytes = Number(rowQuery(database, { page_size: "integer" }, "PRAGMA page_size").get()?.page_size);
  const freePages = rowQuery(database, { freelist_count: "integer" }, "PRAGMA freelist_count");
  return () => Number(freePages.get()?.freelist_count) * pageBytes;
}
