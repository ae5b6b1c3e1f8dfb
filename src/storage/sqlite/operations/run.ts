import type { DatabaseSync } from "node:sqlite";
import { rowQuery } from "../engine/row-query.ts";
import type { AcceptDependencies } from "./accept.ts";
import { unpackReplayKeys } from "../replay-keys.ts";
import { skippedDeliveries } from "./coalesce-and-overlap.ts";
import { FAILED, HELD, QUEUED, RUNNING, RUNS_PER_DELIVERY, SKIPPED } from "../codes.ts";

/** Characters of a reply that are kept after the run is settled. */
export const KEPT_REPLY_CHARS = 2000;

/** Position of the first run that could not be changed; `undefined` when all were. */
export type FailedRunIndex = number | undefined;

/**
 * Prepares what is recorded of a run after it was accepted; one operation each.
 *
 * A run that is settled stays as it is: settling it again changes nothing, and it begins no
 * attempt. What has happened is recorded all the same: ends of attempts and steps.
 */
export function runOperations(
  database: DatabaseSync,
  { claims, replayKeys: memory, coalescing: gathering }: AcceptDependencies,
) {
  const begin = database.prepare(`
    UPDATE runs SET state = ${RUNNING}, reason = NULL, due_at = NULL WHERE id = ? AND tag = ? AND state >= ${HELD}`);
  const insertAttempt = database.prepare(`
    INSERT INTO attempts (run, number, started_at, status) VALUES (?, ?, ?, 'running')
    ON CONFLICT (run, number) DO UPDATE SET started_at = excluded.started_at, ended_at = NULL, status = 'running',
      error = NULL, reply = NULL`);
  const end = database.prepare(`
    UPDATE attempts SET ended_at = ?, status = ?, error = ?, reply = ?
    WHERE run = ? AND number = (SELECT max(number) FROM attempts WHERE run = ?)`);
  const addStep = database.prepare(`
    UPDATE runs SET steps = steps | ?, outcome = coalesce(?, outcome) WHERE id = ? AND tag = ?`);
  const putOnHold = database.prepare(`
    UPDATE runs SET state = ${HELD}, reason = ? WHERE id = ? AND tag = ? AND state >= ${HELD}`);
  const putBack = database.prepare(`
    UPDATE runs SET state = ${QUEUED}, due_at = ?, reason = ? WHERE id = ? AND tag = ? AND state >= ${HELD}`);
  const settleRun = database.prepare(`
    UPDATE runs SET state = ?, reason = ?, overlap = NULL WHERE id = ? AND tag = ? AND state >= ${HELD}`);
  const cutReply = database.prepare(`
    UPDATE attempts SET reply = substr(reply, 1, ${KEPT_REPLY_CHARS})
    WHERE run = ? AND length(reply) > ${KEPT_REPLY_CHARS}`);
  const exists = database.prepare("SELECT 1 FROM runs WHERE id = ? AND tag = ?");
  // So that a restart finds it in its place among the others, and not as one that waits for its time.
  const becomeDue = database.prepare(`
    UPDATE runs SET due_at = NULL WHERE id = ? AND state = ${QUEUED}
      AND NOT EXISTS (SELECT 1 FROM attempts WHERE run = runs.id)`);
  const endSkipped = skippedDeliveries(database);
  const claimsOfFailed = rowQuery(
    database,
    { claim: "blob?", marks: "blob?" },
    `SELECT claim, marks FROM deliveries WHERE seq = ?1 AND (claim IS NOT NULL OR marks IS NOT NULL) AND NOT EXISTS (
      SELECT 1 FROM runs
      WHERE id >= ?1 * ${RUNS_PER_DELIVERY} AND id < (?1 + 1) * ${RUNS_PER_DELIVERY} AND state <> ${FAILED})`,
  );

  // They would be read into memory again when the file is opened.
  const dropMarks = database.prepare("UPDATE deliveries SET marks = NULL WHERE seq = ?");

  /** A sender whose delivery came to nothing may send it again under the same key. */
  const releaseClaims = (run: number) => {
    const seq = Math.floor(run / RUNS_PER_DELIVERY);
    const failed = claimsOfFailed.get(seq);
    if (failed?.claim) claims.release(failed.claim, seq);
    if (!failed?.marks) return;
    memory.release(unpackReplayKeys(failed.marks), seq);
    dropMarks.run(seq);
  };

  const settle = (run: number, tag: string, state: number, reason: string | null) => {
    if (settleRun.run(state, reason, run, tag).changes === 0) return;
    gathering.stop(run);
    cutReply.run(run);
    if (state === FAILED) releaseClaims(run);
    else if (state === SKIPPED) endSkipped(Math.floor(run / RUNS_PER_DELIVERY), reason);
  };

  return {
    beginAttempt([run, tag, number, startedAt]: [number, string, number, number]): FailedRunIndex {
      if (begin.run(run, tag).changes === 0) return 0;
      gathering.stop(run);
      insertAttempt.run(run, number, startedAt);
      return undefined;
    },
    endAttempt(args: [number, string, number, string, string | null, string | null]): FailedRunIndex {
      const [run, tag, endedAt, status, error, reply] = args;
      if (exists.get(run, tag) === undefined) return 0;
      return end.run(endedAt, status, error, reply, run, run).changes === 0 ? 0 : undefined;
    },
    recordStep([run, tag, step, outcome]: [number, string, number, number | null]): FailedRunIndex {
      return addStep.run(step, outcome, run, tag).changes === 0 ? 0 : undefined;
    },
    postpone([run, tag, dueAt, reason]: [number, string, number, string]): FailedRunIndex {
      if (putBack.run(dueAt, reason, run, tag).changes === 0) return 0;
      gathering.stop(run);
      return undefined;
    },
    stopCoalescing([run, tag]: [number, string]): FailedRunIndex {
      if (exists.get(run, tag) === undefined) return 0;
      gathering.stop(run);
      becomeDue.run(run);
      return undefined;
    },
    hold([run, tag, reason]: [number, string, string]): FailedRunIndex {
      if (putOnHold.run(reason, run, tag).changes === 0) return 0;
      gathering.stop(run);
      return undefined;
    },
    /** Runs and tags alternate from the third item on; all are settled or, if one is unknown, none. */
    settle([state, reason, ...runs]: [number, string | null, ...(number | string)[]]): FailedRunIndex {
      for (let at = 0; at < runs.length; at += 2) {
        if (exists.get(runs[at]!, runs[at + 1]!) === undefined) return at / 2;
      }
      for (let at = 0; at < runs.length; at += 2) settle(Number(runs[at]), String(runs[at + 1]), state, reason);
      return undefined;
    },
  };
}
