import { setTimeout as sleep } from "node:timers/promises";
import type { WakeSpec } from "../../delivery.ts";
import { StoreError } from "../../store/delivery-store.ts";
import type { GatheredCalls } from "../../store/delivery-store.ts";
import { ALL } from "../../store/operational-state.ts";
import type { DispatchContext } from "../dispatch-context.ts";
import type { Expiries } from "../queue/expiries.ts";
import { LinkedList } from "../queue/linked-list.ts";
import { wakeText } from "./prompt.ts";
import { HOST_RETRY, isRetryable, retrying, STORE_RETRY } from "./retrying.ts";
import type { RunGate } from "../queue/run-gate.ts";
import type { TrackedRun } from "../queue/tracked-run.ts";

const BATCH = 64;
/** Wakes that are looked at for one batch; those of paused mappings are put aside. */
const MAX_LOOKED_AT = 1_024;
/** While calls are coming in, they come first: one batch of wakes in this many milliseconds. */
const PACE_MS = 20;

export interface WakeRunnerOptions {
  readonly isBusy: () => boolean;
  readonly gate: Pick<RunGate, "pausedBy" | "heldBy" | "count">;
  readonly expiries: Pick<Expiries, "isOver" | "drop" | "remove">;
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
  readonly #context: DispatchContext;
  readonly #options: WakeRunnerOptions;
  readonly #queue = new LinkedList<TrackedRun>();
  /** Wakes of mappings that are paused, by mapping: older than all of theirs in the queue. */
  readonly #aside = new Map<string, LinkedList<TrackedRun>>();
  #loop: Promise<void> | undefined;
  #running = false;

  constructor(context: DispatchContext, options: WakeRunnerOptions) {
    this.#context = context;
    this.#options = options;
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

  /** Ends after the batch that is under way; the rest stays on disk. */
  async stop(): Promise<void> {
    this.#running = false;
    await this.#loop;
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
      await this.#carryOut(batch).catch((error: unknown) => this.#report(error));
      for (const tracked of batch) this.#options.ended(tracked);
      if (this.#options.isBusy()) await sleep(PACE_MS);
      else await new Promise(setImmediate);
    }
    this.#loop = undefined;
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
      if (scope === ALL) break;
      if (scope === undefined) {
        this.#queue.remove(tracked);
        expiries.remove(tracked);
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

  async #carryOut(batch: readonly TrackedRun[]): Promise<void> {
    const loaded = await Promise.all(batch.map((tracked) => this.#load(tracked)));
    const wakes = loaded.filter((wake) => wake !== undefined);
    const outcomes = await Promise.all(wakes.map((wake) => this.#enqueue(wake)));
    const done = wakes.filter((_, at) => outcomes[at] === "done");
    this.#requestHeartbeats(done.map(({ spec }) => spec));
    await this.#settle(done, null);
    for (const [at, outcome] of outcomes.entries()) {
      if (typeof outcome === "object") await this.#settle([wakes[at]!], outcome.failed);
    }
  }

  /** What could not be written stays on disk and is taken up at the next start. */
  #report(error: unknown): void {
    if (this.#context.abandon.aborted) return;
    this.#context.logger.error({ err: error }, "a batch of wakes could not be carried out");
  }

  /** Gives `undefined` for a run that somebody else has settled. */
  async #load(tracked: TrackedRun): Promise<Wake | undefined> {
    const { store, abandon } = this.#context;
    const { runId } = tracked.run;
    try {
      const { spec, state, gathered } = await retrying(() => store.loadRun(runId), STORE_RETRY, abandon);
      const isOpen = state === "queued" || state === "running";
      return spec.kind === "wake" && isOpen && !tracked.withdrawn ? { tracked, runId, spec, gathered } : undefined;
    } catch (error) {
      if (error instanceof StoreError && error.code === "NOT_FOUND") return undefined;
      throw error;
    }
  }

  async #enqueue({ runId, spec, gathered }: Wake): Promise<"done" | "abandoned" | { failed: string }> {
    const { host, abandon, events } = this.#context;
    await events.dispatched({ runId, kind: "wake", attempt: 1 });
    const event = { sessionKey: spec.sessionKey, text: wakeText(spec, gathered), idempotencyKey: runId };
    try {
      await retrying(() => host.sessions.enqueueSystemEvent(event), HOST_RETRY, abandon);
      return "done";
    } catch (error) {
      if (isRetryable(error)) return "abandoned";
      return { failed: error instanceof Error ? error.message : String(error) };
    }
  }

  #requestHeartbeats(specs: readonly WakeSpec[]): void {
    const sessions = new Map<string, string>();
    for (const spec of specs) if (spec.mode === "now") sessions.set(spec.sessionKey, spec.agentId);
    for (const [sessionKey, agentId] of sessions) {
      this.#context.host.sessions.requestHeartbeat({ agentId, sessionKey, reason: "hook:wake" });
    }
  }

  async #settle(wakes: readonly Wake[], failed: string | null): Promise<void> {
    if (wakes.length === 0) return;
    const state = failed === null ? "done" : "failed";
    const { store, abandon, events } = this.#context;
    const runIds = wakes.map(({ runId }) => runId);
    await retrying(() => store.settleAll(runIds, { state, reason: failed }), STORE_RETRY, abandon);
    for (const { runId, tracked } of wakes) {
      if (!tracked.withdrawn) await events.settled({ runId, kind: "wake", state, reason: failed });
    }
  }
}

interface Wake {
  readonly tracked: TrackedRun;
  readonly runId: string;
  readonly spec: WakeSpec;
  readonly gathered: GatheredCalls | undefined;
}
