import type { AgentRunResult } from "../../core/host.ts";
import { TurnTimer } from "../../core/turn-timer.ts";
import { reasonOf } from "../../core/reason-of.ts";
import { isRetryable, retryAfterOf, retrying } from "./retry.ts";
import type { RetrySchedule } from "../context.ts";

/** Time that a host may take to return after its run was aborted. */
const ABORT_GRACE_MS = 10_000;

/** The host could not begin the run for now, and nothing came of it. */
export interface NotBegun {
  readonly notBegun: string;
  /** The time for which the host refuses it, if it knows. */
  readonly retryAfterMs?: number | undefined;
}

export interface TurnOptions {
  /** Aborts the turn. */
  readonly ending: AbortSignal;
  /** Time for which a host that cannot begin is asked again immediately. */
  readonly begin: RetrySchedule;
}

/** What a host is asked to carry out: a turn of an agent, or a model on its own. */
export interface Turn {
  readonly timeoutMs: number;
  readonly run: (control: TurnControl) => Promise<AgentRunResult>;
}

export interface TurnControl {
  readonly signal: AbortSignal;
  readonly onHold: (isHeld: boolean) => void;
}

/**
 * Carries out one turn; never rejects, and never waits much longer than the turn's own timeout.
 * A host that cannot begin it is asked again for a short while.
 */
export async function runTurn(turn: Turn, { ending, begin }: TurnOptions): Promise<AgentRunResult | NotBegun> {
  try {
    return await retrying(() => tryOnce(turn, ending), begin, ending);
  } catch (error) {
    if (isRetryable(error)) return { notBegun: reasonOf(error), retryAfterMs: retryAfterOf(error) };
    return { status: "error", reply: "", error: reasonOf(error) };
  }
}

async function tryOnce({ timeoutMs, run }: Turn, ending: AbortSignal): Promise<AgentRunResult> {
  const stop = new AbortController();
  const onEnding = (): void => stop.abort();
  ending.addEventListener("abort", onEnding, { once: true });
  if (ending.aborted) stop.abort();
  let timedOut = false;
  const timer = new TurnTimer(timeoutMs, () => {
    timedOut = true;
    stop.abort();
  });
  const onHold = (isHeld: boolean): void => timer.hold(isHeld);
  try {
    const result = await Promise.race([run({ onHold, signal: stop.signal }), overdue(stop.signal)]);
    if (result.status === "ok" || !timedOut) return result;
    return { status: "timeout", reply: result.reply, error: `The run took longer than ${timeoutMs / 1_000} s.` };
  } finally {
    timer.clear();
    ending.removeEventListener("abort", onEnding);
  }
}

/** Gives up on a host that does not return after its run was aborted. */
async function overdue(signal: AbortSignal): Promise<AgentRunResult> {
  if (!signal.aborted) {
    await new Promise((done) => signal.addEventListener("abort", done, { once: true }));
  }
  await new Promise((done) => setTimeout(done, ABORT_GRACE_MS).unref());
  return { status: "aborted", reply: "", error: "The agent did not stop when it was aborted." };
}
