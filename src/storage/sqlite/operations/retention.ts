import type { DatabaseSync } from "node:sqlite";
import { rowQuery } from "../engine/row-query.ts";
import { countedBytes } from "./delivery-bytes.ts";
import { emptyBytes } from "./delivery-bytes.ts";
import type { ReplayKeyMemory } from "./replay-key-memory.ts";
import { retentionPass, type StepBudget } from "./retention-pass.ts";
import { isClosed, MAX_RUNS_AT_ONCE, RETAINED_ROW, retainedColumns, retentionRemoval } from "./retention-removal.ts";
import type { RemovalResult, RetainedRow } from "./retention-removal.ts";

/** What one step of {@link retentionOperations} looks at, changes and frees; some 2 ms of the writer thread. */
const MAX_BLOCKS = 3;
const MAX_DELIVERIES = 64;
const MAX_FREED_BYTES = 1024 * 1024;
/** Limits that have moved by more since a round began let it begin again. */
const ROUND_DRIFT_MS = 60_000;

/** Removed, emptied, and left alone or unknown. */
export type RemoveResult = [removed: number, emptied: number, kept: number];
/** Removed, emptied, and 1 when there may be more to do. */
export type PruneResult = [removed: number, emptied: number, more: 0 | 1];

interface Limits {
  readonly now: number;
  readonly removeBefore: number;
  readonly emptyBefore: number;
  readonly maxBytes: number | null;
}

/**
 * Prepares the removal of deliveries that nobody works on any more.
 *
 * A round of steps removes what is old enough, then empties what is, then, as long as all deliveries count
 * for more bytes than they may, removes the oldest whatever their age. Each counts for what it was accepted
 * with and an allowance for its rows; what else is in the file does not count. What is freed is used again
 * and not given back to the file system.
 *
 * Where a round is stands in memory only. Should the transaction of a step be undone, the next step sees
 * it and begins anew.
 */
export function retentionOperations(database: DatabaseSync, memory: ReplayKeyMemory) {
  const removal = retentionRemoval(database, memory);
  const closed = rowQuery(
    database,
    { ...RETAINED_ROW, closed: "integer" },
    `SELECT ${retainedColumns}, ${isClosed} AS closed FROM deliveries AS d WHERE d.seq = ? AND d.tag = ?`,
  );
  const freeBytes = freeFileBytes(database);
  const counted = countedBytes(database);
  const passes = {
    old: retentionPass(database, "remove"),
    requests: retentionPass(database, "empty"),
    excess: retentionPass(database, "remove"),
  };
  let round: { limits: Limits; pass: keyof typeof passes } | undefined;

  const beginRound = (limits: Limits) => {
    for (const pass of Object.values(passes)) pass.restart();
    return { limits, pass: "old" as const };
  };

  const noted = (row: RetainedRow, what: RemovalResult) => {
    const { seq, bytes, runs } = row;
    if (bytes === null) return what;
    if (what === "removed") counted.lose(seq, bytes);
    else if (what === "emptied") counted.lose(seq, bytes - Math.min(bytes, emptyBytes(runs)));
    return what;
  };

  const step = (limits: Limits, count: (what: RemovalResult) => void): boolean => {
    const { now, removeBefore, emptyBefore, maxBytes } = limits;
    const budget = stepBudget(freeBytes);
    const areAllCounted = maxBytes === null || counted.addNew();
    // Those that are not counted yet could only add to it.
    const isOver = () => maxBytes !== null && counted.total() > maxBytes;
    const acted = (what: RemovalResult) => {
      count(what);
      return what !== "begun";
    };
    const remove = (row: RetainedRow) => acted(noted(row, removal.remove(row, now)));
    round ??= beginRound(limits);
    if (round.pass === "old") {
      if (!passes.old.step(removeBefore, remove, budget)) return true;
      round.pass = "requests";
    }
    if (round.pass === "requests") {
      if (!passes.requests.step(emptyBefore, (row) => acted(noted(row, removal.empty(row))), budget)) return true;
      round.pass = "excess";
    }
    const untilItFits = { ...budget, isLeft: () => isOver() && budget.isLeft() };
    if (isOver() && !passes.excess.step(Infinity, remove, untilItFits) && isOver()) return true;
    return !areAllCounted;
  };

  const removeWholly = (seq: number | string, tag: number | string, now: number) => {
    for (;;) {
      const row = closed.get(seq, tag);
      if (row === undefined || row.closed === 0) return "kept";
      const result = noted(row, removal.remove(row, now));
      if (result === "begun") continue;
      if (result === "removed") return "removed";
      removal.forgetReplies(row);
      // One that had lost its request before is as empty as it was asked to be.
      return "emptied";
    }
  };

  return {
    /** The time, and then seq and tag of each delivery in turn. */
    remove([now, ...keys]: [number, ...(number | string)[]]): RemoveResult {
      const counts = { removed: 0, emptied: 0, kept: 0 };
      counted.load();
      for (let at = 0; at < keys.length; at += 2) counts[removeWholly(keys[at]!, keys[at + 1]!, now)]++;
      counted.store();
      return [counts.removed, counts.emptied, counts.kept];
    },
    /** One step. */
    prune([now, removeBefore, emptyBefore, maxBytes]: [number, number, number, number | null]): PruneResult {
      const limits = { now, removeBefore, emptyBefore, maxBytes };
      if (removal.wasUndone()) {
        round = undefined;
        for (const pass of Object.values(passes)) pass.forget();
      }
      if (round !== undefined && hasDrifted(round.limits, limits)) round = undefined;
      const counts = { removed: 0, emptied: 0, unchanged: 0, begun: 0 };
      counted.load();
      const more = step(limits, (what) => counts[what]++);
      counted.store();
      if (!more) round = undefined;
      return [counts.removed, counts.emptied, more ? 1 : 0];
    },
  };
}

function hasDrifted(from: Limits, to: Limits): boolean {
  return (
    Math.abs(to.removeBefore - from.removeBefore) > ROUND_DRIFT_MS ||
    Math.abs(to.emptyBefore - from.emptyBefore) > ROUND_DRIFT_MS
  );
}

/** Freeing a page of a body that is long out of every cache takes longer than the rest together. */
function stepBudget(freeBytes: () => number): StepBudget {
  const freeAtStart = freeBytes();
  let [blocks, deliveries, runs] = [0, 0, 0];
  return {
    isLeft: () =>
      blocks < MAX_BLOCKS &&
      deliveries < MAX_DELIVERIES &&
      runs < MAX_RUNS_AT_ONCE &&
      freeBytes() - freeAtStart < MAX_FREED_BYTES,
    spend(what, row) {
      if (what === "block") blocks++;
      else deliveries++;
      runs += row?.runs ?? 0;
    },
  };
}

/** Bytes of the file that its tables have given back; takes no time. */
function freeFileBytes(database: DatabaseSync): () => number {
  const pageBytes = Number(rowQuery(database, { page_size: "integer" }, "PRAGMA page_size").get()?.page_size);
  const freePages = rowQuery(database, { freelist_count: "integer" }, "PRAGMA freelist_count");
  return () => Number(freePages.get()?.freelist_count) * pageBytes;
}
