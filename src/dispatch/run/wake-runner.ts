import { setTimeout as sleep } from "node:timers/promises";
import { SCOPE_ALL } from "../../storage/operational-state.ts";
import type { DispatchContext } from "../context.ts";
import type { Expiries, TrackedRun } from "../queue/timers.ts";
import { LinkedList } from "../queue/linked-list.ts";
import type { RunGate } from "../queue/admission.ts";
import { BATCH, WakeSessions } from "./wake-sessions.ts";

/** Wakes that are looked at for one batch; those of paused mappings are put aside. */
const MAX_LOOKED_AT = 1_024;
/** While calls are received, wakes are limited to one batch in this many milliseconds. */
const PACE_MS = 20;

export interface WakeRunnerOptions {
  readonly isBusy: () => boolean;
  readonly gate: Pick<RunGate, "pausedBy" | "heldBy" | "count" | "counted">;
  readonly expiries: Pick<Expiries, "isOver" | "drop" | "add" | "suspend">;
  /** It is settled, or stays on disk for the next process. */
  readonly ended: (run: TrackedRun) => void;
}

/**
 * Carries out wakes: system event into the main session, heartbeat, settle; in order, in batches.
 *
 * A burst of thousands costs one commit a batch. An event's idempotency key is its run's id, so a
 * batch that a crash cut short is repeated without doubling anything.
 */
export class WakeRunner {
  readonly #options: WakeRunnerOptions;
  readonly #sessions: WakeSessions;
  readonly #queue = new LinkedList<TrackedRun>();
  /** Wakes of mappings that are paused, by mapping: older than all of theirs in the queue. */
  readonly #aside = new Map<string, LinkedList<TrackedRun>>();
  #loop: Promise<void> | undefined;
  #running = false;

  constructor(context: DispatchContext, options: WakeRunnerOptions) {
    const { expiries, ended } = options;
    this.#options = options;
    this.#sessions = new WakeSessions(context, { expiries, ended, pace: () => this.#pace() });
  }

  /** True when no wake of the session goes before one that comes now, and no batch of many makes it cheaper. */
  isFree(sessionKey: string): boolean {
    const isIdle = this.#running && this.#queue.length === 0 && this.#loop === undefined && !this.#options.isBusy();
    return isIdle && !this.#sessions.isServed(sessionKey);
  }

  /** Wakes that their sessions have until a turn takes them. */
  get handedOver(): number {
    return this.#sessions.handedOver;
  }

  push(tracked: TrackedRun): void {
    this.#queue.push(tracked);
    this.#goOn();
  }

  /** Begins to carry out what is queued. */
  start(): void {
    this.#running = true;
    this.#goOn();
  }

  /** Ends after the current batch; the rest stays on disk. */
  async stop(): Promise<void> {
    this.#running = false;
    await this.#loop;
    await this.#sessions.stop();
  }

  /** To be called when a pause may have ended: its wakes go before later ones. */
  review(): void {
    for (const [mappingId, wakes] of this.#aside) {
      if (this.#options.gate.pausedBy(mappingId) !== undefined) continue;
      this.#aside.delete(mappingId);
      for (let last = wakes.pop(); last; last = wakes.pop()) this.#queue.unshift(last);
    }
    this.#goOn();
  }

  #goOn(): void {
    if (this.#mayWork()) this.#loop ??= this.#work();
  }

  #mayWork(): boolean {
    return this.#running && this.#queue.length > 0 && this.#options.gate.pausedBy(null) === undefined;
  }

  async #work(): Promise<void> {
    // The calls of this turn of the event loop make one batch, and their answers go out first.
    await new Promise(setImmediate);
    while (this.#mayWork()) {
      const batch = this.#nextBatch();
      await this.#options.gate.counted();
      await this.#sessions.carryOut(batch);
      await this.#pace();
    }
    this.#loop = undefined;
  }

  async #pace(): Promise<void> {
    if (this.#options.isBusy()) await sleep(PACE_MS);
    else await new Promise(setImmediate);
  }

  #nextBatch(): readonly TrackedRun[] {
    const { gate, expiries } = this.#options;
    const batch: TrackedRun[] = [];
    for (let looked = 0; looked < MAX_LOOKED_AT && batch.length < BATCH; looked++) {
      const tracked = this.#queue.first;
      if (!tracked) break;
      if (expiries.isOver(tracked)) {
        expiries.drop(tracked);
        continue;
      }
      const scope = gate.heldBy(tracked.run);
      if (scope === SCOPE_ALL) break;
      if (scope === undefined) {
        this.#queue.remove(tracked);
        expiries.suspend(tracked);
        gate.count(tracked.run);
        batch.push(tracked);
      } else {
        this.#putAside(scope, tracked);
      }
    }
    return batch;
  }

  #putAside(mappingId: string, tracked: TrackedRun): void {
    let wakes = this.#aside.get(mappingId);
    if (!wakes) {
      wakes = new LinkedList();
      this.#aside.set(mappingId, wakes);
    }
    wakes.push(tracked);
  }
}
