import type { Logger } from "../core/host.ts";
import type { SharedStore } from "../storage/shared-store.ts";
import { GatewayRecord, type GatewayRecordOptions } from "./gateway-record.ts";
import { SharedLockout, type SharedLockoutOptions } from "./shared-lockout.ts";

const REFRESH_MS = 1_000;

export interface AroundOptions
  extends Omit<GatewayRecordOptions, "store">, Omit<SharedLockoutOptions, "store" | "logger"> {
  readonly store: SharedStore;
  readonly logger: Logger;
  /** Takes up the keys that senders have delivered to others. */
  readonly refreshKeys: () => Promise<void>;
}

/** What a gateway does about others on the store, besides their runs. */
export class Around {
  readonly record: GatewayRecord;
  readonly #lockout: SharedLockout;
  readonly #timer: NodeJS.Timeout;

  constructor(options: AroundOptions) {
    this.record = new GatewayRecord(options);
    this.#lockout = new SharedLockout(options);
    // A store that cannot be read now is read again.
    this.#timer = setInterval(() => void options.refreshKeys().catch(() => {}), REFRESH_MS).unref();
  }

  stop(): void {
    this.record.stop();
    this.#lockout.stop();
    clearInterval(this.#timer);
  }
}
