import { setTimeout as sleep } from "node:timers/promises";
import { AgentRunner } from "./agent-runner.ts";
import type { OpenRun } from "../store/delivery-store.ts";
import type { DispatchContext } from "./dispatch-context.ts";
import { Lanes } from "./lanes.ts";
import { WakeRunner } from "./wake-runner.ts";

/** How long runs may take to come back after they were abandoned at the deadline. */
const ABORT_GRACE_MS = 1_000;

/** While calls are coming in, one agent run begins in this many milliseconds. */
const PACE_MS = 5;

export interface DispatcherOptions extends Omit<DispatchContext, "abandon"> {
  /** Agent runs at once; asked each time, so that a reload takes effect. */
  concurrency(): number;
  /** True while calls are coming in; wakes then take only a share of the time. */
  isBusy(): boolean;
}

/**
 * Carries out what was accepted: agent runs one after the other within a session's lane and several
 * lanes at once, wakes in order beside them. Lanes live in memory; the store has the rows.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #abandon = new AbortController();
  readonly #lanes = new Lanes<OpenRun>();
  readonly #agents: AgentRunner;
  readonly #wakes: WakeRunner;
  readonly #underWay = new Set<Promise<void>>();
  #reserved = 0;
  #running = false;
  #nextStartMs = 0;
  #paced: NodeJS.Timeout | undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    const context: DispatchContext = {
      store: options.store,
      host: options.host,
      logger: options.logger,
      clock: options.clock,
      events: options.events,
      abandon: this.#abandon.signal,
    };
    this.#agents = new AgentRunner(context);
    this.#wakes = new WakeRunner(context, { isBusy: () => options.isBusy() });
  }

  /** Runs that wait or are under way, and those that are being accepted. */
  get open(): number {
    return this.#reserved + this.#lanes.queued + this.#wakes.queued + this.#underWay.size;
  }

  /** Keeps room for runs that are about to be stored; false when there would be more than `maxOpen`. */
  reserve(count: number, maxOpen: number): boolean {
    if (this.open + count > maxOpen) return false;
    this.#reserved += count;
    return true;
  }

  /** Gives back what was reserved, once the runs have been enqueued or refused. */
  release(count: number): void {
    this.#reserved -= count;
  }

  /**
   * Queues what an earlier process left, in the order in which it was accepted. It is called once,
   * before {@link start} and before the first accept.
   */
  async recover(): Promise<void> {
    for await (const run of this.#options.store.openRuns()) {
      if (run.state !== "held") this.#queue(run);
    }
  }

  /** Begins to carry out what is queued. */
  start(): void {
    this.#running = true;
    this.#wakes.start();
    this.#fill();
  }

  /** Takes runs whose delivery is on disk. */
  enqueue(runs: readonly OpenRun[]): void {
    for (const run of runs) this.#queue(run);
    this.#fill();
  }

  /**
   * Begins nothing more, waits for what is under way until the deadline, and then leaves it on disk
   * as interrupted.
   */
  async stop(deadlineMs: number): Promise<void> {
    this.#running = false;
    clearTimeout(this.#paced);
    const remainingMs = Math.max(0, deadlineMs - this.#options.clock.now());
    const timer = setTimeout(() => this.#abandon.abort(), remainingMs);
    const ended = Promise.all([this.#wakes.stop(), ...this.#underWay]);
    const patience = new AbortController();
    const overdue = sleep(remainingMs + ABORT_GRACE_MS, undefined, { signal: patience.signal }).catch(() => {});
    await Promise.race([ended, overdue]);
    patience.abort();
    clearTimeout(timer);
    this.#abandon.abort();
  }

  #queue(run: OpenRun): void {
    if (run.kind === "wake") this.#wakes.push(run);
    else this.#lanes.push(run.lane, run);
  }

  #fill(): void {
    while (this.#running && this.#underWay.size < this.#options.concurrency()) {
      if (this.#mustWait()) return;
      const next = this.#lanes.take();
      if (!next) return;
      const run = this.#carryOut(next.item).finally(() => {
        this.#underWay.delete(run);
        this.#lanes.release(next.lane);
        this.#fill();
      });
      this.#underWay.add(run);
    }
  }

  /** While calls are coming in they come first: runs begin at a measured pace. */
  #mustWait(): boolean {
    if (!this.#options.isBusy()) return false;
    const now = performance.now();
    if (now >= this.#nextStartMs) {
      this.#nextStartMs = now + PACE_MS;
      return false;
    }
    this.#paced ??= setTimeout(() => {
      this.#paced = undefined;
      this.#fill();
    }, PACE_MS);
    return true;
  }

  /** Never rejects: a run that cannot be carried out stays on disk and the log says why. */
  async #carryOut(run: OpenRun): Promise<void> {
    try {
      await this.#agents.carryOut(run);
    } catch (error) {
      if (this.#abandon.signal.aborted) return;
      this.#options.logger.error({ err: error, runId: run.runId }, "a run could not be carried out");
    }
  }
}
