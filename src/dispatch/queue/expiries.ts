import { StoreError } from "../../storage/delivery-store.ts";
import type { DispatchContext } from "../dispatch-context.ts";
import { LinkedList } from "./linked-list.ts";
import { retrying, STORE_RETRY } from "../run/retrying.ts";
import { TimedQueue } from "./timed-queue.ts";
import type { TrackedRun } from "./tracked-run.ts";

const BATCH = 64;

const SKIPPED = {
  state: "skipped",
  reason: "it waited longer than its mapping's maxAgeSeconds before it could begin",
} as const;

export interface ExpiriesOptions {
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
 * How long a run may wait is computed once, by the monotonic clock. No timer is armed while no run with an
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
    const { abandon, logger, events } = this.#context;
    // What is dropped in the same turn of the event loop is settled together.
    await Promise.resolve();
    while (this.#dropped.length > 0) {
      const batch: TrackedRun[] = [];
      while (batch.length < BATCH && this.#dropped.first) batch.push(this.#dropped.shift()!);
      try {
        for (const { run, withdrawn } of await this.#skip(batch)) {
          if (!withdrawn) await events.settled({ runId: run.runId, kind: run.kind, ...SKIPPED });
        }
      } catch (error) {
        if (!abandon.aborted) logger.error({ err: error }, "runs that waited too long could not be settled");
      }
      for (const tracked of batch) this.#options.ended(tracked);
    }
    this.#settling = undefined;
  }

  /** Gives those that are skipped now: all but those that somebody has settled and removed meanwhile. */
  async #skip(batch: readonly TrackedRun[]): Promise<readonly TrackedRun[]> {
    if (await this.#skipAll(batch)) return batch;
    const single = await Promise.all(batch.map((tracked) => this.#skipAll([tracked])));
    return batch.filter((_, at) => single[at]);
  }

  /** All or none; false when one of them is not there any more. */
  async #skipAll(batch: readonly TrackedRun[]): Promise<boolean> {
    const { store, abandon } = this.#context;
    const runIds = batch.map(({ run }) => run.runId);
    try {
      await retrying(() => store.settleAll(runIds, SKIPPED), STORE_RETRY, abandon);
      return true;
    } catch (error) {
      if (error instanceof StoreError && error.code === "NOT_FOUND") return false;
      throw error;
    }
  }
}
