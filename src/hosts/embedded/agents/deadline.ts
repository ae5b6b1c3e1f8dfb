/** The end of a run: by its own time limit or by whoever asked for it. */

/** The longest delay that a timer takes. */
const MAX_DELAY_MS = 2_147_483_647;

/** A signal that aborts after `timeoutMs` or with `signal`, and knows which of the two it was. */
export class Deadline {
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

  /** True when time ran out before anybody aborted. */
  get expired(): boolean {
    return this.#expired;
  }

  /** Ends the wait; to be called when the run has ended. */
  clear(): void {
    clearTimeout(this.#timer);
  }
}
