import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createMCPClient } from "@ai-sdk/mcp";
import { Webhook } from "standardwebhooks";
import { describe, expect, it, onTestFinished } from "vitest";
import type { EmbeddedGateway } from "../../../src/hosts/embedded/gateway.ts";
import { createGuardedFetch, type GuardedFetch } from "../../../src/http/guarded-fetch.ts";
import { baseConfig, callHook, GatewayFixture, readApi } from "../../unit/hosts/embedded/gateway/fixture.ts";

const READ = "the-token-of-who-looks-on-4711";
const WRITE = "the-token-of-who-also-acts-4711";
const newSecret = (): string => `whsec_${randomBytes(32).toString("base64")}`;

/** Receivers of these tests are on this machine. */
const toLoopback = createGuardedFetch({ allowLoopback: true, timeoutMs: 10_000, maxBytes: 16_384 });

const mappings = [
  { id: "builds", match: { path: "builds" }, when: "payload.n > 0.0", action: "wake", textTemplate: "Build {{n}}" },
  { id: "other", match: { path: "other" }, action: "wake", textTemplate: "Other" },
];
const config = (
  events: object = { "build.finished": { mapping: "builds", description: "A build has finished." } },
) => ({
  ...baseConfig,
  gateway: { ...baseConfig.gateway, mcp: { read: READ, write: WRITE, events } },
  hooks: { ...baseConfig.hooks, mappings },
});

interface Started {
  readonly fixture: GatewayFixture;
  gateway: EmbeddedGateway;
  readonly run: (fetch?: GuardedFetch) => Promise<void>;
}

async function start(given: object = config(), fetch: GuardedFetch | undefined = toLoopback): Promise<Started> {
  const fixture = new GatewayFixture(given);
  onTestFinished(() => fixture.remove());
  const run = async (eventFetch: GuardedFetch | undefined = fetch): Promise<void> => {
    started.gateway = await fixture.start({ eventFetch, eventTimings: { firstRetryMs: 20 } });
  };
  const started = { fixture, run } as Started;
  await run();
  return started;
}

interface Answer {
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

async function ask({ gateway }: Started, method: string, params: object = {}, token = READ): Promise<Answer> {
  const response = await fetch(`${gateway.url}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: META } }),
  });
  return (await response.json()) as Answer;
}

const call = async ({ gateway }: Started, n: number, path = "builds"): Promise<void> => {
  expect((await callHook(gateway, `/hooks/${path}`, { n })).status).toBeLessThan(300);
};

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: {
    readonly eventId?: string;
    readonly type?: string;
    readonly data?: { readonly payload: { readonly n: number } };
  };
}

/** A receiver by the text of Standard Webhooks: it verifies with the library of its authors. */
class Receiver {
  readonly all: Received[] = [];
  status: (received: Received) => number = () => 200;
  echo: (challenge: string) => string = (challenge) => challenge;
  #server!: Server;
  url = "";

  static async start(): Promise<Receiver> {
    const receiver = new Receiver();
    receiver.#server = createServer((req, res) => {
      const chunks: Buffer[] = [];
      req.on("data", (chunk: Buffer) => chunks.push(chunk));
      req.on("end", () => {
        const text = Buffer.concat(chunks).toString();
        const received: Received = { headers: req.headers, text, body: JSON.parse(text) as Received["body"] };
        receiver.all.push(received);
        const { challenge } = received.body as { challenge?: string };
        if (challenge !== undefined) return res.end(JSON.stringify({ challenge: receiver.echo(challenge) }));
        return res.writeHead(receiver.status(received)).end();
      });
    }).listen(0, "127.0.0.1");
    await once(receiver.#server, "listening");
    receiver.url = `http://127.0.0.1:${(receiver.#server.address() as AddressInfo).port}/events`;
    onTestFinished(() => void receiver.#server.close());
    return receiver;
  }

  get events(): Received[] {
    return this.all.filter(({ body }) => body.eventId !== undefined);
  }

  /** The numbers of the builds, each once, in the order of their first arrival. */
  get numbers(): number[] {
    const taken = this.events.filter((event) => this.status(event) < 300);
    const byId = new Map(taken.map(({ body }) => [body.eventId, body.data!.payload.n]));
    return [...byId.values()];
  }

  verify({ text, headers }: Received, secret: string): void {
    new Webhook(secret).verify(text, headers as Record<string, string>);
  }
}

const wish = (url: string, secret: string, more: object = {}) => ({
  name: "build.finished",
  arguments: {},
  delivery: { mode: "webhook", url, secret },
  cursor: null,
  ...more,
});

describe("the events of the MCP server", () => {
  it("are declared in both ways, and listed", async () => {
    const started = await start();
    const { result } = await ask(started, "server/discover");
    const { capabilities } = result as { capabilities: Record<string, Record<string, unknown>> };
    expect(capabilities["events"]).toEqual({});
    expect(capabilities["extensions"]).toEqual({ "io.modelcontextprotocol/events": {} });
    const client = await createMCPClient({
      transport: { type: "http", url: `${started.gateway.url}/mcp`, headers: { authorization: `Bearer ${READ}` } },
    });
    onTestFinished(() => client.close());
    const { events } = await client.experimental_events.list();
    expect(events).toMatchObject([
      { name: "build.finished", description: "A build has finished.", delivery: ["webhook", "poll"] },
    ]);
  });

  it("are none where the owner offers none, or names no mapping", async () => {
    const { mcp: _, ...gateway } = config().gateway;
    const started = await start({ ...config(), gateway: { ...gateway, mcp: { read: READ } } });
    expect((await ask(started, "events/list")).error).toMatchObject({ code: -32_601 });
    started.fixture.write(config({ "build.finished": { mapping: "no-such" } }));
    await started.gateway.reload();
    expect((await ask(started, "events/list")).error).toMatchObject({ code: -32_601 });
    expect(JSON.stringify(started.fixture.logger.lines)).toContain("an event is not offered");
  });

  it("are polled from now on, in their order, without what the filters stop and what others got", async () => {
    const started = await start();
    await call(started, 1);
    const first = await ask(started, "events/poll", { name: "build.finished", arguments: {}, cursor: null });
    expect(first.result).toMatchObject({ events: [], hasMore: false, truncated: false });
    for (const n of [2, 0, 3]) await call(started, n);
    await call(started, 4, "other");
    await call(started, 5);
    const seen: number[] = [];
    let cursor = first.result!["cursor"];
    for (let page = 0; page < 3; page++) {
      const { result } = await ask(started, "events/poll", { name: "build.finished", cursor, maxEvents: 1 });
      const { events, hasMore } = result as { events: { data: { payload: { n: number } } }[]; hasMore: boolean };
      seen.push(...events.map(({ data }) => data.payload.n));
      expect(hasMore).toBe(page < 2);
      cursor = result!["cursor"];
    }
    expect(seen).toEqual([2, 3, 5]);
    const again = await ask(started, "events/poll", { name: "build.finished", cursor: first.result!["cursor"] });
    expect(again.result!["events"]).toHaveLength(3);
    const [event] = again.result!["events"] as Record<string, unknown>[];
    expect(event).toMatchObject({
      name: "build.finished",
      eventId: expect.stringMatching(/^dlv_/u) as string,
      data: { route: "builds", mapping: "builds", event: null, payload: { n: 2 } },
    });
    const strange = await ask(started, "events/poll", { name: "build.finished", cursor: "of another server" });
    expect(strange.result).toMatchObject({ events: [], truncated: true });
  });

  it.each([
    ["events/poll", { name: "no.such" }, -32_011],
    ["events/poll", { name: "build.finished", arguments: { no: "such" } }, -32_602],
    ["events/poll", { name: "build.finished", maxEvents: 0 }, -32_602],
    ["events/stream", { name: "build.finished" }, -32_014],
    ["events/unsubscribe", wish("https://receiver.example.com/", newSecret()), -32_011],
    ["events/subscribe", { name: "build.finished" }, -32_602],
    ["events/subscribe", wish("http://receiver.example.com/", newSecret()), -32_602],
    ["events/subscribe", wish("https://receiver.example.com:8443/", newSecret()), -32_602],
    ["events/subscribe", wish("https://127.0.0.1/", newSecret()), -32_602],
    ["events/subscribe", wish("https://169.254.169.254/latest/", newSecret()), -32_602],
    ["events/subscribe", wish("https://receiver.example.com/", "too-short"), -32_602],
    [
      "events/subscribe",
      wish("https://receiver.example.com/", `whsec_${Buffer.alloc(65).toString("base64")}`),
      -32_602,
    ],
  ])("refuse %s %j with %i", async (method, params, code) => {
    const started = await start(config(), createGuardedFetch());
    // Without a fetch of its own the gateway takes the one that knows public addresses alone.
    await started.gateway.stop();
    started.gateway = await started.fixture.start();
    expect((await ask(started, method, params)).error).toMatchObject({ code });
  });
});

/** As the scenarios `events-poll` and `events-webhook` of the MCP project grade a server. */
describe("a server of MCP Events", () => {
  it("takes an absent cursor for null, remembers no poll, and bounds a replay by age", async () => {
    const started = await start();
    const polled = async (params: object): Promise<Record<string, unknown>> =>
      (await ask(started, "events/poll", { name: "build.finished", ...params })).result!;
    const absent = await polled({});
    expect(absent).toMatchObject({ events: [], truncated: false, hasMore: false, nextPollMs: 5_000 });
    expect(absent["cursor"]).toEqual(expect.any(String));
    await call(started, 1);
    const [one, other] = [await polled({ cursor: absent["cursor"] }), await polled({ cursor: absent["cursor"] })];
    expect(one["events"]).toEqual(other["events"]);
    expect(one["events"]).toHaveLength(1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const young = await polled({ cursor: absent["cursor"], maxAgeMs: 1 });
    expect(young).toMatchObject({ events: [], truncated: true });
    expect(await polled({ cursor: null, maxAgeMs: 1 })).toMatchObject({ events: [], truncated: false });
  });

  it("grants no more time than is asked for, a minute where less is, and never for ever", async () => {
    const started = await start();
    const receiver = await Receiver.start();
    const secret = newSecret();
    const granted = async (more: object): Promise<number> => {
      const asked = Date.now();
      const { result } = await ask(started, "events/subscribe", wish(receiver.url, secret, more));
      return Math.round((Date.parse(String(result!["refreshBefore"])) - asked) / 60_000);
    };
    expect(await granted({ ttlMs: 3_600_000 })).toBe(60);
    expect(await granted({ ttlMs: 1 })).toBe(1);
    expect(await granted({})).toBe(1_440);
    expect(await granted({ ttlMs: null })).toBe(10_080);
    expect(await granted({ ttlMs: 9e12 })).toBe(10_080);
  });

  it("knows a subscription by its client, URL, name and arguments, and tells how it fares", async () => {
    const started = await start();
    const receiver = await Receiver.start();
    const secret = newSecret();
    const idOf = async (more: object = {}, token = READ): Promise<unknown> =>
      (await ask(started, "events/subscribe", wish(receiver.url, secret, more), token)).result?.["id"];
    const id = await idOf();
    expect(await idOf()).toBe(id);
    const others = [await idOf({ arguments: { event: "push" } }), await idOf({}, WRITE)];
    expect(new Set([id, ...others]).size).toBe(3);
    receiver.status = () => 500;
    await call(started, 1);
    await expect.poll(() => receiver.events.length).toBeGreaterThan(2);
    const { result } = await ask(started, "events/subscribe", wish(receiver.url, secret));
    expect(result).toMatchObject({
      id,
      deliveryStatus: { lastError: "http_5xx", failedSince: expect.any(String) as string },
    });
    const [first, second] = receiver.events.filter((event) => event.headers["x-mcp-subscription-id"] === id);
    expect(first!.headers["webhook-id"]).toBe(second!.headers["webhook-id"]);
    for (const event of [first!, second!]) receiver.verify(event, secret);
  });

  it("refuses more subscriptions than it keeps", async () => {
    const started = await start();
    const receiver = await Receiver.start();
    const secret = newSecret();
    const subscribe = (event: string) =>
      ask(started, "events/subscribe", wish(receiver.url, secret, { arguments: { event } }));
    for (let at = 0; at < 100; at++) expect((await subscribe(`event-${at}`)).error).toBeUndefined();
    expect((await subscribe("one-more")).error).toMatchObject({ code: -32_013, data: { limit: "subscriptions" } });
    expect((await subscribe("event-7")).error).toBeUndefined();
  });
});

describe("a receiver that subscribes", () => {
  it("gets each event, signed and in order, over failures of both sides", async () => {
    const started = await start();
    const receiver = await Receiver.start();
    const secret = newSecret();
    const { result } = await ask(started, "events/subscribe", wish(receiver.url, secret, { ttlMs: 3_600_000 }));
    expect(result).toMatchObject({ id: expect.stringMatching(/^sub_/u) as string, truncated: false });
    expect(Date.parse(String(result!["refreshBefore"]))).toBeGreaterThan(Date.now());
    expect(receiver.all).toHaveLength(1);
    for (let n = 1; n <= 10; n++) await call(started, n);
    await expect.poll(() => receiver.numbers).toHaveLength(10);
    // It fails for a while.
    receiver.status = () => 503;
    for (let n = 11; n <= 15; n++) await call(started, n);
    await expect.poll(() => receiver.events.length).toBeGreaterThan(11);
    // The gateway restarts with five that wait.
    await started.gateway.stop();
    receiver.status = () => 200;
    receiver.all.length = 0;
    await started.run();
    for (let n = 16; n <= 20; n++) await call(started, n);
    await expect.poll(() => receiver.numbers).toEqual([11, 12, 13, 14, 15, 16, 17, 18, 19, 20]);
    for (const event of receiver.events) {
      receiver.verify(event, secret);
      expect(event.headers["webhook-id"]).toBe(event.body.eventId);
      expect(event.headers["x-mcp-subscription-id"]).toBe(result!["id"]);
      expect(() => receiver.verify(event, newSecret())).toThrow();
    }
    expect(JSON.stringify(started.fixture.logger.lines)).not.toContain(secret);
  });

  it("is verified first, and only by its own echo", async () => {
    const started = await start();
    const receiver = await Receiver.start();
    receiver.echo = () => "something else";
    const subscribe = (url = receiver.url) => ask(started, "events/subscribe", wish(url, newSecret()));
    const failed = (reason: string) => ({ error: { code: -32_015, data: { reason } } });
    expect(await subscribe()).toMatchObject(failed("challenge_failed"));
    expect(await subscribe("http://127.0.0.1:9/")).toMatchObject(failed("connection_refused"));
    await call(started, 1);
    receiver.echo = (challenge) => challenge;
    expect((await subscribe()).error).toBeUndefined();
    expect(receiver.all.map(({ body }) => body.type)).toEqual(["verification", "verification"]);
    // The same client has shown that the URL is its own.
    await ask(started, "events/subscribe", wish(receiver.url, newSecret(), { arguments: { event: "none" } }));
    expect(receiver.all).toHaveLength(2);
    await ask(started, "events/subscribe", wish(receiver.url, newSecret()), WRITE);
    expect(receiver.all).toHaveLength(3);
  });

  it("changes its secret, and gets both signatures for a while", async () => {
    const started = await start();
    const receiver = await Receiver.start();
    const [old, next] = [newSecret(), newSecret()];
    const first = await ask(started, "events/subscribe", wish(receiver.url, old));
    const second = await ask(started, "events/subscribe", wish(receiver.url, next));
    expect(second.result!["id"]).toBe(first.result!["id"]);
    await call(started, 1);
    await expect.poll(() => receiver.numbers).toEqual([1]);
    const [event] = receiver.events;
    receiver.verify(event!, old);
    receiver.verify(event!, next);
    expect(event!.headers["webhook-signature"]).toMatch(/^v1,\S+ v1,\S+$/u);
  });

  it("ends its subscription with 410, and leaves out an event with 413", async () => {
    const started = await start();
    const receiver = await Receiver.start();
    await ask(started, "events/subscribe", wish(receiver.url, newSecret()));
    receiver.status = ({ body }) => (body.data?.payload.n === 1 ? 413 : 200);
    for (const n of [1, 2]) await call(started, n);
    await expect.poll(() => receiver.numbers).toEqual([2]);
    expect(receiver.events).toHaveLength(2);
    receiver.status = () => 410;
    await call(started, 3);
    await expect.poll(() => receiver.events.length).toBe(3);
    const gone = await ask(started, "events/unsubscribe", wish(receiver.url, ""));
    expect(gone.error).toMatchObject({ code: -32_011 });
  });

  it("ends it by itself, and no one else's", async () => {
    const started = await start();
    const receiver = await Receiver.start();
    await ask(started, "events/subscribe", wish(receiver.url, newSecret()));
    const other = await ask(started, "events/unsubscribe", wish(receiver.url, ""), WRITE);
    expect(other.error).toMatchObject({ code: -32_011 });
    expect((await ask(started, "events/unsubscribe", wish(receiver.url, ""))).error).toBeUndefined();
    await call(started, 1);
    expect((await readApi(started.gateway, "deliveries?route=builds")).status).toBe(200);
    expect(receiver.events).toEqual([]);
  });

  it("is told when the event is offered no more", async () => {
    const started = await start();
    const receiver = await Receiver.start();
    const secret = newSecret();
    await ask(started, "events/subscribe", wish(receiver.url, secret));
    started.fixture.write(config({ "other.event": { mapping: "other" } }));
    await started.gateway.reload();
    await expect.poll(() => receiver.all.at(-1)?.body).toMatchObject({ type: "terminated", error: { code: -32_011 } });
    receiver.verify(receiver.all.at(-1)!, secret);
    expect(receiver.all.at(-1)!.headers["webhook-id"]).toMatch(/^msg_terminated_/u);
  });

  it("is called at public addresses alone, whatever it was when it subscribed", async () => {
    let isPublic = true;
    const strict = createGuardedFetch();
    const started = await start(config(), (url, options) => (isPublic ? toLoopback : strict)(url, options));
    const receiver = await Receiver.start();
    await ask(started, "events/subscribe", wish(receiver.url, newSecret()));
    isPublic = false;
    await call(started, 1);
    const tried = () =>
      started.fixture.logger.lines.filter(({ message }) => message.startsWith("an event was not taken"));
    await expect.poll(() => tried().length).toBeGreaterThan(1);
    expect(receiver.events).toEqual([]);
    isPublic = true;
    await expect.poll(() => receiver.numbers).toEqual([1]);
  });

  it("can be another gateway", async () => {
    const started = await start();
    const secret = newSecret();
    const other = new GatewayFixture({
      ...baseConfig,
      hooks: {
        ...baseConfig.hooks,
        senders: { builds: { preset: "mcp-events", secret, action: "wake" } },
        subscriptions: {
          builds: { server: { url: `${started.gateway.url}/mcp`, token: READ }, event: "build.finished" },
        },
      },
    });
    onTestFinished(() => other.remove());
    const gateway = await other.start({ eventTimings: { leastMs: 20, firstRetryMs: 50 } });
    const state = async () =>
      ((await (await readApi(gateway, "status")).json()) as { subscriptions: object[] }).subscriptions;
    await expect.poll(state).toMatchObject([{ state: "active", mode: "poll" }]);
    for (const n of [1, 2]) await call(started, n);
    const taken = async () =>
      ((await (await readApi(gateway, "deliveries?route=builds")).json()) as { deliveries: object[] }).deliveries;
    await expect.poll(taken).toMatchObject([{ event: "build.finished" }, { event: "build.finished" }]);
  });
});
