/**
 * Calls that came in, as events of the gateway's own MCP server: listed, polled, and sent to whoever subscribes.
 *
 * Source: https://modelcontextprotocol.io/seps/3415-events-extension.
 */
import { type EventMethods, McpMethodError } from "../../../api/mcp-events.ts";
import type { McpScope } from "../../../api/mcp-tools.ts";
import type { Clock, GatewayHost, GatewayPlugin, Logger } from "../../../core/host.ts";
import { createGuardedFetch, type GuardedFetch } from "../../../http/guarded-fetch.ts";
import { type DeliveryReader, WebhookIngress } from "../../../index.ts";
import type { OfferedEventConfig } from "../config/mcp.ts";
import { type Callback, verifyCallback } from "./event-post.ts";
import {
  ArgumentsSchema,
  checked,
  checkUrl,
  invalid,
  isSecret,
  lifetimeOf,
  PAYLOAD_SCHEMA,
  PollSchema,
  SubscribeSchema,
  UnsubscribeSchema,
  WishSchema,
} from "./event-params.ts";
import { EventSender } from "./event-sender.ts";
import {
  eventCursorOf,
  deliveriesAfter,
  latest,
  type OfferedEvent,
  type Occurrence,
  occurrenceOf,
  type EventPosition,
  positionOf,
} from "./occurrence.ts";
import { SettledIds } from "./settled-ids.ts";
import { secretsOf, subscriberId, Subscribers } from "./subscribers.ts";

export interface OfferedEventsOptions {
  readonly stateDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly reader: () => DeliveryReader;
  /** True where other gateways give out ids of deliveries as well. */
  readonly isShared: () => boolean;
  /** The path of a mapping; `undefined`: there is none. */
  readonly pathOf: (mapping: string) => string | undefined;
  /** Resolves when this gateway carries out the runs: it alone sends events. */
  readonly leading: () => Promise<void>;
  /** For tests: receivers on this machine, and shorter waits. */
  readonly fetch?: GuardedFetch | undefined;
  readonly firstRetryMs?: number | undefined;
}

const NAME = "reveille offered events";
const FIRST_RETRY_MS = 5_000;
const POLL_MS = 5_000;
const MAX_POLLED = 100;
const DEFAULT_POLLED = 50;
/** Of one answer to a poll. */
const MAX_ANSWER_BYTES = 1_048_576;
const MAX_ANSWER = 16_384;

export class OfferedEvents implements EventMethods, GatewayPlugin {
  readonly #options: OfferedEventsOptions;
  readonly #subscribers: Subscribers;
  readonly #fetch: GuardedFetch;
  readonly #settled: SettledIds;
  readonly #senders = new Map<string, EventSender>();
  #offered: ReadonlyMap<string, OfferedEvent> = new Map();
  #isLeading = false;
  #isStopped = false;

  constructor(options: OfferedEventsOptions) {
    this.#options = options;
    this.#subscribers = new Subscribers(options.stateDir);
    this.#settled = new SettledIds({ ...options, onChange: () => this.#wakeAll() });
    this.#fetch = options.fetch ?? createGuardedFetch({ timeoutMs: 15_000, maxBytes: MAX_ANSWER });
  }

  apply(host: GatewayHost): void {
    WebhookIngress.hooks(host).accepted.tap(NAME, ({ route }) => {
      for (const { id, name } of this.#subscribers.all) {
        if (this.#offered.get(name)?.path === route) this.#senders.get(id)?.wake();
      }
    });
  }

  get isOffered(): boolean {
    return this.#offered.size > 0;
  }

  /** Begins to send once this gateway has the lead. */
  start(): void {
    if (this.#options.isShared()) this.#settled.start();
    void this.#options.leading().then(() => {
      this.#isLeading = true;
      for (const { id } of this.#subscribers.all) this.#run(id);
    });
  }

  /** Takes what the owner offers into use; a subscriber to what is no longer offered gets `terminated`. */
  configure(events: readonly OfferedEventConfig[]): void {
    const { pathOf, logger } = this.#options;
    const offered = events.flatMap(({ name, mapping, description }): OfferedEvent[] => {
      const path = pathOf(mapping);
      if (path !== undefined) return [{ name, mapping, path, description }];
      logger.warn({ event: name, mapping }, "an event is not offered: it names no mapping with a path of its own");
      return [];
    });
    this.#offered = new Map(offered.map((event) => [event.name, event]));
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const sender of this.#senders.values()) sender.wake();
  }

  /** Subscriptions stay, and so does what each has not got yet. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all([this.#settled.stop(), ...[...this.#senders.values()].map((sender) => sender.stop())]);
  }

  /** Rejects with an {@link McpMethodError}. */
  async call(method: string, params: Readonly<Record<string, unknown>>, scope: McpScope): Promise<object> {
    switch (method) {
      case "events/list":
        return this.#list();
      case "events/poll":
        return this.#poll(params);
      case "events/subscribe":
        return this.#subscribe(params, scope);
      case "events/unsubscribe":
        return this.#unsubscribe(params, scope);
      case "events/stream":
        throw new McpMethodError(-32_014, "Unsupported", { feature: "deliveryMode", value: "push" });
      default:
        throw new McpMethodError(-32_601, "Method not found");
    }
  }

  #list(): object {
    const events = [...this.#offered.values()].map(({ name, description }) => ({
      name,
      description,
      delivery: ["webhook", "poll"],
      inputSchema: ArgumentsSchema,
      payloadSchema: PAYLOAD_SCHEMA,
    }));
    return { events };
  }

  #wished(params: Readonly<Record<string, unknown>>): { readonly event: OfferedEvent; readonly only: string } {
    const { name, arguments: { event: only = "" } = {} } = checked(WishSchema, params);
    const event = this.#offered.get(name);
    if (event === undefined) throw new McpMethodError(-32_011, "NotFound", { kind: "event" });
    return { event, only };
  }

  /** Where to begin, and whether something was left out. */
  async #from(
    event: OfferedEvent,
    { cursor, maxAgeMs }: { readonly cursor?: string | null; readonly maxAgeMs?: number },
  ): Promise<{ readonly position: EventPosition; readonly truncated: boolean }> {
    const { clock, reader } = this.#options;
    const now = clock.now();
    const known = typeof cursor === "string" ? positionOf(cursor) : undefined;
    if (known === undefined)
      return { position: await latest(reader(), event, now), truncated: typeof cursor === "string" };
    if (maxAgeMs === undefined || known.at >= now - maxAgeMs) return { position: known, truncated: false };
    const { deliveries } = await deliveriesAfter(reader(), event, known);
    const old = deliveries.filter(({ receivedAt }) => Date.parse(receivedAt) < now - maxAgeMs);
    const last = old.at(-1);
    return last === undefined
      ? { position: known, truncated: false }
      : { position: { id: last.id, at: Date.parse(last.receivedAt) }, truncated: true };
  }

  async #poll(params: Readonly<Record<string, unknown>>): Promise<object> {
    const { event, only } = this.#wished(params);
    const wanted = checked(PollSchema, params);
    const { reader, clock } = this.#options;
    const { position: from, truncated } = await this.#from(event, wanted);
    const now = clock.now();
    const found = await deliveriesAfter(reader(), event, from, this.#settled.upTo);
    const events: Occurrence[] = [];
    let position = from;
    let bytes = 0;
    let rest = found.deliveries.length;
    for (const delivery of found.deliveries) {
      const isWanted = only === "" || delivery.event === only;
      if (isWanted && events.length >= Math.min(wanted.maxEvents ?? DEFAULT_POLLED, MAX_POLLED)) break;
      if (isWanted) {
        const occurrence = await occurrenceOf(reader(), event.name, delivery);
        bytes += Buffer.byteLength(JSON.stringify(occurrence));
        if (events.length > 0 && bytes > MAX_ANSWER_BYTES) break;
        events.push(occurrence);
      }
      rest--;
      position = { id: delivery.id, at: Date.parse(delivery.receivedAt) };
    }
    if (rest === 0) position = { ...position, at: now };
    return {
      events,
      cursor: eventCursorOf(position),
      truncated: truncated || found.truncated,
      hasMore: rest > 0,
      nextPollMs: POLL_MS,
    };
  }

  async #subscribe(params: Readonly<Record<string, unknown>>, principal: McpScope): Promise<object> {
    const { event, only } = this.#wished(params);
    const { delivery, ttlMs, ...rest } = checked(SubscribeSchema, params);
    const { mode = "webhook", url, secret } = delivery;
    if (mode !== "webhook")
      throw new McpMethodError(-32_014, "Unsupported", { feature: "deliveryMode", value: mode.slice(0, 50) });
    if (!isSecret(secret)) throw invalid("delivery.secret must be whsec_ and 24 to 64 bytes in base64");
    checkUrl(url, { allowLoopback: this.#options.fetch !== undefined });
    if (!this.#isLeading)
      throw new McpMethodError(-32_014, "Unsupported", { feature: "webhook", reason: "another gateway sends events" });
    const id = subscriberId(principal, url, event.name, only);
    const { clock, logger } = this.#options;
    await this.#verify({ id, url, secrets: [{ value: secret, until: null }] }, principal);
    const known = this.#subscribers.get(id);
    if (known === undefined && this.#subscribers.isFull)
      throw new McpMethodError(-32_013, "ResourceExhausted", { limit: "subscriptions" });
    const from = known === undefined ? await this.#from(event, rest) : { position: known.position, truncated: false };
    const now = clock.now();
    const lastsMs = lifetimeOf(ttlMs);
    // The sender may have gone on while the callback was asked.
    const position = this.#subscribers.get(id)?.position ?? from.position;
    const secrets = secretsOf(this.#subscribers.get(id), secret, now);
    this.#subscribers.save({
      id,
      principal,
      url,
      name: event.name,
      event: only,
      secrets,
      position,
      expiresAt: now + lastsMs,
    });
    if (known === undefined)
      logger.info({ subscription: id, event: event.name, host: new URL(url).host }, "a client subscribes to an event");
    const deliveryStatus = this.#senders.get(id)?.status;
    this.#run(id);
    return {
      id,
      refreshBefore: new Date(now + lastsMs).toISOString(),
      cursor: eventCursorOf(position),
      truncated: from.truncated,
      ...(deliveryStatus && { deliveryStatus }),
    };
  }

  /** Once for each URL of a client, for as long as it has a subscription there. */
  async #verify(callback: Callback, principal: McpScope): Promise<void> {
    const isVerified = this.#subscribers.all.some((each) => each.principal === principal && each.url === callback.url);
    if (isVerified) return;
    const problem = await verifyCallback(this.#fetch, callback, this.#options.clock.now());
    if (problem === undefined) return;
    if (problem === "not_public") throw invalid("delivery.url does not lead to a public address");
    throw new McpMethodError(-32_015, "CallbackEndpointError", { reason: problem });
  }

  async #unsubscribe(params: Readonly<Record<string, unknown>>, principal: McpScope): Promise<object> {
    const { name, arguments: { event: only = "" } = {} } = checked(WishSchema, params);
    const { delivery } = checked(UnsubscribeSchema, params);
    const id = subscriberId(principal, delivery.url, name, only);
    if (!this.#subscribers.delete(id)) throw new McpMethodError(-32_011, "NotFound", { kind: "subscription" });
    const sender = this.#senders.get(id);
    this.#senders.delete(id);
    await sender?.stop();
    return {};
  }

  #run(id: string): void {
    const known = this.#senders.get(id);
    if (known !== undefined) known.revive();
    if (known !== undefined || this.#isStopped || !this.#isLeading) return;
    const { reader, clock, logger, firstRetryMs = FIRST_RETRY_MS } = this.#options;
    const sender = new EventSender({
      id,
      subscribers: this.#subscribers,
      event: (name) => this.#offered.get(name),
      reader,
      upTo: () => this.#settled.upTo,
      fetch: this.#fetch,
      clock,
      logger,
      firstRetryMs,
      onEnd: () => this.#senders.get(id) === sender && this.#senders.delete(id),
    });
    this.#senders.set(id, sender);
    sender.start();
  }
}
