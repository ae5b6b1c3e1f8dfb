import { setTimeout as sleep } from "node:timers/promises";
import type { WakeSpec } from "../delivery.ts";
import type { OpenRun } from "../store/delivery-store.ts";
import type { DispatchContext } from "./dispatch-context.ts";
import { Fifo } from "./lanes.ts";
import { wakeText } from "./prompt.ts";
import { HOST_RETRY, isRetryable, retrying, STORE_RETRY } from "./retrying.ts";

const BATCH = 64;
/** While calls are coming in, they come first: one batch of wakes in this many milliseconds. */
const PACE_MS = 20;

/**
 * Carries out wakes: system event into the main session, heartbeat, settle; in order, in batches.
 *
 * A burst of thousands costs one commit a batch. An event's idempotency key is its run's id, so a
 * batch that a crash cut short is repeated without doubling anything.
 */
export class WakeRunner {
  readonly #context: DispatchContext;
  readonly #isBusy: () => boolean;
  readonly #queue = new Fifo<OpenRun>();
  #loop: Promise<void> | undefined;
  #running = false;

  constructor(context: DispatchContext, options: { isBusy: () => boolean }) {
    this.#context = context;
    this.#isBusy = options.isBusy;
  }

  get queued(): number {
    return this.#queue.length;
  }

  push(run: OpenRun): void {
    this.#queue.push(run);
    if (this.#running) this.#loop ??= this.#work();
  }

  /** Begins to carry out what is queued. */
  start(): void {
    this.#running = true;
    if (this.#queue.length > 0) this.#loop ??= this.#work();
  }

  /** Ends after the batch that is under way; the rest stays on disk. */
  async stop(): Promise<void> {
    this.#running = false;
    await this.#loop;
  }

  async #work(): Promise<void> {
    // The calls of this turn of the event loop make one batch, and their answers go out first.
    await new Promise(setImmediate);
    while (this.#queue.length > 0 && this.#running) {
      await this.#carryOut(this.#queue.shiftMany(BATCH)).catch((error: unknown) => this.#report(error));
      if (this.#isBusy()) await sleep(PACE_MS);
      else await new Promise(setImmediate);
    }
    this.#loop = undefined;
  }

  async #carryOut(batch: readonly OpenRun[]): Promise<void> {
    const specs = await Promise.all(batch.map((run) => this.#specOf(run)));
    const wakes = batch.flatMap((run, at) => {
      const spec = specs[at];
      return spec ? [{ runId: run.runId, spec }] : [];
    });
    const outcomes = await Promise.all(wakes.map((wake) => this.#enqueue(wake)));
    const done = wakes.filter((_, at) => outcomes[at] === "done");
    this.#requestHeartbeats(done.map(({ spec }) => spec));
    await this.#settle(
      done.map(({ runId }) => runId),
      null,
    );
    for (const [at, outcome] of outcomes.entries()) {
      if (typeof outcome === "object") await this.#settle([wakes[at]!.runId], outcome.failed);
    }
  }

  /** What could not be written stays on disk and is taken up at the next start. */
  #report(error: unknown): void {
    if (this.#context.abandon.aborted) return;
    this.#context.logger.error({ err: error }, "a batch of wakes could not be carried out");
  }

  async #specOf(run: OpenRun): Promise<WakeSpec | undefined> {
    const { spec } = await this.#context.store.loadRun(run.runId);
    return spec.kind === "wake" ? spec : undefined;
  }

  async #enqueue({ runId, spec }: Wake): Promise<"done" | "abandoned" | { failed: string }> {
    const { host, abandon, events } = this.#context;
    await events.dispatched({ runId, kind: "wake", attempt: 1 });
    const event = { sessionKey: spec.sessionKey, text: wakeText(spec), idempotencyKey: runId };
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

  async #settle(runIds: readonly string[], failed: string | null): Promise<void> {
    if (runIds.length === 0) return;
    const state = failed === null ? "done" : "failed";
    const { store, abandon, events } = this.#context;
    await retrying(() => store.settleAll(runIds, { state, reason: failed }), STORE_RETRY, abandon);
    for (const runId of runIds) await events.settled({ runId, kind: "wake", state, reason: failed });
  }
}

interface Wake {
  readonly runId: string;
  readonly spec: WakeSpec;
}
