/** The receiver of the AI SDK, which knows nothing of this gateway, takes the events that its MCP server offers. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  createMCPClient,
  type Experimental_MCPEventStore as EventStore,
  type Experimental_MCPEventSubscription as Subscription,
  experimental_createMCPEventWebhook as createReceiver,
} from "@ai-sdk/mcp";
import { expect, it, onTestFinished } from "vitest";
import { createGuardedFetch } from "../../../src/http/guarded-fetch.ts";
import { baseConfig, callHook, GatewayFixture } from "../../unit/hosts/embedded/gateway/fixture.ts";

const READ = "the-token-of-who-looks-on-4711";
const OFFERED = { "build.finished": { mapping: "builds", description: "A build has finished." } };
const config = (events: object) => ({
  ...baseConfig,
  gateway: { ...baseConfig.gateway, mcp: { read: READ, events } },
  hooks: {
    ...baseConfig.hooks,
    mappings: [{ id: "builds", match: { path: "builds" }, action: "wake", textTemplate: "Build {{n}}" }],
  },
});

/** In memory, as the SDK asks of it. */
class Store implements EventStore {
  readonly #all = new Map<string, Subscription>();

  get(key: string): Promise<Subscription | undefined> {
    return Promise.resolve(this.#all.get(key));
  }

  getById(id: string): Promise<Subscription | undefined> {
    return Promise.resolve([...this.#all.values()].find((each) => each.id === id));
  }

  set(subscription: Subscription): Promise<void> {
    this.#all.set(subscription.key, subscription);
    return Promise.resolve();
  }

  update(key: string, patch: Partial<Subscription>): Promise<void> {
    const known = this.#all.get(key);
    if (known !== undefined) this.#all.set(key, { ...known, ...patch });
    return Promise.resolve();
  }

  delete(key: string): Promise<void> {
    this.#all.delete(key);
    return Promise.resolve();
  }
}

it("over a refusal of its own, a renewal and a restart of the gateway, until the event is offered no more", async () => {
  const fetch = createGuardedFetch({ allowLoopback: true, timeoutMs: 10_000, maxBytes: 16_384 });
  const fixture = new GatewayFixture(config(OFFERED));
  onTestFinished(() => fixture.remove());
  const run = () => fixture.start({ eventFetch: fetch, eventTimings: { firstRetryMs: 20 } });
  let gateway = await run();

  const store = new Store();
  const taken: number[] = [];
  const ended: object[] = [];
  let isBusy = false;
  const receive = createReceiver({
    store,
    onEvent: ({ event }) => {
      if (isBusy) return Promise.reject(new Error("busy"));
      taken.push((event.data as { payload: { n: number } }).payload.n);
      return Promise.resolve();
    },
    onTerminated: ({ termination }) => {
      ended.push(termination);
      return Promise.resolve();
    },
  });
  const server = createServer((req, res) => {
    void (async () => {
      const body = Buffer.concat(await req.toArray());
      const headers = new Headers(Object.entries(req.headersDistinct).map(([name, values]) => [name, values!.join()]));
      const response = await receive(
        new Request(`http://${req.headers.host}${req.url}`, { method: "POST", headers, body }),
      );
      res.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
    })();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());

  const client = () =>
    createMCPClient({
      transport: { type: "http", url: `${gateway.url}/mcp`, headers: { authorization: `Bearer ${READ}` } },
      experimental_events: { store },
    });
  const call = async (n: number): Promise<void> => {
    expect((await callHook(gateway, "/hooks/builds", { n })).status).toBe(200);
  };

  const first = await client();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`;
  const delivery = { mode: "webhook", url, allowInsecureLocalhost: true } as const;
  const { id } = await first.experimental_events.subscribe({ name: "build.finished", delivery });
  for (let n = 1; n <= 5; n++) await call(n);
  await expect.poll(() => taken).toEqual([1, 2, 3, 4, 5]);

  isBusy = true;
  for (let n = 6; n <= 8; n++) await call(n);
  await first.experimental_events.refresh({ id });
  await first.close();
  await gateway.stop();
  isBusy = false;
  gateway = await run();
  await call(9);
  await expect.poll(() => taken).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);

  fixture.write(config({}));
  await gateway.reload();
  await expect.poll(() => ended).toMatchObject([{ type: "terminated" }]);
});
