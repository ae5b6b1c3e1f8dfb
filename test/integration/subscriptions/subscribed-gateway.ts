/** A gateway that subscribes to an {@link EventSource}, and what it has taken of its events. */
import { expect, onTestFinished } from "vitest";
import type { DeliverySummary } from "../../../src/core/delivery.ts";
import type { EmbeddedGateway } from "../../../src/hosts/embedded/gateway.ts";
import type { SubscriptionState } from "../../../src/hosts/embedded/subscriptions/events/event-subscription.ts";
import { baseConfig, GatewayFixture, gatewayToken, readApi } from "../../unit/hosts/embedded/gateway/fixture.ts";
import { EventSource, PUBLIC_URL, type SourceOptions } from "./event-source.ts";

export const secretOf = (fill: string): string => `whsec_${Buffer.from(fill.padEnd(32, "-")).toString("base64")}`;
export const FIRST = secretOf("the-first-of-three-secrets");

const TIMINGS = { firstRetryMs: 50, lastRetryMs: 200, leastMs: 20, pendingMs: 20 };

export interface Wanted {
  readonly isPublic?: boolean;
  readonly secret?: unknown;
  readonly token?: unknown;
  readonly hooks?: object;
}

export class SubscribedGateway {
  readonly source: EventSource;
  readonly fixture: GatewayFixture;
  gateway!: EmbeddedGateway;

  static async start(wanted: Wanted = {}, options: SourceOptions = {}): Promise<SubscribedGateway> {
    const subscribed = new SubscribedGateway(options);
    onTestFinished(async () => {
      await subscribed.fixture.remove();
      await subscribed.source.stop();
    });
    await subscribed.source.start();
    subscribed.write(wanted);
    await subscribed.run();
    return subscribed;
  }

  private constructor(options: SourceOptions) {
    this.source = new EventSource(options);
    this.fixture = new GatewayFixture();
  }

  write({ isPublic = true, secret = FIRST, token = this.source.token, hooks = {} }: Wanted): void {
    this.fixture.write({
      ...baseConfig,
      hooks: {
        ...baseConfig.hooks,
        ...(isPublic ? { publicUrl: PUBLIC_URL } : {}),
        senders: { incidents: { preset: "mcp-events", secret, action: "wake" } },
        subscriptions: {
          incidents: {
            server: { url: this.source.url, token },
            event: "incident.created",
            arguments: { severity: "P1" },
          },
        },
        ...hooks,
      },
    });
  }

  async run(): Promise<void> {
    this.gateway = await this.fixture.start({ eventTimings: TIMINGS });
    this.source.gatewayUrl = this.gateway.url;
  }

  async reload(wanted: Wanted): Promise<void> {
    this.write(wanted);
    expect(await this.gateway.reload()).toMatchObject({ applied: true });
  }

  async state(): Promise<SubscriptionState | undefined> {
    const { subscriptions } = (await (await readApi(this.gateway, "status")).json()) as {
      subscriptions: SubscriptionState[];
    };
    return subscriptions[0];
  }

  async untilActive(mode: "webhook" | "poll"): Promise<void> {
    await expect.poll(() => this.state()).toMatchObject({ state: "active", mode });
  }

  /** The deliveries of the route, the oldest first; without the repeats. */
  async deliveries(): Promise<DeliverySummary[]> {
    const all: DeliverySummary[] = [];
    let cursor: string | null = null;
    do {
      const from: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
      const response = await readApi(this.gateway, `deliveries?route=incidents&limit=200${from}`);
      const page = (await response.json()) as { deliveries: DeliverySummary[]; nextCursor: string | null };
      all.push(...page.deliveries);
      cursor = page.nextCursor;
    } while (cursor !== null);
    return all.filter(({ state }) => state !== "duplicate").toReversed();
  }

  /** The numbers of the events that became deliveries, in the order of their acceptance. */
  async numbers(): Promise<number[]> {
    const events = (await this.deliveries()).filter(({ event }) => event !== null);
    const numbers: number[] = [];
    for (const { id } of events) {
      const detail = (await (await readApi(this.gateway, `deliveries/${id}`)).json()) as { runs: { spec?: object }[] };
      const [, number] = /Incident (\d+)/u.exec(JSON.stringify(detail.runs)) ?? [];
      numbers.push(Number(number));
    }
    return numbers;
  }

  /** Waits until so many events became deliveries. */
  async untilTaken(count: number): Promise<void> {
    await expect
      .poll(async () => (await this.deliveries()).filter(({ event }) => event !== null).length, {
        timeout: 60_000,
        interval: 250,
      })
      .toBe(count);
  }

  /** Has an operator do something. */
  async ask(path: string): Promise<void> {
    const headers = { authorization: `Bearer ${gatewayToken}` };
    expect((await fetch(`${this.gateway.url}/api/v1/${path}`, { method: "POST", headers })).status).toBe(200);
  }

  async outages(): Promise<string[]> {
    const { outages } = (await (await readApi(this.gateway, "outages")).json()) as { outages: { subject: string }[] };
    return outages.map(({ subject }) => subject);
  }
}

export const upTo = (last: number, first = 1): number[] =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at);
