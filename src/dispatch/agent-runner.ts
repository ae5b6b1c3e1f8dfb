import { setTimeout as sleep } from "node:timers/promises";
import type { AgentSpec, Attempt, DeliveryOutcome, SettledState } from "../delivery.ts";
import type { AgentRunResult } from "../host.ts";
import { suppression } from "../suppression.ts";
import type { OpenRun, StoredRun } from "../store/delivery-store.ts";
import type { DispatchContext } from "./dispatch-context.ts";
import { agentPrompt } from "./prompt.ts";
import { summaryLine } from "./reply.ts";
import { HOST_RETRY, isRetryable, retrying, SEND_RETRY, STORE_RETRY } from "./retrying.ts";

/** How long a host may take to come back after its run was told to stop. */
const ABORT_GRACE_MS = 10_000;

/**
 * Carries out one agent run: run, summarize, deliver, heartbeat, settle.
 *
 * Every step is remembered before the next begins, so that after a crash only the step that was
 * under way is repeated. Resolves when the run is settled, held, or left on disk by a shutdown.
 */
export class AgentRunner {
  readonly #context: DispatchContext;

  constructor(context: DispatchContext) {
    this.#context = context;
  }

  async carryOut(queued: OpenRun): Promise<void> {
    const stored = await this.#context.store.loadRun(queued.runId);
    if (stored.spec.kind !== "agent" || isEnded(stored)) return;
    const { spec } = stored;
    const result = await this.#resultOf(stored, spec);
    if (!result || this.#abandoned) return;
    const main = this.#context.host.sessions.mainSessionKey(spec.agentId);
    await this.#summarize(stored, spec, { main, result });
    const delivery = await this.#deliver(stored, spec, result);
    if (this.#abandoned) return;
    if (spec.wakeMode === "now") {
      this.#context.host.sessions.requestHeartbeat({
        agentId: spec.agentId,
        sessionKey: main,
        reason: `hook:${stored.runId}`,
      });
    }
    await this.#settle(stored, result, delivery);
  }

  get #abandoned(): boolean {
    return this.#context.abandon.aborted;
  }

  /** What the agent made of it: remembered, or from a new attempt; `undefined` when there is none. */
  async #resultOf(stored: StoredRun, spec: AgentSpec): Promise<AgentRunResult | undefined> {
    const last = stored.attempts.at(-1);
    const interrupted = last?.status === "running" || last?.status === "interrupted";
    if (last?.status === "running") await this.#endInterrupted(stored.runId);
    else if (last && last.status !== "interrupted") return remembered(last, stored.reply);
    if (interrupted && spec.interrupted === "hold") {
      const reason = "interrupted while the agent was running; replay or cancel it";
      await this.#persist(() => this.#context.store.hold(stored.runId, reason));
      return undefined;
    }
    return this.#attempt(stored, spec, { number: (last?.number ?? 0) + 1, interrupted });
  }

  async #attempt(
    stored: StoredRun,
    spec: AgentSpec,
    attempt: { number: number; interrupted: boolean },
  ): Promise<AgentRunResult | undefined> {
    const { store, clock, events } = this.#context;
    const { runId } = stored;
    const startedAt = clock.now();
    await this.#persist(() => store.beginAttempt(runId, { number: attempt.number, startedAt }));
    await events.dispatched({ runId, kind: "agent", attempt: attempt.number });
    const prompt = agentPrompt(spec, { now: new Date(startedAt), interrupted: attempt.interrupted });
    const result = await this.#run(`${runId}-a${attempt.number}`, spec, prompt);
    if (this.#abandoned && result.status !== "ok") {
      await this.#endInterrupted(runId);
      return undefined;
    }
    await this.#persist(() =>
      store.endAttempt(runId, {
        endedAt: clock.now(),
        status: result.status,
        error: result.error ?? null,
        reply: result.reply || null,
      }),
    );
    return result;
  }

  /** Runs the agent; never rejects, and never waits much longer than the run's own timeout. */
  async #run(attemptId: string, spec: AgentSpec, prompt: string): Promise<AgentRunResult> {
    const { abandon, host } = this.#context;
    const stop = new AbortController();
    const onAbandon = (): void => stop.abort();
    abandon.addEventListener("abort", onAbandon, { once: true });
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      stop.abort();
    }, spec.timeoutMs);
    const request = {
      runId: attemptId,
      agentId: spec.agentId,
      sessionKey: spec.sessionKey,
      prompt,
      model: spec.model,
      thinking: spec.thinking,
      timeoutMs: spec.timeoutMs,
      signal: stop.signal,
    };
    try {
      const run = retrying(() => host.agents.run(request), HOST_RETRY, stop.signal);
      const result = await Promise.race([run.catch(failed), overdue(stop.signal)]);
      if (result.status === "ok" || !timedOut) return result;
      const limit = `${spec.timeoutMs / 1_000} s`;
      const error =
        result.status === "error"
          ? `It could not begin within ${limit}: ${result.error}`
          : `The run took longer than ${limit}.`;
      return { ...result, status: "timeout", error };
    } finally {
      clearTimeout(timer);
      abandon.removeEventListener("abort", onAbandon);
    }
  }

  async #summarize(
    stored: StoredRun,
    spec: AgentSpec,
    { main, result }: { main: string; result: AgentRunResult },
  ): Promise<void> {
    if (stored.steps.includes("summarized")) return;
    const { host, store, logger, abandon } = this.#context;
    const event = {
      sessionKey: main,
      text: summaryLine(spec.name, result),
      idempotencyKey: `${stored.runId}:summary`,
    };
    try {
      // A main session that takes nothing for now is asked until it does.
      await retrying(() => host.sessions.enqueueSystemEvent(event), HOST_RETRY, abandon);
    } catch (error) {
      // One that will never take it must cost neither the reply nor the lane.
      if (isRetryable(error)) throw error;
      logger.error({ err: error, runId: stored.runId }, "the summary of a run could not be posted");
    }
    await this.#persist(() => store.recordStep(stored.runId, "summarized"));
  }

  async #deliver(stored: StoredRun, spec: AgentSpec, result: AgentRunResult): Promise<Delivered> {
    if (stored.steps.includes("delivered")) return { outcome: stored.delivery };
    const delivered = await this.#send(stored.runId, spec, result);
    if (this.#abandoned && delivered.outcome === "failed") return delivered;
    await this.#persist(() => this.#context.store.recordStep(stored.runId, "delivered", delivered.outcome));
    return delivered;
  }

  async #send(runId: string, spec: AgentSpec, result: AgentRunResult): Promise<Delivered> {
    const target = spec.delivery;
    if (!target || result.status !== "ok") return { outcome: "none" };
    const suppressed = suppression(result.reply);
    if (suppressed) return { outcome: "suppressed", reason: `not delivered: ${suppressed}` };
    if (!("channel" in target)) {
      return { outcome: "no-target", reason: `not delivered: ${target.unresolved}` };
    }
    const message = { ...target, text: result.reply, idempotencyKey: `${runId}:reply` };
    try {
      await retrying(() => this.#context.host.channels.send(message), SEND_RETRY, this.#context.abandon);
      return { outcome: "sent" };
    } catch (error) {
      return { outcome: "failed", reason: `delivery to ${target.channel} failed: ${wording(error)}` };
    }
  }

  async #settle(stored: StoredRun, result: AgentRunResult, delivery: Delivered): Promise<void> {
    const failed = result.status !== "ok" || delivery.outcome === "failed";
    const state: SettledState = failed ? "failed" : "done";
    const reason =
      result.status === "ok"
        ? (delivery.reason ?? null)
        : `${result.status}: ${result.error ?? "the run did not succeed"}`;
    await this.#persist(() => this.#context.store.settle(stored.runId, { state, reason }));
    await this.#context.events.settled({ runId: stored.runId, kind: "agent", state, reason });
  }

  #endInterrupted(runId: string): Promise<void> {
    return this.#persist(() =>
      this.#context.store.endAttempt(runId, {
        endedAt: this.#context.clock.now(),
        status: "interrupted",
        error: "the gateway stopped while the agent was running",
        reply: null,
      }),
    );
  }

  #persist(write: () => Promise<void>): Promise<void> {
    return retrying(write, STORE_RETRY, this.#context.abandon);
  }
}

interface Delivered {
  readonly outcome: DeliveryOutcome;
  readonly reason?: string;
}

function isEnded({ state }: StoredRun): boolean {
  return state === "done" || state === "failed" || state === "canceled";
}

function remembered(last: Attempt, reply: string | null): AgentRunResult {
  const status = last.status as AgentRunResult["status"];
  return { status, reply: reply ?? "", ...(last.error === null ? {} : { error: last.error }) };
}

function failed(error: unknown): AgentRunResult {
  return { status: "error", reply: "", error: wording(error) };
}

/** Gives up on a host that does not come back after its run was told to stop. */
async function overdue(signal: AbortSignal): Promise<AgentRunResult> {
  if (!signal.aborted) {
    await new Promise((done) => signal.addEventListener("abort", done, { once: true }));
  }
  await sleep(ABORT_GRACE_MS, undefined, { ref: false });
  return { status: "aborted", reply: "", error: "The agent did not stop when it was told to." };
}

function wording(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
