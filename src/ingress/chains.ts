/** Events that hold a mark of this gateway join the chain that caused them, which has an end. */
import type { KeyObject } from "node:crypto";
import type { ChainsConfig } from "../config/chains.ts";
import { CHAIN_HEADER, type Chain, type ChainMark, readMark } from "../core/chain.ts";
import type { PayloadContext, RawRequest } from "../core/delivery.ts";
import { lowerLevel } from "../core/level.ts";
import { refuse, type Refusal } from "../core/errors.ts";
import type { Logger } from "../core/host.ts";
import type { DeliveryStore } from "../storage/delivery-store.ts";
import type { CompiledMapping } from "../mapping/compile-mapping.ts";
import { readWritten } from "../presets/read-event.ts";

/** An event whose route is known. */
interface Routed {
  readonly route: "wake" | "agent" | CompiledMapping;
  readonly context: PayloadContext;
  readonly miss: string | undefined;
}

type Received = Pick<RawRequest, "headers" | "body">;

/** Chains whose deliveries are counted; the one that is the longest without a further one is forgotten first. */
const MAX_CHAINS = 10_000;
const MARK_START = Buffer.from(`${CHAIN_HEADER}.`);

/** After which the deliveries of a chain that other gateways can have accepted are counted again. */
const SHARED_MS = 1_000;
const PAGE = 200;

export interface ChainsOptions {
  readonly key: KeyObject;
  readonly store: Pick<DeliveryStore, "list" | "shared">;
  readonly logger: Logger;
}

interface Counted {
  readonly count: number;
  /** On the clock of the process. */
  readonly readAt: number;
}

/** Knows the chains of a gateway: what the store has of one is counted once, and what follows as it is accepted. */
export class Chains {
  readonly #options: ChainsOptions;
  readonly #deliveries = new Map<string, Counted>();

  constructor(options: ChainsOptions) {
    this.#options = options;
  }

  /**
   * The request with the chain that it is a part of. A mark only lowers: the actor has no higher level than those
   * before, and a chain that is too long ends with the reason. Nothing is awaited for an event without a mark.
   */
  join<Event extends Routed>(
    config: ChainsConfig,
    request: Received,
    resolved: Event,
  ): Event | Promise<Event | Refusal> {
    const mark = this.#read(request, resolved);
    return mark === undefined ? resolved : this.#join(config, mark, resolved);
  }

  async #join<Event extends Routed>(config: ChainsConfig, mark: ChainMark, resolved: Event): Promise<Event | Refusal> {
    try {
      await this.#learn(mark.id, config.maxDeliveries);
    } catch (error) {
      this.#options.logger.error({ err: error }, "the events of a chain could not be counted, and one was refused");
      return refuse("STORE_UNAVAILABLE");
    }
    const chain: Chain = { id: mark.id, depth: mark.depth + 1 };
    const { actor } = resolved.context;
    const lowered = actor && { ...actor, level: lowerLevel(actor.level ?? "unknown", mark.level) };
    const context = { ...resolved.context, chain, ...(lowered && { actor: lowered }) };
    return { ...resolved, context, miss: this.#end(config, chain) ?? resolved.miss };
  }

  /** Counts a delivery of a chain whose runs begin. */
  count({ id }: Chain): void {
    const known = this.#deliveries.get(id);
    if (known !== undefined) this.#keep(id, { ...known, count: known.count + 1 });
  }

  /** Counts what the store has, up to the bound. Rejects with a `StoreError`. */
  async #learn(id: string, bound: number): Promise<void> {
    const { store } = this.#options;
    const known = this.#deliveries.get(id);
    const isOld = store.shared !== undefined && known !== undefined && performance.now() - known.readAt > SHARED_MS;
    if ((known !== undefined && !isOld) || (known?.count ?? 0) >= bound) return;
    const readAt = performance.now();
    let count = 0;
    let cursor: string | null = null;
    do {
      const page = await store.list({ chain: id, limit: PAGE, ...(cursor !== null && { cursor }) });
      count += page.deliveries.filter(({ runIds, state }) => runIds.length > 0 && state !== "duplicate").length;
      cursor = page.nextCursor;
    } while (cursor !== null && count < bound);
    this.#keep(id, { count: Math.max(count, this.#deliveries.get(id)?.count ?? 0), readAt });
  }

  #keep(id: string, counted: Counted): void {
    this.#deliveries.delete(id);
    this.#deliveries.set(id, counted);
    const [oldest] = this.#deliveries.keys();
    if (oldest !== undefined && this.#deliveries.size > MAX_CHAINS) this.#deliveries.delete(oldest);
  }

  #end({ maxDepth, maxDeliveries }: ChainsConfig, { id, depth }: Chain): string | undefined {
    if (depth > maxDepth) {
      return `chain: a run that ${id} began caused it, at depth ${depth}; hooks.chains.maxDepth is ${maxDepth}`;
    }
    const count = this.#deliveries.get(id)?.count ?? 0;
    if (count < maxDeliveries) return undefined;
    return `chain: ${id} has caused ${count} events; hooks.chains.maxDeliveries is ${maxDeliveries}`;
  }

  /** Of an event whose own words the preset knows, these count, and not what it only quotes. */
  #read({ headers, body }: Received, resolved: Routed): ChainMark | undefined {
    const header = headers[CHAIN_HEADER] ?? "";
    const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    if (header === "" && !bytes.includes(MARK_START)) return undefined;
    const { route, context } = resolved;
    const written =
      typeof route === "string" || !route.preset
        ? undefined
        : readWritten(route.preset, context, route.config.settings);
    return readMark(this.#options.key, `${header}\n${written ?? bytes.toString("latin1")}`);
  }
}
