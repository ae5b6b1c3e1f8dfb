import { setTimeout as setTimeoutPromise } from "node:timers/promises";
import type { Logger } from "../../core/host.ts";
import type { OpenClawAgents } from "./agents.ts";

/** Interval at which sessions of old runs are removed. */
const SWEEP_MS = 600_000;
/** The host may take up its list of background runs only after the service has started: they are ended once more. */
export const END_AGAIN_MS = 15_000;

export interface RunCleanupOptions {
  readonly agents: Pick<OpenClawAgents, "endLostRuns" | "removeOldSessions">;
  readonly logger: Logger;
  /** Fired when the gateway closes: nothing is begun after it. */
  readonly closing: AbortSignal;
  /** Milliseconds until runs of earlier processes are ended a second time. */
  readonly endAgainMs: number;
}

/** Clears away in the host what no longer continues: runs of earlier processes, and sessions of old runs. */
export class RunCleanup {
  readonly #options: RunCleanupOptions;
  readonly #ended: Promise<void>;

  /** Begins to end the runs of earlier processes. */
  constructor(options: RunCleanupOptions) {
    this.#options = options;
    this.#ended = this.#endLostRuns();
    void this.#endAgain();
  }

  /** Resolves once runs of earlier processes were ended, or after so many milliseconds: the rest follows then. */
  async lostRunsEnded(withinMs: number): Promise<void> {
    await Promise.race([this.#ended, this.#pause(withinMs)]);
  }

  /** Removes sessions of old runs now and regularly. */
  sweep(): void {
    const { closing } = this.#options;
    const timer = setInterval(() => void this.#sweep(), SWEEP_MS).unref();
    closing.addEventListener("abort", () => clearInterval(timer), { once: true });
    void this.#sweep();
  }

  async #endLostRuns(): Promise<void> {
    const { agents, closing, logger } = this.#options;
    try {
      await agents.endLostRuns(closing);
    } catch (error) {
      logger.warn({ err: error }, "runs of an earlier process could not be cleared away");
    }
  }

  async #endAgain(): Promise<void> {
    await this.#ended;
    await this.#pause(this.#options.endAgainMs);
    await this.#endLostRuns();
  }

  async #sweep(): Promise<void> {
    try {
      await this.#options.agents.removeOldSessions();
    } catch (error) {
      this.#options.logger.warn({ err: error }, "sessions of old runs could not be removed");
    }
  }

  async #pause(ms: number): Promise<void> {
    await setTimeoutPromise(ms, undefined, { signal: this.#options.closing, ref: false }).catch(() => {});
  }
}
