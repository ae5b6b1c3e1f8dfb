import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "../../../core/host.ts";
import type { DeliveryReader } from "../../../index.ts";

export interface SettledIdsOptions {
  readonly reader: () => Pick<DeliveryReader, "list">;
  readonly logger: Logger;
  /** There may be more to tell. */
  readonly onChange: () => void;
  /** For tests. */
  readonly settleMs?: number | undefined;
}

const LOOK_MS = 1_000;
/** Twice the time after which the server ends a transaction of a gateway that is silent. */
const SETTLE_MS = 10_000;

/**
 * Several gateways give out ids before they commit them: one may appear after a later one was read. Below an id that
 * was seen so long ago, no other appears.
 */
export class SettledIds {
  readonly #options: SettledIdsOptions;
  readonly #stopped = new AbortController();
  /** Latest ids when they were seen first, on the clock of the process; the oldest first. */
  #seen: { readonly id: string; readonly at: number }[] = [];
  /** The last id that `onChange` was called for. */
  #reported: string | undefined;
  #looking: Promise<void> | undefined;

  constructor(options: SettledIdsOptions) {
    this.#options = options;
  }

  /** The last id that counts; `undefined` where all do, because one gateway alone gives them out. */
  get upTo(): string | undefined {
    if (this.#looking === undefined) return undefined;
    const [oldest] = this.#seen;
    return oldest !== undefined && this.#isSettled(oldest) ? oldest.id : "";
  }

  /** Begins to look, for a store that several gateways use. */
  start(): void {
    this.#looking ??= this.#keep();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#looking;
  }

  /** Never rejects. */
  async #keep(): Promise<void> {
    const { logger, onChange } = this.#options;
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      try {
        if (await this.#look()) onChange();
      } catch (error) {
        logger.warn({ err: error }, "the latest delivery could not be read for events of the MCP server");
      }
      await sleep(LOOK_MS, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  /** True when further ids count now. */
  async #look(): Promise<boolean> {
    const { deliveries } = await this.#options.reader().list({ limit: 1 });
    const [latest] = deliveries;
    if (latest !== undefined && latest.id !== this.#seen.at(-1)?.id) {
      this.#seen.push({ id: latest.id, at: performance.now() });
    }
    while (this.#seen[1] !== undefined && this.#isSettled(this.#seen[1])) this.#seen.shift();
    const { upTo } = this;
    const isNew = upTo !== this.#reported;
    this.#reported = upTo;
    return isNew;
  }

  #isSettled({ at }: { readonly at: number }): boolean {
    return performance.now() - at >= (this.#options.settleMs ?? SETTLE_MS);
  }
}
