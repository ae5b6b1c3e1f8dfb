import { createHmac, type KeyObject } from "node:crypto";
import packageJson from "../../package.json" with { type: "json" };
import type { Logger } from "../core/host.ts";
import type { SharedFacts, OtherGateway, SharedStore } from "../storage/shared-store.ts";

const ANNOUNCE_MS = 5_000;

export interface GatewayRecordOptions {
  readonly store: Pick<SharedStore, "announce">;
  /** The active `hooks` block, as it is written; `undefined` before the first. */
  readonly written: () => unknown;
  /** The key of all gateways on the store: without it, no one can try words against what is recorded of the block. */
  readonly key: KeyObject;
  readonly logger: Logger;
}

/** Another gateway on the store that is not as this one. */
export interface DifferingGateway {
  readonly host: string;
  readonly pid: number;
  /** Its version, where that is another. */
  readonly version: string | undefined;
  /** True: its `hooks` block is another one. */
  readonly hasOtherConfig: boolean;
}

/**
 * Records the version of this gateway and a digest of its `hooks` block in the store, and looks for gateways with others:
 * a call would mean something else there. Each difference is logged once.
 */
export class GatewayRecord {
  readonly #options: GatewayRecordOptions;
  readonly #timer: NodeJS.Timeout;
  #differing: readonly DifferingGateway[] = [];
  #logged: ReadonlySet<string> = new Set();
  #block: unknown;
  #digest = "";

  constructor(options: GatewayRecordOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.compare(), ANNOUNCE_MS).unref();
  }

  /** Those that were found last. */
  get differing(): readonly DifferingGateway[] {
    return this.#differing;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** What is to be the same at all; `undefined` before there is a configuration. */
  get own(): SharedFacts | undefined {
    const block = this.#options.written();
    return block === undefined ? undefined : { version: packageJson.version, config: this.#digestOf(block) };
  }

  /** Never rejects. */
  async compare(): Promise<void> {
    const { store, logger } = this.#options;
    const { own } = this;
    if (own === undefined) return;
    try {
      const others = await store.announce(own);
      this.#differing = others.flatMap((other) => differenceOf(own, other));
    } catch (error) {
      logger.debug({ err: error }, "other gateways could not be compared; they are in a few seconds");
      return;
    }
    const found = this.#differing.map((other) => ({ other, mark: JSON.stringify(other) }));
    for (const { other, mark } of found) {
      if (!this.#logged.has(mark)) logger.warn({ ...other }, "another gateway on the database is not as this one");
    }
    this.#logged = new Set(found.map(({ mark }) => mark));
  }

  #digestOf(block: unknown): string {
    if (block === this.#block) return this.#digest;
    this.#block = block;
    return (this.#digest = createHmac("sha256", this.#options.key).update(sortedJson(block)).digest("hex"));
  }
}

function differenceOf(own: { version: string; config: string }, other: OtherGateway): DifferingGateway[] {
  const { host, pid } = other;
  const version = other.version === own.version ? undefined : other.version;
  const hasOtherConfig = other.config !== own.config;
  return version === undefined && !hasOtherConfig ? [] : [{ host, pid, version, hasOtherConfig }];
}

/** The order of keys means nothing. */
function sortedJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
}
