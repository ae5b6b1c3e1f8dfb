import type { SettledState, WakeSpec } from "../../core/delivery.ts";
import { reasonOf } from "../../core/reason-of.ts";
import { type CoalescedCalls, StoreError } from "../../storage/delivery-store.ts";
import type { DispatchContext } from "../context.ts";
import type { TrackedRun } from "../queue/timers.ts";
import { reportSettled } from "../run-log.ts";
import type { StartedAttempt } from "../run-log.ts";
import { wakeText } from "./agent-prompt.ts";
import { isRetryable, retrying, STORE_RETRY } from "./retry.ts";
import { withTimeout } from "./with-timeout.ts";

/** A wake as it was read for being carried out. */
export interface Wake {
  readonly tracked: TrackedRun;
  readonly runId: string;
  readonly spec: WakeSpec;
  readonly coalesced: CoalescedCalls | undefined;
  readonly deliveryId: string;
  readonly attempt: StartedAttempt;
}

/** `refused`: it may be taken later; `left`: it was canceled, or stays on disk for the next process. */
type Outcome = "done" | "refused" | "left" | { readonly failed: string };

/** Carries out wakes of one session: system events, heartbeat, settle. */
export class WakeBatch {
  readonly #context: DispatchContext;
  /** Those that were refused before: observers know of them. */
  readonly #dispatched = new WeakSet<TrackedRun>();

  constructor(context: DispatchContext) {
    this.#context = context;
  }

  /** `undefined` for a run that was settled elsewhere. */
  async load(tracked: TrackedRun): Promise<Wake | undefined> {
    const { store, clock, abandon } = this.#context;
    const { runId } = tracked.run;
    try {
      const { spec, state, deliveryId, coalesced } = await retrying(() => store.loadRun(runId), STORE_RETRY, abandon);
      const isOpen = state === "queued" || state === "running";
      if (spec.kind !== "wake" || !isOpen || tracked.withdrawn) return undefined;
      return { tracked, runId, deliveryId, spec, coalesced, attempt: { number: 1, startedAt: clock.now() } };
    } catch (error) {
      if (error instanceof StoreError && error.code === "NOT_FOUND") return undefined;
      throw error;
    }
  }

  /** Gives those that the session would not take for now, in their order. Rejects with a `StoreError`. */
  async deliver(wakes: readonly Wake[]): Promise<readonly TrackedRun[]> {
    const { abandon, outages } = this.#context;
    const end = (): void => {
      for (const { tracked } of wakes) tracked.stop?.abort();
    };
    for (const { tracked } of wakes) tracked.stop = new AbortController();
    abandon.addEventListener("abort", end, { once: true });
    if (abandon.aborted) end();
    try {
      const outcomes = await Promise.all(wakes.map((wake) => this.#enqueue(wake)));
      const done = wakes.filter((_, at) => outcomes[at] === "done");
      this.#requestHeartbeats(done.map(({ spec }) => spec));
      await this.#settle(done, null);
      for (const agentId of new Set(done.map(({ spec }) => spec.agentId))) {
        void outages.works(`wakes:${agentId}`);
      }
      for (const [at, outcome] of outcomes.entries()) {
        if (typeof outcome === "object") await this.#fail(wakes[at]!, outcome.failed);
      }
      const refused = wakes.filter(({ tracked }, at) => outcomes[at] === "refused" && !tracked.withdrawn);
      return refused.map(({ tracked }) => tracked);
    } finally {
      abandon.removeEventListener("abort", end);
      for (const { tracked } of wakes) tracked.stop = undefined;
    }
  }

  async #enqueue({ tracked, runId, spec, coalesced }: Wake): Promise<Outcome> {
    const { host, events } = this.#context;
    const { signal } = tracked.stop!;
    if (!this.#dispatched.has(tracked)) await events.dispatched({ runId, kind: "wake", attempt: 1 });
    if (tracked.withdrawn || signal.aborted) return "left";
    const event = { sessionKey: spec.sessionKey, text: wakeText(spec, coalesced), idempotencyKey: runId };
    try {
      await withTimeout(host.sessions.enqueueSystemEvent(event), signal);
      return "done";
    } catch (error) {
      if (!isRetryable(error)) return { failed: reasonOf(error) };
      if (signal.aborted) return "left";
      this.#dispatched.add(tracked);
      return "refused";
    }
  }

  #requestHeartbeats(specs: readonly WakeSpec[]): void {
    const sessions = new Map<string, string>();
    for (const spec of specs) if (spec.mode === "now") sessions.set(spec.sessionKey, spec.agentId);
    for (const [sessionKey, agentId] of sessions) {
      this.#context.host.sessions.requestHeartbeat({ agentId, sessionKey, reason: "hook:wake" });
    }
  }

  async #fail(wake: Wake, reason: string): Promise<void> {
    await this.#settle([wake], reason);
    if (wake.tracked.withdrawn) return;
    const { agentId } = wake.spec;
    const text = `Wakes of the agent ${agentId} fail: its main session refuses them. They are kept: reveille deliveries list --state failed`;
    // A notice may take its time: no wake waits for it.
    void this.#context.outages.failed(`wakes:${agentId}`, text, reason);
  }

  async #settle(wakes: readonly Wake[], failed: string | null): Promise<void> {
    if (wakes.length === 0) return;
    const state = failed === null ? "done" : "failed";
    const runIds = wakes.map(({ runId }) => runId);
    await settleKnown(this.#context, runIds, { state, reason: failed });
    for (const { runId, deliveryId, tracked, attempt } of wakes) {
      if (tracked.withdrawn) continue;
      const facts = { mappingId: tracked.run.mappingId, deliveryId, attempt };
      await reportSettled(this.#context, { runId, kind: "wake", state, reason: failed }, facts);
    }
  }
}

/**
 * Ends many runs, in one commit as long as the store knows them all. When one was removed in between, each
 * has a commit of its own, so that the others are settled; the one that is gone is no error.
 */
export async function settleKnown(
  context: Pick<DispatchContext, "store" | "abandon">,
  runIds: readonly string[],
  settled: { readonly state: SettledState; readonly reason: string | null },
): Promise<void> {
  const { store, abandon } = context;
  const settle = (some: readonly string[]): Promise<void> =>
    retrying(() => store.settleAll(some, settled), STORE_RETRY, abandon);
  try {
    await settle(runIds);
  } catch (error) {
    if (!isGone(error)) throw error;
    if (runIds.length > 1) await Promise.all(runIds.map((runId) => settleKnown(context, [runId], settled)));
  }
}

function isGone(error: unknown): boolean {
  return error instanceof StoreError && error.code === "NOT_FOUND";
}
