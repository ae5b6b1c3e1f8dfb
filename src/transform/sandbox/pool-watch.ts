export interface PoolWatchOptions {
  /** Between two looks while something is in progress. */
  readonly tickMs: number;
  /** Examines all processes, and returns whether something is in progress; `isThorough` also those that rest. */
  readonly look: (round: { readonly isThorough: boolean }) => boolean;
}

const IDLE_MS = 2_000;
const THOROUGH_MS = 1_000;

/**
 * The timer of a pool, and its clock: often while something is in progress, else every two seconds for what a
 * process does unasked.
 *
 * A gateway that has stood still reads its mail before it looks, and the clock counts no more than three
 * looks for it, so that no process is blamed for an answer that lay there in time.
 */
export class PoolWatch {
  readonly #options: PoolWatchOptions;
  #timer: NodeJS.Timeout | undefined;
  #isFast = false;
  #time = 0;
  #readAt = performance.now();
  #lookedAt = 0;

  constructor(options: PoolWatchOptions) {
    this.#options = options;
    this.#schedule(false);
  }

  /** Milliseconds that count; they pass only while something is in progress. */
  readonly now = (): number => {
    if (!this.#isFast) return this.#time;
    return this.#time + Math.min(performance.now() - this.#readAt, 3 * this.#options.tickMs);
  };

  /** Something is in progress from now on. */
  wake(): void {
    if (this.#isFast || this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#readAt = performance.now();
    this.#schedule(true);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #schedule(isFast: boolean): void {
    this.#isFast = isFast;
    // Replies that have arrived are read between the timer and the examination.
    const look = (): void => void setImmediate(() => this.#look());
    this.#timer = setTimeout(look, isFast ? this.#options.tickMs : IDLE_MS).unref();
  }

  #look(): void {
    if (this.#timer === undefined) return;
    this.#time = this.now();
    this.#readAt = performance.now();
    const isThorough = !this.#isFast || this.#time - this.#lookedAt >= THOROUGH_MS;
    if (isThorough) this.#lookedAt = this.#time;
    const isBusy = this.#options.look({ isThorough });
    // A look may have ended the pool.
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#schedule(isBusy);
  }
}
