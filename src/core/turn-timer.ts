/** The longest delay that a timer takes. */
const MAX_DELAY_MS = 2_147_483_647;
/** What a turn may wait for its owner in all: an agent could ask without end. */
const MAX_HELD_MS = 86_400_000;

/** Calls back once a turn has used up its time; waiting for the owner costs none of it, for a day at most. */
export class TurnTimer {
  readonly #onEnd: () => void;
  #leftMs: number;
  #heldLeftMs = MAX_HELD_MS;
  /** Questions that wait. */
  #holds = 0;
  #sinceMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(timeoutMs: number, onEnd: () => void) {
    this.#onEnd = onEnd;
    this.#leftMs = Math.max(0, timeoutMs);
    this.#run(this.#leftMs);
  }

  /** Each `true` is followed by one `false`. */
  hold(isHeld: boolean): void {
    const wasHeld = this.#holds > 0;
    this.#holds += isHeld ? 1 : -1;
    if (this.#timer === undefined || wasHeld === this.#holds > 0) return;
    const usedMs = performance.now() - this.#sinceMs;
    if (wasHeld) this.#heldLeftMs -= usedMs;
    else this.#leftMs -= usedMs;
    clearTimeout(this.#timer);
    this.#run(wasHeld ? this.#leftMs : this.#heldLeftMs);
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #run(ms: number): void {
    this.#sinceMs = performance.now();
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#onEnd();
      },
      Math.min(Math.max(0, ms), MAX_DELAY_MS),
    );
  }
}
