/** Events that hold a mark of this gateway join the chain that caused them, which has an end. */
import type { ChainsConfig } from "../config/chains.ts";
import { CHAIN_HEADER, type Chain, type ChainMark, readMark } from "../core/chain.ts";
import type { PayloadContext, RawRequest } from "../core/delivery.ts";
import { lowerLevel } from "../core/level.ts";
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

/** Knows the chains of a gateway; the counts are in memory, and begin anew with the process. */
export class Chains {
  readonly #key: Uint8Array;
  readonly #deliveries = new Map<string, number>();

  constructor(key: Uint8Array) {
    this.#key = key;
  }

  /**
   * The request with the chain that it is a part of. A mark only lowers: the actor has no higher level than those
   * before, and a chain that is too long ends with the reason.
   */
  join<Event extends Routed>(config: ChainsConfig, request: Received, resolved: Event): Event {
    const mark = this.#read(request, resolved);
    if (mark === undefined) return resolved;
    const chain: Chain = { id: mark.id, depth: mark.depth + 1 };
    const { actor } = resolved.context;
    const lowered = actor && { ...actor, level: lowerLevel(actor.level ?? "unknown", mark.level) };
    const context = { ...resolved.context, chain, ...(lowered && { actor: lowered }) };
    return { ...resolved, context, miss: this.#end(config, chain) ?? resolved.miss };
  }

  /** Counts a delivery of a chain whose runs begin. */
  count({ id }: Chain): void {
    const before = this.#deliveries.get(id) ?? 0;
    this.#deliveries.delete(id);
    this.#deliveries.set(id, before + 1);
    const [oldest] = this.#deliveries.keys();
    if (oldest !== undefined && this.#deliveries.size > MAX_CHAINS) this.#deliveries.delete(oldest);
  }

  #end({ maxDepth, maxDeliveries }: ChainsConfig, { id, depth }: Chain): string | undefined {
    if (depth > maxDepth) {
      return `chain: a run that ${id} began caused it, at depth ${depth}; hooks.chains.maxDepth is ${maxDepth}`;
    }
    const count = this.#deliveries.get(id) ?? 0;
    if (count < maxDeliveries) return undefined;
    return `chain: ${id} has caused ${count} events; hooks.chains.maxDeliveries is ${maxDeliveries}`;
  }

  /** Of an event whose own words the preset knows, these count, and not what it only quotes. */
  #read({ headers, body }: Received, resolved: Routed): ChainMark | undefined {
    const header = headers[CHAIN_HEADER] ?? "";
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    if (header === "" && !bytes.includes(MARK_START)) return undefined;
    const { route, context } = resolved;
    const written =
      typeof route === "string" || !route.preset
        ? undefined
        : readWritten(route.preset, context, route.config.settings);
    return readMark(this.#key, `${header}\n${written ?? bytes.toString("latin1")}`);
  }
}
