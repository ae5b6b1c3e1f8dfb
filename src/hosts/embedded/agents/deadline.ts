/** The time that a turn may take. */
import type { AgentRunResult } from "../../../core/host.ts";
import type { TurnOutcome } from "./agent-turns.ts";

/** The longest delay that a timer takes. */
const MAX_DELAY_MS = 2_147_483_647;

/** A signal that aborts after `timeoutMs` or with `signal`, and knows which of the two it was. */
class Deadline {
  readonly signal: AbortSignal;
  #expired = false;
  readonly #timer: NodeJS.Timeout;

  constructor(timeoutMs: number, signal: AbortSignal) {
    const expiry = new AbortController();
    this.signal = AbortSignal.any([signal, expiry.signal]);
    this.#timer = setTimeout(
      () => {
        // An abort that came first stays the reason.
        this.#expired = !signal.aborted;
        expiry.abort();
      },
      Math.min(Math.max(0, timeoutMs), MAX_DELAY_MS),
    );
  }

  /** True when time ran out before anyone aborted. */
  get expired(): boolean {
    return this.#expired;
  }

  /** Ends the wait; to be called when the run has ended. */
  clear(): void {
    clearTimeout(this.#timer);
  }
}

/** Runs a turn until its time is up or `signal` is aborted, and words how it ended. */
export async function withDeadline(
  timeoutMs: number,
  signal: AbortSignal,
  answer: (signal: AbortSignal) => Promise<TurnOutcome>,
): Promise<AgentRunResult> {
  const deadline = new Deadline(timeoutMs, signal);
  const outcome = await answer(deadline.signal).finally(() => deadline.clear());
  if ("reply" in outcome) {
    return { status: "ok", ...outcome };
  }
  const kept = outcome.activity === undefined ? {} : { activity: outcome.activity };
  if (deadline.expired) {
    return { ...kept, status: "timeout", reply: "", error: `The run was aborted after its ${timeoutMs} ms.` };
  }
  if (signal.aborted) {
    return { ...kept, status: "aborted", reply: "", error: "The run was aborted." };
  }
  return { status: "error", reply: "", ...outcome };
}
