import type { Lockout } from "../auth/lockout.ts";
import type { Logger } from "../core/host.ts";
import type { Failures, SharedStore } from "../storage/shared-store.ts";

const EXCHANGE_MS = 1_000;
/** Addresses of which failures are kept for the next time, while the store takes none. */
const MAX_KEPT = 1_000;

export interface SharedLockoutOptions {
  readonly store: Pick<SharedStore, "exchangeFailures">;
  /** The active one. */
  readonly lockout: () => Lockout;
  readonly logger: Logger;
}

/**
 * Tells other gateways on the store every second which addresses failed here, and counts what failed there: an address
 * that is locked out at one of them is locked out at all within seconds.
 */
export class SharedLockout {
  readonly #options: SharedLockoutOptions;
  readonly #timer: NodeJS.Timeout;
  #unreported: readonly Failures[] = [];
  #exchanging: Promise<void> | undefined;

  constructor(options: SharedLockoutOptions) {
    this.#options = options;
    // From now on they are kept for others.
    options.lockout().takeUnreported();
    this.#timer = setInterval(() => void this.exchange(), EXCHANGE_MS).unref();
  }

  /** Never rejects. */
  async exchange(): Promise<void> {
    this.#exchanging ??= this.#exchange().finally(() => (this.#exchanging = undefined));
    await this.#exchanging;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #exchange(): Promise<void> {
    const { store, lockout, logger } = this.#options;
    const counted = Array.from(lockout().takeUnreported(), ([address, times]) => ({ address, times }));
    const own = [...this.#unreported, ...counted].slice(-MAX_KEPT);
    try {
      const others = await store.exchangeFailures(own);
      this.#unreported = [];
      for (const { address, times } of others) lockout().failElsewhere(address, times);
    } catch (error) {
      this.#unreported = own;
      logger.debug(
        { err: error },
        "failed calls could not be reported to other gateways; the report is repeated in a second",
      );
    }
  }
}
