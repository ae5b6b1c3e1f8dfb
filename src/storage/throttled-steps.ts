/** Time to wait before the next step. */
export interface StepDelays {
  /** While there is more to do. */
  readonly busyMs: number;
  /** Called when all was done, or a step failed. */
  readonly idleMs: number;
}

const DEFAULT_DELAYS: StepDelays = { busyMs: 20, idleMs: 60_000 };

/**
 * Carries out work in short steps, one at a time with a pause after each, until it is stopped.
 *
 * Its timers do not keep the process alive.
 */
export class ThrottledSteps {
  readonly #step: () => Promise<boolean>;
  readonly #onFailure: (error: unknown) => void;
  readonly #delays: StepDelays;
  #timer: NodeJS.Timeout | undefined;
  #current: Promise<void> | undefined;
  #isRunning = false;
  #isFailing = false;

  /**
   * `step` resolves with true while there is more to do. Of failures that follow one another the first
   * is given to `onFailure`.
   */
  constructor(options: {
    step: () => Promise<boolean>;
    onFailure: (error: unknown) => void;
    delays?: StepDelays | undefined;
  }) {
    this.#step = options.step;
    this.#onFailure = options.onFailure;
    this.#delays = options.delays ?? DEFAULT_DELAYS;
  }

  /** The first step comes after the short pause. Does nothing when it runs. */
  start(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#schedule(this.#delays.busyMs);
  }

  /** Begins no further step; resolves when the current one has ended. */
  async stop(): Promise<void> {
    this.#isRunning = false;
    clearTimeout(this.#timer);
    await this.#current;
  }

  #schedule(delayMs: number): void {
    if (!this.#isRunning) return;
    this.#timer = setTimeout(() => {
      this.#current = this.#runStep();
    }, delayMs);
    this.#timer.unref();
  }

  async #runStep(): Promise<void> {
    let hasMore = false;
    try {
      hasMore = await this.#step();
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing && this.#isRunning) this.#onFailure(error);
      this.#isFailing = true;
    }
    this.#schedule(hasMore ? this.#delays.busyMs : this.#delays.idleMs);
  }
}
