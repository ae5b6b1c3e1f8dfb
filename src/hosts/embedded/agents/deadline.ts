/** The time that a turn may take. */
import type { AgentRunResult } from "../../../core/host.ts";
import type { TurnOutcome } from "./agent-turn.ts";
import { TurnTimer } from "../../../core/turn-timer.ts";

/** A signal that aborts after `timeoutMs` or with `signal`, and knows which of the two it was. */
class Deadline {
  readonly signal: AbortSignal;
  #expired = false;
  readonly #timer: TurnTimer;

  constructor(timeoutMs: number, signal: AbortSignal) {
    const expiry = new AbortController();
    this.signal = AbortSignal.any([signal, expiry.signal]);
    this.#timer = new TurnTimer(timeoutMs, () => {
      // An abort that came first stays the reason.
      this.#expired = !signal.aborted;
      expiry.abort();
    });
  }

  /** True when time ran out before anyone aborted. */
  get expired(): boolean {
    return this.#expired;
  }

  hold(isHeld: boolean): void {
    this.#timer.hold(isHeld);
  }

  /** Ends the wait; to be called when the run has ended. */
  clear(): void {
    this.#timer.clear();
  }
}

/** `isUnasked` and `isRefused`: see {@link TurnOutcome}. */
export type TurnResult = AgentRunResult & { readonly isUnasked?: true; readonly isRefused?: true };

/** Runs a turn until its time is up or `signal` is aborted, and words how it ended; on hold it takes no time. */
export async function withDeadline(
  timeoutMs: number,
  signal: AbortSignal,
  answer: (signal: AbortSignal, hold: (isHeld: boolean) => void) => Promise<TurnOutcome>,
): Promise<TurnResult> {
  const deadline = new Deadline(timeoutMs, signal);
  const outcome = await answer(deadline.signal, (isHeld) => deadline.hold(isHeld)).finally(() => deadline.clear());
  if ("reply" in outcome) {
    return { status: "ok", ...outcome };
  }
  const { activity, usage } = outcome;
  const kept = { ...(activity && { activity }), ...(usage && { usage }) };
  if (deadline.expired) {
    return { ...kept, status: "timeout", reply: "", error: `The run was aborted after its ${timeoutMs} ms.` };
  }
  if (signal.aborted) {
    return { ...kept, status: "aborted", reply: "", error: "The run was aborted." };
  }
  return { status: "error", reply: "", ...outcome };
}
