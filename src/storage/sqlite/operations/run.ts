import type { DatabaseSync, StatementSync } from "node:sqlite";
import { RUN_STEPS } from "../../../core/run.ts";
import { CANCELED, FAILED, HELD, QUEUED, RUNNING, RUNS_PER_DELIVERY, SKIPPED, STEP_COLUMNS } from "../codes.ts";
import { rowQuery, type RowQuery } from "../engine/row-query.ts";
import { unpackReplayKeys } from "../replay-keys.ts";
import type { AcceptDependencies } from "./accept.ts";
import type { ClaimOperations } from "./claims.ts";
import { type CoalesceOperations, skippedDeliveries } from "./coalesce-and-overlap.ts";
import { KEPT_REPLY_CHARS } from "../../stored-values.ts";
import type { ReplayKeyMemory } from "./replay-key-memory.ts";

/** Position of the first run that could not be changed; `undefined` when all were. */
export type FailedRunIndex = number | undefined;

type AttemptEndArgs = [
  run: number,
  tag: string,
  endedAt: number,
  status: string,
  error: string | null,
  reply: string | null,
  usage: string | null,
  activity: string | null,
];

/** `step` is an index of `RUN_STEPS`. */
type RecordStepArgs = [run: number, tag: string, step: number, outcome: number | null, at: number | null];
type SettleArgs = [state: number, reason: string | null, at: number | null, ...runs: (number | string)[]];

interface RunEnd {
  readonly state: number;
  readonly reason: string | null;
  readonly at: number | null;
}

/** The operations on a run after its acceptance, by name. */
export function runOperations(database: DatabaseSync, dependencies: AcceptDependencies) {
  const runs = new RunProgress(database, dependencies);
  return {
    beginAttempt: runs.beginAttempt.bind(runs),
    endAttempt: runs.endAttempt.bind(runs),
    recordStep: runs.recordStep.bind(runs),
    postpone: runs.postpone.bind(runs),
    stopCoalescing: runs.stopCoalescing.bind(runs),
    hold: runs.hold.bind(runs),
    settle: runs.settle.bind(runs),
  };
}

/**
 * Records the progress of a run after it was accepted.
 *
 * A settled run stays settled: settling it again changes nothing, and it begins no attempt. The ends of
 * its attempts and its steps are still recorded.
 */
class RunProgress {
  readonly #coalescing: CoalesceOperations;
  readonly #failedClaims: FailedClaims;
  readonly #exists: StatementSync;
  readonly #begin: StatementSync;
  readonly #insertAttempt: StatementSync;
  readonly #endAttempt: StatementSync;
  readonly #addStep: readonly StatementSync[];
  readonly #hold: StatementSync;
  readonly #putBack: StatementSync;
  readonly #becomeDue: StatementSync;
  readonly #settle: StatementSync;
  readonly #cutReply: StatementSync;
  readonly #abortAttempt: StatementSync;
  readonly #endSkipped: ReturnType<typeof skippedDeliveries>;

  constructor(database: DatabaseSync, { claims, replayKeys, coalescing }: AcceptDependencies) {
    this.#coalescing = coalescing;
    this.#failedClaims = new FailedClaims(database, claims, replayKeys);
    this.#exists = database.prepare("SELECT 1 FROM runs WHERE id = ? AND tag = ?");
    this.#begin = database.prepare(`
      UPDATE runs SET state = ${RUNNING}, reason = NULL, due_at = NULL WHERE id = ? AND tag = ? AND state >= ${HELD}`);
    this.#insertAttempt = database.prepare(`
      INSERT INTO attempts (run, number, started_at, status) VALUES (?, ?, ?, 'running')
      ON CONFLICT (run, number) DO UPDATE SET started_at = excluded.started_at, ended_at = NULL, status = 'running',
        error = NULL, reply = NULL, usage = NULL, activity = NULL`);
    this.#endAttempt = database.prepare(`
      UPDATE attempts SET ended_at = ?, status = ?, error = ?, reply = ?, usage = ?, activity = ?
      WHERE run = ? AND number = (SELECT max(number) FROM attempts WHERE run = ?)`);
    this.#addStep = RUN_STEPS.map((step, bit) =>
      database.prepare(`
      UPDATE runs SET steps = steps | ${1 << bit}, outcome = coalesce(?, outcome), ${STEP_COLUMNS[step]} = ?
      WHERE id = ? AND tag = ?`),
    );
    this.#hold = database.prepare(`
      UPDATE runs SET state = ${HELD}, reason = ? WHERE id = ? AND tag = ? AND state >= ${HELD}`);
    this.#putBack = database.prepare(`
      UPDATE runs SET state = ${QUEUED}, due_at = ?, reason = ? WHERE id = ? AND tag = ? AND state >= ${HELD}`);
    // After a restart the run keeps its place in the queue; a run with a due time would be postponed instead.
    this.#becomeDue = database.prepare(`
      UPDATE runs SET due_at = NULL WHERE id = ? AND state = ${QUEUED}
        AND NOT EXISTS (SELECT 1 FROM attempts WHERE run = runs.id)`);
    this.#settle = database.prepare(`
      UPDATE runs SET state = ?, reason = ?, settled_at = ?, overlap = NULL WHERE id = ? AND tag = ? AND state >= ${HELD}`);
    this.#cutReply = database.prepare(`
      UPDATE attempts SET reply = substr(reply, 1, ${KEPT_REPLY_CHARS})
      WHERE run = ? AND length(reply) > ${KEPT_REPLY_CHARS}`);
    this.#abortAttempt = database.prepare(`
      UPDATE attempts SET ended_at = ?, status = 'aborted', error = ? WHERE run = ? AND status = 'running'`);
    this.#endSkipped = skippedDeliveries(database);
  }

  beginAttempt([run, tag, number, startedAt]: [number, string, number, number]): FailedRunIndex {
    if (this.#begin.run(run, tag).changes === 0) return 0;
    this.#coalescing.stop(run);
    this.#insertAttempt.run(run, number, startedAt);
    return undefined;
  }

  endAttempt(args: AttemptEndArgs): FailedRunIndex {
    const [run, tag, endedAt, status, error, reply, usage, activity] = args;
    if (this.#exists.get(run, tag) === undefined) return 0;
    const { changes } = this.#endAttempt.run(endedAt, status, error, reply, usage, activity, run, run);
    return changes === 0 ? 0 : undefined;
  }

  recordStep([run, tag, step, outcome, at]: RecordStepArgs): FailedRunIndex {
    return this.#addStep[step]!.run(outcome, at, run, tag).changes === 0 ? 0 : undefined;
  }

  postpone([run, tag, dueAt, reason]: [number, string, number, string]): FailedRunIndex {
    if (this.#putBack.run(dueAt, reason, run, tag).changes === 0) return 0;
    this.#coalescing.stop(run);
    return undefined;
  }

  stopCoalescing([run, tag]: [number, string]): FailedRunIndex {
    if (this.#exists.get(run, tag) === undefined) return 0;
    this.#coalescing.stop(run);
    this.#becomeDue.run(run);
    return undefined;
  }

  hold([run, tag, reason]: [number, string, string]): FailedRunIndex {
    if (this.#hold.run(reason, run, tag).changes === 0) return 0;
    this.#coalescing.stop(run);
    return undefined;
  }

  /** Runs and tags alternate from the fourth item on; all are settled or, if one is unknown, none. */
  settle([state, reason, at, ...runs]: SettleArgs): FailedRunIndex {
    const end = { state, reason, at };
    for (let index = 0; index < runs.length; index += 2) {
      if (this.#exists.get(runs[index]!, runs[index + 1]!) === undefined) return index / 2;
    }
    for (let index = 0; index < runs.length; index += 2) {
      this.#settleRun(Number(runs[index]), String(runs[index + 1]), end);
    }
    return undefined;
  }

  #settleRun(run: number, tag: string, { state, reason, at }: RunEnd): void {
    if (this.#settle.run(state, reason, at, run, tag).changes === 0) return;
    this.#coalescing.stop(run);
    this.#cutReply.run(run);
    if (state === CANCELED || state === SKIPPED) this.#abortAttempt.run(at, reason, run);
    const seq = Math.floor(run / RUNS_PER_DELIVERY);
    if (state === FAILED) this.#failedClaims.release(seq);
    else if (state === SKIPPED) this.#endSkipped(seq, reason);
  }
}

const FAILED_CLAIMS_ROW = { claim: "blob?", marks: "blob?" } as const;

/** Releases the keys of a delivery whose runs have all failed, so that its sender may send it again. */
class FailedClaims {
  readonly #claims: ClaimOperations;
  readonly #memory: ReplayKeyMemory;
  readonly #ofFailed: RowQuery<{ readonly claim: Uint8Array | null; readonly marks: Uint8Array | null }>;
  readonly #dropReplayKeys: StatementSync;

  constructor(database: DatabaseSync, claims: ClaimOperations, memory: ReplayKeyMemory) {
    this.#claims = claims;
    this.#memory = memory;
    this.#ofFailed = rowQuery(
      database,
      FAILED_CLAIMS_ROW,
      `SELECT claim, marks FROM deliveries WHERE seq = ?1 AND (claim IS NOT NULL OR marks IS NOT NULL) AND NOT EXISTS (
        SELECT 1 FROM runs
        WHERE id >= ?1 * ${RUNS_PER_DELIVERY} AND id < (?1 + 1) * ${RUNS_PER_DELIVERY} AND state <> ${FAILED})`,
    );
    this.#dropReplayKeys = database.prepare("UPDATE deliveries SET marks = NULL WHERE seq = ?");
  }

  release(seq: number): void {
    const failed = this.#ofFailed.get(seq);
    if (failed?.claim) this.#claims.release(failed.claim, seq);
    if (!failed?.marks) return;
    this.#memory.release(unpackReplayKeys(failed.marks), seq);
    // The next opening of the file would load them again.
    this.#dropReplayKeys.run(seq);
  }
}
