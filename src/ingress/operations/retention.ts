import type { RetentionConfig } from "../../config/retention.ts";
import type { Clock, Logger } from "../../core/host.ts";
import type { DeliveryStore } from "../../storage/delivery-store.ts";
import { ThrottledSteps } from "../../storage/throttled-steps.ts";
import type { StepDelays } from "../../storage/throttled-steps.ts";

/** With the pause after it, a step of so many comes to more than 10,000 a second. */
const DELIVERIES_AT_ONCE = 320;

export interface RetentionOptions {
  readonly store: Pick<DeliveryStore, "prune">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Of the active configuration; `undefined`: nothing is removed. */
  readonly limits: () => RetentionConfig | undefined;
  readonly pauses?: StepDelays | undefined;
}

/**
 * Removes settled deliveries, and their requests, after their time.
 *
 * One short step of the store at a time: every 20 ms while there is more to remove, then every minute.
 * A failure is logged once until a step succeeds.
 */
export class Retention {
  readonly #options: RetentionOptions;
  readonly #steps: ThrottledSteps;

  constructor(options: RetentionOptions) {
    this.#options = options;
    this.#steps = new ThrottledSteps({
      step: () => this.#prune(),
      onFailure: (error) => {
        options.logger.error({ err: error }, "old deliveries could not be removed; it is tried again every minute");
      },
      delays: options.pauses,
    });
  }

  start(): void {
    this.#steps.start();
  }

  /** To be awaited before the store is closed. */
  stop(): Promise<void> {
    return this.#steps.stop();
  }

  async #prune(): Promise<boolean> {
    const { store, clock, limits } = this.#options;
    const kept = limits();
    if (kept === undefined) return false;
    const now = clock.now();
    const { more } = await store.prune({
      now,
      removeBefore: now - kept.deliveriesMs,
      emptyBefore: now - kept.payloadsMs,
      maxBytes: kept.maxBytes ?? null,
      most: DELIVERIES_AT_ONCE,
    });
    return more;
  }
}
