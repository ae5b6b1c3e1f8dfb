import type { Attempt } from "../../core/run.ts";
import type { AgentRunResult } from "../../core/host.ts";
import type { AttemptEnd } from "../../storage/delivery-store.ts";
import type { StartedAttempt } from "../run-log.ts";
import { sumUsage } from "../../core/token-usage.ts";
import type { NotBegun } from "./agent-turn.ts";
import { type LostTurn, statusOf, type TurnEnd, type Turns } from "../turns/turns.ts";
import type { AttemptOutcome, OpenAttempt } from "./attempt-turn.ts";
import type { CarriedOut, DispatchContext, PostponedRun, RetryLater, ActiveRun } from "../context.ts";
import { firstOf, namedOf } from "../notify/outage-registry.ts";
import { fullJitter } from "./full-jitter.ts";
import { persist } from "./retry.ts";
import { passedOnText } from "./agent-prompt.ts";
import type { RetryCounters } from "./retry-counters.ts";

/** The final result of a run: the agent is not asked again. */
export interface FinalResult extends AgentRunResult {
  /** Attempts that ended in an error, this one among them. */
  readonly failures: number;
  /** The attempt it came from. */
  readonly attempt: StartedAttempt;
}

/** Runs that wait for the same time begin within this much after it. */
const SPREAD_MS = 1_000;
/** A model that asks for more time is asked again by then. */
const MAX_ASKED_MS = 3_600_000;
const ENDED: CarriedOut = { kind: "ended" };
const INTERRUPTED: Pick<AttemptEnd, "status" | "error" | "reply"> = {
  status: "interrupted",
  error: "the gateway stopped while the agent was running",
  reply: null,
};
const CANCELED: Pick<AttemptEnd, "status" | "error" | "reply"> = {
  status: "aborted",
  error: "a person canceled it while the agent was running",
  reply: null,
};

/** What came of an attempt, with all that it used and did. */
type Counted = AgentRunResult | (NotBegun & Pick<AttemptEnd, "usage" | "activity">);

/**
 * The attempts at a run: a new one, the one that a crash cut short, or the next one after an error that
 * may pass. What an agent has answered is never asked again.
 */
export class AgentAttempts {
  readonly #context: DispatchContext;
  readonly #notes: RetryCounters;
  readonly #turns: Turns;

  constructor(context: DispatchContext, notes: RetryCounters, turns: Turns) {
    this.#context = context;
    this.#notes = notes;
    this.#turns = turns;
  }

  /** The run's result, stored or of a new attempt; otherwise how the run is left. */
  async resultOf(run: ActiveRun): Promise<FinalResult | CarriedOut> {
    const { stored, spec } = run;
    if (spec.mode === "deliver") return this.#passOn(run);
    const last = stored.attempts.at(-1);
    const number = last?.number ?? 0;
    const interrupted = stored.attempts.some(({ status }) => status === "running" || status === "interrupted");
    if (last?.status === "running") {
      const startedAt = Date.parse(last.startedAt);
      const outcome = await this.#turns.resume(run, number);
      if (outcome !== undefined) return this.#goOn(run, outcome, { number, startedAt });
      await this.#end(run, INTERRUPTED);
    }
    if (last?.status === "running" || last?.status === "interrupted") return this.#again(run, number);
    if (last === undefined) return this.#attempt(run, { number: 1, interrupted });
    if (isFinal(run, last)) return remembered(run, last);
    // The host never began an aborted one, so that its number is still free.
    return this.#attempt(run, { number: last.status === "aborted" ? number : number + 1, interrupted });
  }

  /** No agent is asked: the message itself is the reply. */
  async #passOn(run: ActiveRun): Promise<FinalResult> {
    const { store, clock, events } = this.#context;
    const { runId, attempts, coalesced } = run.stored;
    const last = attempts.at(-1);
    if (last?.status === "ok") return remembered(run, last);
    const reply = passedOnText(run.spec, coalesced);
    const now = clock.now();
    const number = last?.number ?? 1;
    // Tried again together, or the order of the two could turn round.
    await persist(this.#context, async () => {
      await Promise.all([
        store.beginAttempt(runId, { number, startedAt: now }),
        store.endAttempt(runId, { endedAt: now, status: "ok", error: null, reply }),
        this.#context.counted(),
      ]);
    });
    await events.dispatched({ runId, kind: "agent", attempt: number });
    return { status: "ok", reply, failures: 0, attempt: { number, startedAt: now } };
  }

  async #attempt(
    run: ActiveRun,
    { number, interrupted }: Omit<OpenAttempt, "startedAt">,
  ): Promise<FinalResult | CarriedOut> {
    const { clock, events, measurements } = this.#context;
    const { runId } = run.stored;
    const { agentId } = run.spec;
    const startedAt = clock.now();
    let startMs = performance.now();
    const outcome = await this.#turns.carryOut(run, { number, interrupted, startedAt }, async () => {
      await events.dispatched({ runId, kind: "agent", attempt: number });
      startMs = performance.now();
    });
    const seconds = (performance.now() - startMs) / 1_000;
    measurements.attemptSeconds.observe(seconds, agentId, statusOf(outcome));
    return this.#goOn(run, outcome, { number, startedAt });
  }

  /** The attempt after one that was interrupted, unless a person is to decide. */
  async #again(run: ActiveRun, number: number): Promise<FinalResult | CarriedOut> {
    if (run.spec.interrupted === "rerun") return this.#attempt(run, { number: number + 1, interrupted: true });
    return this.#holdInterrupted(run);
  }

  async #holdInterrupted(run: ActiveRun): Promise<CarriedOut> {
    const reason = "interrupted while the agent was running; replay or cancel it";
    await persist(this.#context, () => this.#context.store.hold(run.stored.runId, reason));
    return ENDED;
  }

  /** The turn of an attempt has ended. */
  async #goOn(run: ActiveRun, outcome: TurnEnd, attempt: StartedAttempt): Promise<FinalResult | CarriedOut> {
    if ("lost" in outcome) return this.#lose(run, outcome);
    const result = this.#count(run, outcome);
    const isOk = !("notBegun" in result) && result.status === "ok";
    if (run.ending.aborted && "notBegun" in result) return this.#endUnbegun(run, result);
    if (run.ending.aborted && !isOk) {
      const { usage, activity } = result;
      await this.#end(run, { ...(this.#context.abandon.aborted ? INTERRUPTED : CANCELED), usage, activity });
      return ENDED;
    }
    return "notBegun" in result ? this.#wait(run, result) : this.#conclude(run, result, attempt);
  }

  /** The next attempt is one like any other: it waits for a pause, and draws on the budgets. */
  async #lose(run: ActiveRun, { lost }: LostTurn): Promise<CarriedOut> {
    const { abandon, clock } = this.#context;
    const isCanceled = run.ending.aborted && !abandon.aborted;
    const reason = `interrupted while the agent was running: ${lost}`;
    const end = isCanceled ? CANCELED : { ...INTERRUPTED, error: reason };
    if (!run.ending.aborted && run.spec.interrupted === "rerun") {
      return this.#postpone(run, end, { dueAt: clock.now(), reason });
    }
    await this.#end(run, end);
    return run.ending.aborted ? ENDED : this.#holdInterrupted(run);
  }

  /** Ends the attempt: permanently, or until the next one. */
  async #conclude(run: ActiveRun, result: AgentRunResult, attempt: StartedAttempt): Promise<FinalResult | CarriedOut> {
    const { status, reply, usage, activity } = result;
    const error = result.error ?? null;
    const failures = failuresOf(run) + (status === "error" ? 1 : 0);
    const end = { status, error, reply: reply || null, usage, activity };
    const policy = this.#context.rulesFor(run.mappingId).retry.runs;
    if (status !== "error" || result.retryable !== true || failures >= policy.attempts) {
      await this.#end(run, end);
      return { ...result, failures, attempt };
    }
    const jitterMs = fullJitter(policy, failures);
    const askedMs = Math.min(result.retryAfterMs ?? 0, MAX_ASKED_MS);
    const delayMs = Math.max(jitterMs, askedMs + Math.min(jitterMs, SPREAD_MS));
    return this.#postpone(run, end, {
      dueAt: this.#context.clock.now() + Math.ceil(delayMs),
      reason: `attempt ${failures} of ${policy.attempts} failed, it is tried again: ${error ?? "no reason is known"}`,
    });
  }

  /** What an attempt has used counts, however it ended, and that of its extraction with it. */
  #count({ spec, mappingId }: ActiveRun, { before, ...outcome }: AttemptOutcome): Counted {
    const used = "notBegun" in outcome ? [before?.usage] : [before?.usage, outcome.usage];
    for (const usage of used) {
      if (usage === undefined) continue;
      this.#context.measurements.countUsage(spec.agentId, usage);
      this.#context.spend(mappingId, usage);
    }
    if (before === undefined) return outcome;
    const did = "notBegun" in outcome ? [] : (outcome.activity ?? []);
    return { ...outcome, usage: used.reduce(sumUsage), activity: [...(before.activity ?? []), ...did] };
  }

  /**
   * A host that cannot begin a run is no failure of the agent and uses up no attempt: the run waits, as
   * long as it takes, and gives its slot to others meanwhile.
   */
  async #wait(run: ActiveRun, refused: Extract<Counted, NotBegun>): Promise<CarriedOut> {
    const { agentId } = run.spec;
    const postponed = await this.#postponeUnbegun(run, refused);
    // The notice goes to the same host: the run must not wait for it.
    void this.#context.outages.failed(
      `runs:${agentId}`,
      `Runs of the agent ${agentId} cannot begin${firstOf(run.mappingId)}. They wait and are tried again.`,
      { detail: refused.notBegun, of: namedOf(run.mappingId) },
    );
    return postponed;
  }

  /** The run was aborted before the host began it: the agent never saw it. */
  async #endUnbegun(run: ActiveRun, refused: Extract<Counted, NotBegun>): Promise<CarriedOut> {
    if (this.#context.abandon.aborted) return this.#postponeUnbegun(run, refused);
    await this.#end(run, unbegun(refused));
    return ENDED;
  }

  async #postponeUnbegun(run: ActiveRun, refused: Extract<Counted, NotBegun>): Promise<CarriedOut> {
    const { clock, rulesFor } = this.#context;
    const { notBegun: why, retryAfterMs } = refused;
    const note = this.#notes.of(run.stored.runId);
    note.refusals++;
    const jitterMs = fullJitter(rulesFor(run.mappingId).retry.runs, note.refusals);
    // The next process asks a host that may take it at once.
    const pauseMs = this.#context.abandon.aborted ? 0 : jitterMs;
    const delayMs = retryAfterMs === undefined ? pauseMs : retryAfterMs + Math.min(jitterMs, SPREAD_MS);
    const postponed = await this.#postpone(run, unbegun(refused), {
      dueAt: clock.now() + Math.ceil(delayMs),
      reason: `the gateway could not begin it, it is tried again: ${why}`,
    });
    return { ...postponed, refused: true };
  }

  /**
   * Both go into one commit, and are tried again together: a run whose attempt has ended is never found
   * without what follows from it.
   */
  async #postpone(run: ActiveRun, end: Omit<AttemptEnd, "endedAt">, until: RetryLater): Promise<PostponedRun> {
    const { store, clock } = this.#context;
    const { runId } = run.stored;
    const endedAt = clock.now();
    await persist(this.#context, async () => {
      await Promise.all([store.endAttempt(runId, { endedAt, ...end }), store.postpone(runId, until)]);
    });
    return { kind: "postponed", dueAt: until.dueAt, holdsLane: true, replied: false };
  }

  #end(run: ActiveRun, end: Omit<AttemptEnd, "endedAt">): Promise<void> {
    const { store, clock } = this.#context;
    return persist(this.#context, () => store.endAttempt(run.stored.runId, { endedAt: clock.now(), ...end }));
  }
}

/** What the stage before it made is kept for the next one. */
function unbegun({ notBegun: why, usage, activity }: Extract<Counted, NotBegun>): Omit<AttemptEnd, "endedAt"> {
  return { status: "aborted", error: `it could not begin: ${why}`, reply: null, usage, activity };
}

/** True when the agent is not asked again; a queued run with an error waits for its next attempt. */
function isFinal({ stored }: ActiveRun, last: Attempt): boolean {
  return last.status === "ok" || stored.state !== "queued" || stored.steps.includes("summarized");
}

function failuresOf({ stored }: ActiveRun): number {
  return stored.attempts.filter(({ status }) => status === "error").length;
}

function remembered(run: ActiveRun, { number, startedAt, status, error }: Attempt): FinalResult {
  return {
    status: status as AgentRunResult["status"],
    reply: run.stored.reply ?? "",
    ...(error === null ? {} : { error }),
    failures: failuresOf(run),
    attempt: { number, startedAt: Date.parse(startedAt) },
  };
}
