import { StoreError } from "../../storage/delivery-store.ts";
import type { DispatchContext, TakenRun } from "../context.ts";
import { reportSettled } from "../run-log.ts";
import { retrying, STORE_RETRY } from "../run/retry.ts";
import type { Place } from "./lanes.ts";
import { Linked, LinkedList } from "./linked-list.ts";
import { type Alarm, TimedQueue } from "./timed-queue.ts";

const BATCH = 64;

const SKIPPED = {
  state: "skipped",
  reason: "it waited longer than its mapping's maxAgeSeconds before it could begin",
} as const;

interface ExpiriesOptions {
  /** Takes a run out of where it waits; false when it does not wait any more. */
  readonly takeOut: (run: TrackedRun) => boolean;
  /** It is settled, or stays on disk for the next process. */
  readonly ended: (run: TrackedRun) => void;
  /** Some were taken out of where they waited: others may go. */
  readonly swept: () => void;
}

/**
 * Drops runs that waited too long for their first attempt: they end as `skipped`.
 *
 * The longest wait of a run is computed once, by the monotonic clock. No timer is armed while no run with an
 * expiry waits.
 */
export class Expiries {
  readonly #context: DispatchContext;
  readonly #options: ExpiriesOptions;
  readonly #queue = new TimedQueue<TrackedRun>((runs) => this.#sweep(runs));
  /** Those that are to be settled. */
  readonly #dropped = new LinkedList<TrackedRun>();
  #settling: Promise<void> | undefined;

  constructor(context: DispatchContext, options: ExpiriesOptions) {
    this.#context = context;
    this.#options = options;
  }

  start(): void {
    this.#queue.start();
  }

  /** Nothing is dropped any more for having waited too long in its place. */
  stop(): void {
    this.#queue.stop();
  }

  /** Resolves when those that were dropped are settled, or could not be. */
  async written(): Promise<void> {
    await this.#settling;
  }

  /** To be called for a run that is new here: measures how long it may wait. */
  measure(tracked: TrackedRun): void {
    const { expiresAt } = tracked.run;
    if (expiresAt === null) return;
    tracked.expiresMs = performance.now() + expiresAt - this.#context.clock.now();
  }

  /** The run waits from now on; one that may not wait any more is dropped soon. */
  add(tracked: TrackedRun): void {
    if (tracked.expiresMs !== Infinity) tracked.expiry = this.#queue.add(tracked, tracked.expiresMs);
  }

  /** The run does not wait for now; should it turn out not to have begun, it is to be added again. */
  suspend(tracked: TrackedRun): void {
    if (tracked.expiry) this.#queue.remove(tracked.expiry);
    tracked.expiry = undefined;
  }

  /** The run has begun or is gone; it never expires from now on. */
  remove(tracked: TrackedRun): void {
    this.suspend(tracked);
    tracked.expiresMs = Infinity;
  }

  isOver({ expiresMs }: TrackedRun): boolean {
    return expiresMs !== Infinity && expiresMs <= performance.now();
  }

  /** Settles a run that was taken out of where it waited. */
  drop(tracked: TrackedRun): void {
    this.remove(tracked);
    this.#dropped.push(tracked);
    this.#settling ??= this.#settle();
  }

  #sweep(runs: readonly TrackedRun[]): void {
    for (const tracked of runs) {
      tracked.expiry = undefined;
      if (this.#options.takeOut(tracked)) this.drop(tracked);
    }
    this.#options.swept();
  }

  /** Never rejects. */
  async #settle(): Promise<void> {
    const { abandon, logger } = this.#context;
    // Runs that are dropped in the same turn of the event loop are settled together.
    await Promise.resolve();
    while (this.#dropped.length > 0) {
      const batch: TrackedRun[] = [];
      while (batch.length < BATCH && this.#dropped.first) batch.push(this.#dropped.shift()!);
      try {
        for (const { run, withdrawn } of await this.#skip(batch)) {
          if (!withdrawn) await reportSettled(this.#context, { runId: run.runId, kind: run.kind, ...SKIPPED }, run);
        }
      } catch (error) {
        if (!abandon.aborted) logger.error({ err: error }, "runs that waited too long could not be settled");
      }
      for (const tracked of batch) this.#options.ended(tracked);
    }
    this.#settling = undefined;
  }

  /** Gives those that are skipped now: all but those that were settled and removed meanwhile. */
  async #skip(batch: readonly TrackedRun[]): Promise<readonly TrackedRun[]> {
    if (await this.#skipAll(batch)) return batch;
    const single = await Promise.all(batch.map((tracked) => this.#skipAll([tracked])));
    return batch.filter((_, at) => single[at]);
  }

  /** All or none; false when one of them is not there any more. */
  async #skipAll(batch: readonly TrackedRun[]): Promise<boolean> {
    const { store, abandon, clock } = this.#context;
    const settled = { ...SKIPPED, at: clock.now() };
    const runIds = batch.map(({ run }) => run.runId);
    try {
      await retrying(() => store.settleAll(runIds, settled), STORE_RETRY, abandon);
      return true;
    } catch (error) {
      if (error instanceof StoreError && error.code === "NOT_FOUND") return false;
      throw error;
    }
  }
}

/** An open run and where it stands; as a node, in the queue of wakes or among those that are dropped. */
export class TrackedRun extends Linked<TrackedRun> {
  run: TakenRun;
  /** The key of its lane; empty for a run that was made an object in its lane. */
  readonly lane: string;
  /** Its place in its lane, also while it holds the lane. */
  place: Place | undefined = undefined;
  /** Set while it waits for its time. */
  due: Alarm<TrackedRun> | undefined = undefined;
  /** Set while it waits and would be dropped. */
  expiry: Alarm<TrackedRun> | undefined = undefined;
  /** The time of `performance.now()` by which it must have begun. */
  expiresMs = Infinity;
  /** The time of `performance.now()` from which on it coalesces no more calls. */
  coalescesUntilMs = Infinity;
  /** Set while it is carried out. */
  stop: AbortController | undefined = undefined;
  /** True once it was settled elsewhere and observers were notified. */
  withdrawn = false;

  constructor(run: TakenRun, lane: string) {
    super();
    this.run = run;
    this.lane = lane;
  }
}

/** No window of a mapping and no delay of a retry can be configured longer. */
const MAX_DELAY_MS = 86_400_000;
/** The longest time that a channel asks for before it is sent a reply again. */
const MAX_CHANNEL_DELAY_MS = 3_600_000;

export interface DueRunsOptions {
  /** It may go to its lane now; a run that was withdrawn comes as well. */
  readonly arrived: (run: TrackedRun) => void;
  /** It stays on disk, for the next process. */
  readonly lost: (run: TrackedRun) => void;
}

/**
 * Runs that wait for a time: to be tried again, or to coalesce calls until they are due.
 *
 * Due times are on the wall clock; how long that is from now is computed once, and each further call puts
 * off a coalescing run by the monotonic clock: a wall clock that is set forward ends no window. The run
 * stops coalescing, on disk, before it is handed on.
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
    const { coalesceMaxMs } = this.#context.rulesFor(tracked.run.mappingId);
    if (!tracked.run.begun && coalesceMaxMs !== undefined) tracked.coalescesUntilMs = nowMs + coalesceMaxMs;
    tracked.due = this.#queue.add(tracked, nowMs + this.delayOf(tracked));
  }

  /**
   * Milliseconds until a run is due, by its `dueAt`; 0 when it is. Never more than its mapping, or the channel of its
   * reply, may have it wait at a time: a clock that was set back must not keep a run for a day.
   */
  delayOf({ run }: TrackedRun): number {
    return run.dueAt === null ? 0 : this.#delayUntil(run.dueAt, run);
  }

  /** Moves the due time of a coalescing run; does nothing when it no longer coalesces. */
  move({ due, run, coalescesUntilMs }: TrackedRun, dueAt: number): void {
    if (!due) return;
    const delayMs = this.#context.rulesFor(run.mappingId).coalesceMs ?? this.#delayUntil(dueAt, run);
    this.#queue.move(due, Math.min(performance.now() + delayMs, coalescesUntilMs));
  }

  /** False when it does not wait for a time. */
  remove(tracked: TrackedRun): boolean {
    const { due } = tracked;
    tracked.due = undefined;
    return due !== undefined && this.#queue.remove(due);
  }

  #delayUntil(dueAt: number, { begun, replied, mappingId }: TakenRun): number {
    const { retry, coalesceMs } = this.#context.rulesFor(mappingId);
    const replyMs = Math.max(retry.deliveries.maxDelayMs, MAX_CHANNEL_DELAY_MS);
    const longestMs = begun ? (replied ? replyMs : retry.runs.maxDelayMs) : coalesceMs;
    const maxMs = Math.min(MAX_DELAY_MS, longestMs ?? MAX_DELAY_MS);
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
