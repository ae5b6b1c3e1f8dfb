/** Whether this gateway carries out the runs, or another one on the same store does. */
import type { Logger } from "../core/host.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import { reconcile } from "../dispatch/elsewhere.ts";
import type { OutageRegistry } from "../dispatch/notify/outage-registry.ts";
import { retrying, STORE_RETRY } from "../dispatch/run/retry.ts";
import type { TurnExchange } from "../dispatch/turns/turn-exchange.ts";
import type { DeliveryStore } from "../storage/delivery-store.ts";

const LOOK_MS = 1_000;

export interface LeadOptions {
  readonly store: DeliveryStore;
  readonly dispatcher: Dispatcher;
  readonly outages: OutageRegistry;
  /** Turns that are shared with other gateways. */
  readonly turns?: Pick<TurnExchange, "refresh"> | undefined;
  readonly logger: Logger;
  /** Aborted at the shutdown's deadline. */
  readonly abandon: AbortSignal;
}

/**
 * Takes up the open runs when this gateway has the lead. On a store of several gateways it looks every second for what
 * others have decided, and for how much waits.
 */
export class Lead {
  readonly #options: LeadOptions;
  readonly #taken = Promise.withResolvers<void>();
  #isHere = false;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #stopped = false;

  constructor(options: LeadOptions) {
    this.#options = options;
  }

  /** True once the open runs are taken up here. */
  get isHere(): boolean {
    return this.#isHere;
  }

  /** Resolves then. */
  get taken(): Promise<void> {
    return this.#taken.promise;
  }

  /** Rejects with a `StoreError` when what is stored cannot be read. */
  async open(): Promise<void> {
    const { dispatcher, store } = this.#options;
    const { shared } = store;
    if (shared?.leads === false) {
      await this.#look();
      void shared.leading.then(() => this.#takeOver());
    } else {
      await this.#take();
    }
    if (shared !== undefined) this.#timer = setInterval(() => void this.#lookAgain(), LOOK_MS).unref();
    dispatcher.elsewhere.isHere = this.#isHere;
  }

  /** Nothing is looked for any more, and no lead is taken. */
  stop(): void {
    this.#stopped = true;
    this.#options.store.shared?.decline();
    clearInterval(this.#timer);
  }

  /** Never rejects. */
  async #takeOver(): Promise<void> {
    const { logger, abandon, turns } = this.#options;
    if (this.#stopped) return;
    try {
      await turns?.refresh();
      await retrying(() => this.#take(), STORE_RETRY, abandon);
      logger.info({}, "this gateway carries out the runs now");
    } catch (error) {
      if (!abandon.aborted) logger.error({ err: error }, "the runs could not be taken up");
    }
  }

  async #take(): Promise<void> {
    const { dispatcher, outages, store } = this.#options;
    await outages.load();
    await dispatcher.recover();
    store.shared?.follow((changed) => {
      reconcile(dispatcher, changed);
    });
    this.#isHere = true;
    dispatcher.elsewhere.isHere = true;
    this.#taken.resolve();
  }

  async #lookAgain(): Promise<void> {
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined));
    // A store that cannot be read now is read again.
    await this.#looking.catch(() => {});
  }

  async #look(): Promise<void> {
    const { dispatcher, store } = this.#options;
    await dispatcher.refresh();
    if (this.#isHere) return;
    const { queued, running } = await store.backlog();
    dispatcher.elsewhere.count(queued + running);
  }
}
