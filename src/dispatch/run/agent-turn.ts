import type { AgentRunRequest, AgentRunResult, HostAgents } from "../../core/host.ts";
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

/**
 * Runs one turn of an agent; never rejects, and never waits much longer than the turn's own timeout.
 * A host that cannot begin it is asked again for a short while.
 */
export async function runTurn(
  agents: Pick<HostAgents, "run">,
  request: Omit<AgentRunRequest, "signal" | "onHold">,
  { ending, begin }: TurnOptions,
): Promise<AgentRunResult | NotBegun> {
  try {
    return await retrying(() => tryOnce(agents, request, ending), begin, ending);
  } catch (error) {
    if (isRetryable(error)) return { notBegun: reasonOf(error), retryAfterMs: retryAfterOf(error) };
    return { status: "error", reply: "", error: reasonOf(error) };
  }
}

async function tryOnce(
  agents: Pick<HostAgents, "run">,
  request: Omit<AgentRunRequest, "signal" | "onHold">,
  ending: AbortSignal,
): Promise<AgentRunResult> {
  const { timeoutMs } = request;
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
    const turn = agents.run({ ...request, onHold, signal: stop.signal });
    const result = await Promise.race([turn, overdue(stop.signal)]);
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
