import { textRights } from "../../core/agent-rights.ts";
import { type AgentSpec, HELD_REPLY, type RunStep, type SettledState } from "../../core/run.ts";
import { StoreError } from "../../storage/delivery-store.ts";
import type { StepDone, StoredRun } from "../../storage/delivery-store.ts";
import { reportSettled } from "../run-log.ts";
import { ownTurns, type Turns } from "../turns/turns.ts";
import { AgentAttempts } from "./agent-attempts.ts";
import type { FinalResult } from "./agent-attempts.ts";
import { withTimeout } from "./with-timeout.ts";
import type { CarriedOut, DispatchContext, Runner, RetryLater, ActiveRun, TakenRun } from "../context.ts";
import { persist, HOST_RETRY, isRetryable, retrying, STORE_RETRY } from "./retry.ts";
import { activeRun } from "./active-run.ts";
import { namedOf } from "../notify/outage-registry.ts";
import { failureText, reportHealth } from "../notify/report-health.ts";
import { summaryText } from "./summary.ts";
import { ReplySender } from "./send-reply.ts";
import type { Delivered } from "./send-reply.ts";
import { RunCallback } from "./callback.ts";
import { callerError } from "./caller-error.ts";
import { RetryCounters } from "./retry-counters.ts";
import { isRetryLater } from "../context.ts";

/** The end of a run. */
interface Settlement {
  readonly state: SettledState;
  readonly reason: string | null;
}

/** The end of a run, and the steps that are recorded with it. */
interface Ending extends Settlement {
  readonly heartbeatAt: number | undefined;
  readonly summarized: StepDone | undefined;
  readonly delivered: StepDone | undefined;
}

const ENDED: CarriedOut = { kind: "ended" };

/**
 * Carries out one agent run: run, summarize, deliver, heartbeat, call back, settle.
 *
 * Every step is recorded before the next begins, so that a crash repeats only the step in progress. A step
 * that may succeed later is postponed; the run then continues where it stopped. A run that replied never
 * runs again, even if its reply cannot be sent.
 */
export class AgentRunner implements Runner {
  readonly #context: DispatchContext;
  readonly #notes = new RetryCounters();
  readonly #attempts: AgentAttempts;
  readonly #replies: ReplySender;
  readonly #callbacks: RunCallback;

  constructor(context: DispatchContext, turns: Turns = ownTurns(context)) {
    this.#context = context;
    this.#attempts = new AgentAttempts(context, this.#notes, turns);
    this.#replies = new ReplySender(context, this.#notes, turns);
    this.#callbacks = new RunCallback(context, this.#notes);
  }

  /** Rejects when the store fails permanently; the run then stays on disk. */
  async carryOut(queued: TakenRun, stop: AbortSignal): Promise<CarriedOut> {
    const { abandon } = this.#context;
    const ending = new AbortController();
    const end = (): void => ending.abort();
    for (const signal of [abandon, stop]) {
      signal.addEventListener("abort", end, { once: true });
      if (signal.aborted) end();
    }
    try {
      const left = await this.#carryOut(queued, ending.signal).catch((error: unknown) => {
        // Canceled while something was asked that may be asked again.
        if (stop.aborted && isRetryable(error)) return ENDED;
        throw error;
      });
      if (stop.aborted) await this.#reportCanceled(queued);
      if (left.kind === "ended") this.#notes.forget(queued.runId);
      return left;
    } catch (error) {
      // Settled or removed elsewhere in between: nothing is left to do.
      if (error instanceof StoreError && error.code === "NOT_FOUND") return ENDED;
      throw error;
    } finally {
      abandon.removeEventListener("abort", end);
      stop.removeEventListener("abort", end);
    }
  }

  /** Reports the cancelation of an active run to its caller once: a settled run is not tried again. */
  async #reportCanceled({ runId, mappingId }: TakenRun): Promise<void> {
    const { store, abandon, logger, clock } = this.#context;
    const stored = await store.loadRun(runId);
    const { spec, state, steps, replyOutcome: delivery } = stored;
    if (spec.kind !== "agent" || spec.callbackUrl === undefined) return;
    if (state !== "canceled" || steps.includes("called-back")) return;
    const run = activeRun(this.#context, stored, { spec, mappingId, ending: abandon });
    const { reason } = await this.#callbacks.call(run, spec.callbackUrl, {
      state,
      reply: null,
      failure: undefined,
      delivery,
    });
    if (reason === undefined) await store.recordStep(runId, "called-back", { at: clock.now() });
    else logger.warn({ runId, reason }, "the callback of a canceled run failed");
  }

  async #carryOut({ runId, mappingId }: TakenRun, ending: AbortSignal): Promise<CarriedOut> {
    const { store } = this.#context;
    const stored = await retrying(() => store.loadRun(runId), STORE_RETRY, ending);
    const { spec } = stored;
    if (spec.kind !== "agent" || isEnded(stored)) return ENDED;
    const run = activeRun(this.#context, stored, { spec, mappingId, ending });
    const result = await this.#attempts.resultOf(run);
    if ("kind" in result) return result;
    if (ending.aborted) return ENDED;
    let summarized = spec.mode === "deliver" ? undefined : await this.#summarize(run, result);
    const problem = heldFor(run, result);
    // Of a failed run, the next process asks the agent again without it.
    if (summarized && (takesTime(spec) || ending.aborted || problem !== undefined || result.status !== "ok")) {
      await this.#record(runId, "summarized", summarized);
      summarized = undefined;
    }
    if (problem !== undefined) return this.#hold(run, problem);
    const delivery = await this.#deliver(run, result);
    let delivered = this.#deliveredStep(run, delivery);
    // Otherwise one commit has this step and the end of the run.
    if (delivered && (spec.callbackUrl !== undefined || ending.aborted)) {
      await this.#record(runId, "delivered", delivered);
      delivered = undefined;
    }
    if (ending.aborted) return ENDED;
    const heartbeatAt = this.#requestHeartbeat(run);
    if (isRetryLater(delivery)) return this.#postpone(run, delivery, heartbeatAt);
    const settlement = settlementOf(run, result, delivery);
    const callback =
      spec.callbackUrl === undefined
        ? {}
        : await this.#callBack(run, spec.callbackUrl, { result, delivery, settlement });
    if (ending.aborted) return ENDED;
    if (isRetryLater(callback)) return this.#postpone(run, callback, heartbeatAt);
    const { state } = settlement;
    const reason = [settlement.reason, callback.reason ?? null].filter((part) => part !== null).join("; ") || null;
    await this.#settle(run, { state, reason, heartbeatAt, summarized, delivered }, result);
    // A notice may take its time, and the lane must not wait for it.
    void reportHealth(this.#context.outages, run, { result, state, outcome: delivery.outcome });
    return ENDED;
  }

  /** Posts the summary; gives what is to be recorded of it, unless it was before. */
  async #summarize(
    { stored, spec, ending, checkOutgoing }: ActiveRun,
    result: FinalResult,
  ): Promise<StepDone | undefined> {
    if (stored.steps.includes("summarized")) return undefined;
    const { host, logger } = this.#context;
    const event = {
      sessionKey: host.sessions.mainSessionKey(spec.agentId),
      text: summaryText(spec, result, checkOutgoing),
      idempotencyKey: `${stored.runId}:summary`,
      rights: textRights(spec),
    };
    try {
      // A main session that takes nothing for now is asked until it does.
      await retrying(() => withTimeout(host.sessions.enqueueSystemEvent(event), ending), HOST_RETRY, ending);
    } catch (error) {
      // One that will never take it must cost neither the reply nor the lane.
      if (isRetryable(error)) throw error;
      logger.error({ err: error, runId: stored.runId }, "the summary of a run could not be posted");
    }
    return { at: this.#context.clock.now() };
  }

  /** A reply that may not leave waits for a person; nothing of the run comes after it. */
  async #hold(run: ActiveRun, problem: string): Promise<CarriedOut> {
    const { outages, measurements, store } = this.#context;
    const { runId, deliveryId } = run.stored;
    const { delivery } = run.spec;
    await persist(this.#context, () => store.hold(runId, `${HELD_REPLY}${problem}`));
    measurements.replies.add(delivery && "channel" in delivery ? delivery.channel : "none", "held");
    // A notice may take its time, and the lane must not wait for it.
    void outages.failed(
      `replies:${run.mappingId ?? "agent"}`,
      `A reply of ${namedOf(run.mappingId)} is held: ${problem}. Look at it and let it go: reveille deliveries show ${deliveryId}, then reveille deliveries release ${deliveryId}, or cancel ${deliveryId}. In a chat that the gateway reads: /release ${deliveryId}, or /reject ${deliveryId}.`,
      { of: namedOf(run.mappingId) },
    );
    return ENDED;
  }

  async #deliver(run: ActiveRun, result: FinalResult): Promise<Delivered | RetryLater> {
    return result.status === "ok" ? this.#replies.deliver(run, result.reply) : { outcome: "none" };
  }

  /** What is to be recorded of a reply; `undefined`: nothing, or it was recorded before. */
  #deliveredStep({ stored, mappingId, ending }: ActiveRun, delivery: Delivered | RetryLater): StepDone | undefined {
    if (isRetryLater(delivery) || stored.steps.includes("delivered")) return undefined;
    const { outcome } = delivery;
    if (ending.aborted && outcome !== "sent" && outcome !== "fallback") return undefined;
    if (!stored.steps.includes("released")) void this.#context.outages.works(`replies:${mappingId ?? "agent"}`);
    return { outcome, at: this.#context.clock.now() };
  }

  /** The time of the request, which has to be remembered; `undefined` when none is due. */
  #requestHeartbeat({ stored, spec }: ActiveRun): number | undefined {
    if (spec.wakeMode !== "now" || spec.mode === "deliver" || stored.steps.includes("heartbeat")) return undefined;
    const { agentId } = spec;
    const { sessions } = this.#context.host;
    sessions.requestHeartbeat({
      agentId,
      sessionKey: sessions.mainSessionKey(agentId),
      reason: `hook:${stored.runId}`,
    });
    return this.#context.clock.now();
  }

  async #callBack(
    run: ActiveRun,
    url: string,
    { result, delivery, settlement }: { result: FinalResult; delivery: Delivered; settlement: Settlement },
  ): Promise<{ readonly reason?: string } | RetryLater> {
    const { stored } = run;
    if (stored.steps.includes("called-back")) return {};
    const { state, reason } = settlement;
    const outcome = await this.#callbacks.call(run, url, {
      state,
      reply: result.status === "ok" ? result.reply || null : null,
      failure: callerError({ state, reason }, result.status),
      delivery: delivery.outcome,
    });
    if (isRetryLater(outcome)) this.#notes.of(stored.runId).delivery = delivery.reason;
    else if (outcome.reason === undefined) {
      await this.#record(stored.runId, "called-back");
    }
    return outcome;
  }

  /** Postpones the steps after the reply; the run holds neither its slot nor its lane meanwhile. */
  async #postpone({ stored }: ActiveRun, until: RetryLater, heartbeatAt: number | undefined): Promise<CarriedOut> {
    const { store } = this.#context;
    const { dueAt, reason } = until;
    await persist(this.#context, async () => {
      await Promise.all([
        this.#rememberHeartbeat(stored.runId, heartbeatAt),
        store.postpone(stored.runId, { dueAt, reason }),
      ]);
    });
    return { kind: "postponed", dueAt, holdsLane: false, replied: true };
  }

  async #settle(
    { stored, mappingId }: ActiveRun,
    { heartbeatAt, summarized, delivered, ...settlement }: Ending,
    result: FinalResult,
  ): Promise<void> {
    const { store, clock } = this.#context;
    const { runId, deliveryId } = stored;
    const at = clock.now();
    // They go into one commit.
    await persist(this.#context, async () => {
      await Promise.all([
        summarized && store.recordStep(runId, "summarized", summarized),
        delivered && store.recordStep(runId, "delivered", delivered),
        this.#rememberHeartbeat(runId, heartbeatAt),
        store.settle(runId, { ...settlement, at }),
      ]);
    });
    const reply = result.status === "ok" ? result.reply : undefined;
    const event = { runId, kind: "agent", ...settlement, ...(reply === undefined ? {} : { reply }) } as const;
    await reportSettled(this.#context, event, { mappingId, deliveryId, attempt: result.attempt });
  }

  #record(runId: string, step: RunStep, done: StepDone = {}): Promise<void> {
    const at = this.#context.clock.now();
    return persist(this.#context, () => this.#context.store.recordStep(runId, step, { at, ...done }));
  }

  #rememberHeartbeat(runId: string, at: number | undefined): Promise<void> | undefined {
    return at === undefined ? undefined : this.#context.store.recordStep(runId, "heartbeat", { at });
  }
}

/** Why the reply waits for a person, unless one has let it go. */
function heldFor({ stored, checkOutgoing }: ActiveRun, { status, reply }: FinalResult): string | undefined {
  if (status !== "ok" || stored.steps.includes("released") || stored.steps.includes("delivered")) return undefined;
  return checkOutgoing(reply);
}

/** True when a reply or a callback comes between the end of the agent's turn and that of the run. */
function takesTime({ delivery, callbackUrl }: AgentSpec): boolean {
  return delivery !== undefined || callbackUrl !== undefined;
}

function isEnded({ state }: StoredRun): boolean {
  return state === "done" || state === "failed" || state === "canceled" || state === "skipped";
}

function settlementOf({ spec }: ActiveRun, result: FinalResult, { outcome, reason }: Delivered): Settlement {
  if (result.status !== "ok") {
    return { state: "failed", reason: `${failureText(result)}: ${result.error ?? "the run did not succeed"}` };
  }
  const failed = outcome === "failed" || (outcome === "no-target" && spec.mode === "deliver");
  return { state: failed ? "failed" : "done", reason: reason ?? null };
}
