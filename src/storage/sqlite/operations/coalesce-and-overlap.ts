import type { DatabaseSync } from "node:sqlite";
import { OVERLAP_LATEST_REASON } from "../../new-delivery.ts";
import { ENDED_SKIPPED, QUEUED, RUNS_PER_DELIVERY, SKIPPED } from "../codes.ts";
import { type RowOf, rowQuery, type RowShape } from "../engine/row-query.ts";

/** A call that may become a part of a run; times are in milliseconds, `receivedAt` since the epoch. */
export interface CoalescableCall {
  /** As it is stored. */
  readonly key: Uint8Array;
  readonly receivedAt: number;
  readonly windowMs: number;
  readonly maxWaitMs: number;
}

/** The run that a call has become a part of. */
export interface JoinedRun {
  readonly run: number;
  readonly tag: string;
  readonly dueAt: number;
}

/** The runs that coalesce calls; use it inside a transaction. */
export interface CoalesceOperations {
  /** Makes the call a part of the run that coalesces for its key; `undefined` when none does. */
  join(call: CoalescableCall): JoinedRun | undefined;
  /** Begins coalescing into a run that is about to be stored; returns its due time. */
  open(call: CoalescableCall, run: number): number;
  /** Ends coalescing into a run. */
  stop(run: number): void;
}

/**
 * Prepares coalescing. Only a queued run coalesces calls; leaving the queue removes its row in `gathering`,
 * so the table stays as small as the queue.
 */
export function coalesceOperations(database: DatabaseSync): CoalesceOperations {
  const gathering = rowQuery(
    database,
    COALESCING_ROW,
    `SELECT run, opened_at, due_at, tag FROM gathering JOIN runs ON id = run WHERE key = ? AND state = ${QUEUED}`,
  );
  const insert = database.prepare(`
    INSERT INTO gathering (key, run, opened_at) VALUES (?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET run = excluded.run, opened_at = excluded.opened_at`);
  const reopen = database.prepare("UPDATE gathering SET opened_at = ? WHERE key = ?");
  const count = database.prepare("UPDATE runs SET due_at = ?, calls = calls + 1 WHERE id = ?");
  const remove = database.prepare("DELETE FROM gathering WHERE run = ?");
  // Never false again, since a transaction that is undone may bring back what was removed.
  let isUsed = database.prepare("SELECT 1 FROM gathering LIMIT 1").get() !== undefined;

  return {
    join(call) {
      const row = gathering.get(call.key);
      if (row === undefined) return undefined;
      const { key, receivedAt } = call;
      if (receivedAt < row.opened_at) reopen.run(receivedAt, key);
      const dueAt = dueTime(row, call);
      count.run(dueAt, row.run);
      return { run: row.run, tag: row.tag, dueAt };
    },
    open({ key, receivedAt, windowMs, maxWaitMs }, run) {
      isUsed = true;
      insert.run(key, run, receivedAt);
      return receivedAt + Math.min(windowMs, maxWaitMs);
    },
    stop(run) {
      if (isUsed) remove.run(run);
    },
  };
}

const COALESCING_ROW = {
  run: "integer",
  tag: "text",
  opened_at: "integer",
  due_at: "integer",
} as const satisfies RowShape;

/**
 * The due time of a run that a call has joined. A call that took its time on the way makes it no earlier. A
 * clock that was set back does not make it wait until the old time is reached: the wait begins again.
 */
function dueTime(row: RowOf<typeof COALESCING_ROW>, { receivedAt, windowMs, maxWaitMs }: CoalescableCall): number {
  const own = receivedAt + windowMs;
  const isLate = row.due_at > own && row.due_at - own <= maxWaitMs;
  return Math.min(isLate ? row.due_at : own, Math.min(row.opened_at, receivedAt) + maxWaitMs);
}

/**
 * Prepares what is recorded of a delivery when one of its runs was skipped: with the last one it has ended,
 * and is found among the skipped like one that never had a run.
 */
export function skippedDeliveries(database: DatabaseSync): (seq: number, reason: string | null) => void {
  const end = database.prepare(`
    UPDATE deliveries SET ended = ${ENDED_SKIPPED}, reason = ?2 WHERE seq = ?1 AND NOT EXISTS (
      SELECT 1 FROM runs
      WHERE id >= ?1 * ${RUNS_PER_DELIVERY} AND id < (?1 + 1) * ${RUNS_PER_DELIVERY} AND state <> ${SKIPPED})`);
  return (seq, reason) => {
    end.run(seq, reason);
  };
}

/** The overlap of runs with the same key; use it inside a transaction. */
interface OverlapOperations {
  /** True while a run with the key is queued or running. */
  isOpen(key: Uint8Array): boolean;
  /** Skips the runs with the key that are queued and that no host has begun; their ids and tags alternate. */
  giveWay(key: Uint8Array): readonly (number | string)[];
}

/** Prepares overlap. A run carries its key until it is settled, so that the index holds open runs only. */
export function overlapOperations(database: DatabaseSync): OverlapOperations {
  const open = database.prepare(`SELECT 1 FROM runs WHERE overlap = ? AND state >= ${QUEUED} LIMIT 1`);
  const waiting = rowQuery(
    database,
    { id: "integer", tag: "text" },
    `SELECT id, tag FROM runs WHERE overlap = ? AND state = ${QUEUED} AND steps = 0
      AND NOT EXISTS (SELECT 1 FROM attempts WHERE run = runs.id AND status <> 'aborted') ORDER BY id`,
  );
  const skip = database.prepare(`UPDATE runs SET state = ${SKIPPED}, reason = ?, overlap = NULL WHERE id = ?`);
  const endSkipped = skippedDeliveries(database);

  return {
    isOpen: (key) => open.get(key) !== undefined,
    giveWay(key) {
      const runs: (number | string)[] = [];
      const seqs = new Set<number>();
      for (const { id, tag } of waiting.all(key)) {
        skip.run(OVERLAP_LATEST_REASON, id);
        runs.push(id, tag);
        seqs.add(Math.floor(id / RUNS_PER_DELIVERY));
      }
      for (const seq of seqs) endSkipped(seq, OVERLAP_LATEST_REASON);
      return runs;
    },
  };
}
