import type { OpenRun } from "../../storage/delivery-store.ts";
import type { DispatchContext } from "../dispatch-context.ts";
import { retrying, STORE_RETRY } from "../run/retrying.ts";
import { TimedQueue } from "./timed-queue.ts";
import type { TrackedRun } from "./tracked-run.ts";

/** No window of a mapping and no delay of a retry can be configured longer. */
const MAX_DELAY_MS = 86_400_000;

export interface DueRunsOptions {
  /** It may go to its lane now; a run that was withdrawn comes as well. */
  readonly arrived: (run: TrackedRun) => void;
  /** It stays on disk, for the next process. */
  readonly lost: (run: TrackedRun) => void;
}

/**
 * Runs that wait for a time: to be tried again, or to gather calls until they are due.
 *
 * Due times are on the wall clock; how long that is from now is computed once, and each further call puts
 * off a run that gathers by the monotonic clock: a wall clock that is set forward ends no window. The run
 * stops gathering, on disk, before it is handed on.
 */
export class DueRuns {
  readonly #context: DispatchContext;
  readonly #options: DueRunsOptions;
  readonly #queue = new TimedQueue<TrackedRun>((runs) => this.#onDue(runs));

  constructor(context: DispatchContext, options: DueRunsOptions) {
    this.#context = context;
    this.#options = options;
  }

  start(): void {
    this.#queue.start();
  }

  /** Nothing becomes due any more. */
  stop(): void {
    this.#queue.stop();
  }

  /** Keeps a run with a `dueAt` until then. */
  add(tracked: TrackedRun): void {
    const nowMs = performance.now();
    const { gatherMaxMs } = this.#context.rulesFor(tracked.run.mappingId);
    if (!tracked.run.begun && gatherMaxMs !== undefined) tracked.gathersUntilMs = nowMs + gatherMaxMs;
    tracked.due = this.#queue.add(tracked, nowMs + this.delayOf(tracked));
  }

  /**
   * Milliseconds until a run is due, by its `dueAt`; 0 when it is. Never more than its mapping lets it wait
   * at a time: a clock that was set back must not keep a run for an hour.
   */
  delayOf({ run }: TrackedRun): number {
    return run.dueAt === null ? 0 : this.#delayUntil(run.dueAt, run);
  }

  /** A run that gathers is due at another time; nothing happens when it no longer does. */
  move({ due, run, gathersUntilMs }: TrackedRun, dueAt: number): void {
    if (!due) return;
    const delayMs = this.#context.rulesFor(run.mappingId).gatherMs ?? this.#delayUntil(dueAt, run);
    this.#queue.move(due, Math.min(performance.now() + delayMs, gathersUntilMs));
  }

  /** False when it does not wait for a time. */
  remove(tracked: TrackedRun): boolean {
    const { due } = tracked;
    tracked.due = undefined;
    return due !== undefined && this.#queue.remove(due);
  }

  #delayUntil(dueAt: number, { begun, replied, mappingId }: OpenRun): number {
    const { retry, gatherMs } = this.#context.rulesFor(mappingId);
    const policyMs = begun ? (replied ? retry.deliveries : retry.runs).maxDelayMs : gatherMs;
    const maxMs = Math.min(MAX_DELAY_MS, policyMs ?? MAX_DELAY_MS);
    return Math.max(0, Math.min(dueAt - this.#context.clock.now(), maxMs));
  }

  #onDue(runs: readonly TrackedRun[]): void {
    for (const tracked of runs) {
      tracked.due = undefined;
      if (tracked.run.begun) this.#arrive(tracked);
      else void this.#stopCoalescing(tracked);
    }
  }

  /** Never rejects. */
  async #stopCoalescing(tracked: TrackedRun): Promise<void> {
    const { store, abandon, logger } = this.#context;
    const { runId } = tracked.run;
    try {
      await retrying(() => store.stopCoalescing(runId), STORE_RETRY, abandon);
    } catch (error) {
      if (!abandon.aborted) logger.error({ err: error, runId }, "a run that was due could not be taken up");
      this.#options.lost(tracked);
      return;
    }
    this.#arrive(tracked);
  }

  #arrive(tracked: TrackedRun): void {
    tracked.run = { ...tracked.run, dueAt: null };
    this.#options.arrived(tracked);
  }
}
