/** What the gateway subscribes to: at senders whose subscriptions end, and at MCP servers. */
import type { Clock, GatewayPlugin, Logger } from "../../../core/host.ts";
import type { WebhookIngress } from "../../../index.ts";
import type { GatewayOptions } from "../gateway-options.ts";
import { EventSubscriptions, type EventSubscriptionsOptions } from "./events/event-subscriptions.ts";
import type { SubscriptionState } from "./events/event-subscription.ts";
import { SubscriptionRenewal } from "./renewal.ts";

export interface SubscriptionsOptions extends Pick<EventSubscriptionsOptions, "hooksUrl" | "ownUrl"> {
  readonly stateDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly ingress: () => WebhookIngress;
  readonly options: Pick<GatewayOptions, "env" | "eventTimings">;
}

export class Subscriptions {
  readonly #events: EventSubscriptions;
  readonly #renewal: SubscriptionRenewal;

  constructor({ ingress, options: given, ...options }: SubscriptionsOptions) {
    const { env = process.env, eventTimings: timings } = given;
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
    return [this.#events];
  }

  /** Of those to events. */
  get states(): readonly SubscriptionState[] {
    return this.#events.states;
  }

  /** Call it once the gateway answers requests: servers call back while they are asked. */
  start(): void {
    this.#renewal.start();
    this.#events.start();
  }

  /** Takes the active configuration into use. */
  configure(): void {
    this.#events.configure();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#renewal.stop(), this.#events.stop()]);
  }
}
