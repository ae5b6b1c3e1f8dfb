/** What the gateway subscribes to, at senders whose subscriptions end and at MCP servers; and who subscribes to its events. */
import type { Clock, GatewayPlugin, Logger } from "../../../core/host.ts";
import type { WebhookIngress } from "../../../index.ts";
import type { GatewayConfig } from "../config/file.ts";
import { OfferedEvents } from "../offered-events/offered-events.ts";
import type { GatewayOptions } from "../gateway-options.ts";
import type { StateStore } from "../state/state-store.ts";
import { EventSubscriptions, type EventSubscriptionsOptions } from "./events/event-subscriptions.ts";
import type { SubscriptionState } from "./events/event-subscription.ts";
import { SubscriptionRenewal } from "./renewal.ts";

export interface SubscriptionsOptions extends Pick<EventSubscriptionsOptions, "hooksUrl" | "ownUrl"> {
  readonly state: Pick<StateStore, "read" | "write" | "isShared">;
  readonly stateDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly ingress: () => WebhookIngress;
  /** The active one. */
  readonly config: () => GatewayConfig;
  readonly options: Pick<GatewayOptions, "env" | "eventTimings" | "eventFetch">;
}

export class Subscriptions {
  readonly #events: EventSubscriptions;
  readonly #renewal: SubscriptionRenewal;
  /** What clients of the MCP server subscribe to. */
  readonly offered: OfferedEvents;
  readonly #config: () => GatewayConfig;

  constructor({ ingress, config, options: given, ...options }: SubscriptionsOptions) {
    const { env = process.env, eventTimings: timings, eventFetch } = given;
    this.#config = config;
    this.offered = new OfferedEvents({
      ...options,
      reader: () => ingress().deliveries(),
      pathOf: (mapping) => ingress().operations().subscriptions.pathOf(mapping),
      leading: () => ingress().leading,
      isShared: () => options.state.isShared,
      fetch: eventFetch,
      firstRetryMs: timings?.firstRetryMs,
    });
    this.#renewal = new SubscriptionRenewal({ ...options, env, outages: () => ingress().operations().outages });
    this.#events = new EventSubscriptions({
      ...options,
      timings,
      operations: () => ingress().operations(),
      body: (deliveryId) => ingress().deliveries().body(deliveryId),
      leading: () => ingress().leading,
    });
  }

  /** They learn of what was accepted. */
  get plugins(): readonly GatewayPlugin[] {
    return [this.#events, this.offered];
  }

  /** Of those to events. */
  get states(): readonly SubscriptionState[] {
    return this.#events.states;
  }

  /** Call it once the gateway answers requests: servers call back while they are asked. */
  start(): void {
    this.#renewal.start();
    this.#events.start();
    this.#offer();
    this.offered.start();
  }

  /** Takes the active configuration into use. */
  configure(): void {
    this.#events.configure();
    this.#offer();
  }

  #offer(): void {
    this.offered.configure(this.#config().gateway.mcp.events);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#renewal.stop(), this.#events.stop(), this.offered.stop()]);
  }
}
