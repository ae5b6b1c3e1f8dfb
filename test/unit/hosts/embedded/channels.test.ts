import { randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { EmbeddedChannels, listChannels } from "../../../../src/hosts/embedded/channels.ts";
import type { WebhookChannelConfig } from "../../../../src/hosts/embedded/config/channels.ts";
import type { ChannelMessage } from "../../../../src/core/host.ts";
import { gatewayConfig, START, TemporaryGateway } from "./state/temporary-gateway.ts";
import { WebhookReceiver } from "./channels/webhook-receiver.ts";

const secret = `whsec_${randomBytes(24).toString("base64")}`;

let gateway: TemporaryGateway;
let channels: EmbeddedChannels;
let receiver: WebhookReceiver;

beforeAll(async () => {
  gateway = await TemporaryGateway.open();
});

beforeEach(async () => {
  receiver = await WebhookReceiver.start();
  await gateway.reset({ channels: { console: { enabled: true }, webhook: webhook(), own: new Map() } });
  channels = new EmbeddedChannels(gateway.parts);
});

afterEach(async () => {
  await receiver[Symbol.asyncDispose]();
});

afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
});

function webhook(overrides: Partial<WebhookChannelConfig> = {}): WebhookChannelConfig {
  return { url: receiver.url, secret, defaultTo: undefined, timeoutMs: 15_000, ...overrides };
}

function message(overrides: Partial<ChannelMessage> = {}): ChannelMessage {
  return { channel: "webhook", to: "#ops", text: "The build is red.", idempotencyKey: "run-1", ...overrides };
}

function failureOf(sending: Promise<void>): Promise<unknown> {
  return sending.then(
    () => "taken",
    (error: unknown) => error,
  );
}

async function outboxStates(): Promise<string[]> {
  return (await channels.outbox({ limit: 200 })).messages.map(
    ({ channel, text, state }) => `${channel} ${state}: ${text}`,
  );
}

describe("list", () => {
  it("names the console first, then the webhook, with their default recipients", () => {
    expect(channels.list()).toEqual([{ id: "console", defaultTo: "owner" }, { id: "webhook" }]);
  });

  it("names what the configuration enables and nothing else", () => {
    const only = gatewayConfig({
      channels: { console: { enabled: false }, webhook: webhook({ defaultTo: "me" }), own: new Map() },
    });
    expect(listChannels(only)).toEqual([{ id: "webhook", defaultTo: "me" }]);
    gateway.config = gatewayConfig({ channels: { console: { enabled: false }, webhook: undefined, own: new Map() } });
    expect(channels.list()).toEqual([]);
  });
});

describe("lastRoute", () => {
  it("spec 2.3: last is the last recipient of the agent's main session, also after a restart", async () => {
    expect(await channels.lastRoute("main")).toBeUndefined();
    await gateway.sessions.setLastRoute("main", { channel: "webhook", to: "#ops" });
    expect(await channels.lastRoute("main")).toEqual({ channel: "webhook", to: "#ops" });
    await gateway.restart();
    channels = new EmbeddedChannels(gateway.parts);
    expect(await channels.lastRoute("main")).toEqual({ channel: "webhook", to: "#ops" });
    expect(await channels.lastRoute("other")).toBeUndefined();
  });

  it("is not changed by sending", async () => {
    await channels.send(message({ channel: "console" }));
    expect(await channels.lastRoute("main")).toBeUndefined();
  });
});

describe("the console", () => {
  it("keeps what it is given, newest first, for the API to read", async () => {
    await channels.send(message({ channel: "console", to: "owner" }));
    gateway.now += 1_000;
    await channels.send(message({ channel: "console", to: "owner", text: "Green again.", idempotencyKey: "run-2" }));
    expect(await channels.outbox({ limit: 10 })).toEqual({
      messages: [
        expect.objectContaining({ text: "Green again.", time: new Date(START + 1_000).toISOString() }),
        {
          id: expect.any(Number) as number,
          channel: "console",
          to: "owner",
          text: "The build is red.",
          time: new Date(START).toISOString(),
          state: "sent",
        },
      ],
      nextCursor: null,
    });
  });

  it("takes a message once for each idempotency key, also after a restart", async () => {
    const first = message({ channel: "console", idempotencyKey: "k".repeat(10_000) });
    await Promise.all([channels.send(first), channels.send(first)]);
    await gateway.restart();
    channels = new EmbeddedChannels(gateway.parts);
    await channels.send(first);
    await channels.send({ ...first, idempotencyKey: "another" });
    expect(await outboxStates()).toHaveLength(2);
  });

  it("rejects retryably when the message cannot be stored", async () => {
    await gateway.database.close();
    expect(await failureOf(channels.send(message({ channel: "console" })))).toMatchObject({
      name: "HostError",
      retryable: true,
    });
    await gateway.restart();
  });

  it.each(["console", "fax", "__proto__", ""])(
    "refuses permanently a channel that is not configured: %j",
    async (channel) => {
      gateway.config = gatewayConfig({ channels: { console: { enabled: false }, webhook: undefined, own: new Map() } });
      expect(await failureOf(channels.send(message({ channel })))).toMatchObject({
        retryable: false,
        message: `The channel ${JSON.stringify(channel)} is not configured.`,
      });
    },
  );

  it("refuses permanently a message that is too long", async () => {
    const text = "x".repeat(1_048_577);
    expect(await failureOf(channels.send(message({ channel: "console", text })))).toMatchObject({ retryable: false });
    await channels.send(message({ channel: "console", text: text.slice(1) }));
  });
});

describe("the webhook", () => {
  it("posts the message as JSON, signed so that the reference library accepts it", async () => {
    gateway.now = Date.now();
    await channels.send(message());
    const [post] = receiver.posts;
    expect(post).toMatchObject({
      method: "POST",
      url: "/inbox?team=ops",
      headers: { "content-type": "application/json" },
    });
    const verified = new Webhook(secret).verify(post!.body, post!.headers as Record<string, string>);
    expect(verified).toEqual({
      channel: "webhook",
      to: "#ops",
      text: "The build is red.",
      id: post!.headers["webhook-id"],
      time: new Date(gateway.now).toISOString(),
    });
    expect(await outboxStates()).toEqual(["webhook sent: The build is red."]);
  });

  it("does not post again what the outbox knows as sent", async () => {
    await channels.send(message());
    await channels.send(message());
    await channels.send(message({ idempotencyKey: "run-2" }));
    expect(receiver.posts).toHaveLength(2);
  });

  it.each([408, 425, 429, 500, 503])(
    "may be tried again after status %i, under the same webhook-id",
    async (status) => {
      receiver.answer = (res) => void res.writeHead(status).end("no");
      expect(await failureOf(channels.send(message()))).toMatchObject({
        retryable: true,
        message: `The webhook channel's receiver answered ${status}.`,
      });
      expect(await outboxStates()).toEqual([]);
      receiver.answer = (res) => void res.writeHead(200).end("ok");
      gateway.now += 60_000;
      await channels.send(message());
      const ids = receiver.posts.map(({ headers }) => headers["webhook-id"]);
      expect(ids).toHaveLength(2);
      expect(ids[0]).toBe(ids[1]);
    },
  );

  it.each([400, 401, 404, 410])("is refused permanently by status %i", async (status) => {
    receiver.answer = (res) => void res.writeHead(status).end();
    expect(await failureOf(channels.send(message()))).toMatchObject({ retryable: false });
  });

  it("follows no redirect", async () => {
    await using elsewhere = await WebhookReceiver.start();
    receiver.answer = (res) => void res.writeHead(307, { location: elsewhere.url }).end();
    expect(await failureOf(channels.send(message()))).toMatchObject({
      retryable: false,
      message: expect.stringContaining("redirects are not followed") as string,
    });
    expect(elsewhere.posts).toEqual([]);
  });

  it("may be tried again when no answer comes in time", async () => {
    receiver.answer = () => undefined;
    gateway.config = gatewayConfig({
      channels: { console: { enabled: true }, webhook: webhook({ timeoutMs: 50 }), own: new Map() },
    });
    expect(await failureOf(channels.send(message()))).toMatchObject({
      retryable: true,
      message: "The webhook channel's receiver did not answer within 50 ms.",
    });
    // On a slow machine the time may be up before the post has come.
    await expect.poll(() => receiver.posts.length - receiver.abandoned).toBe(0);
  });

  it("may be tried again when the connection is refused", async () => {
    const url = "http://127.0.0.1:3/";
    gateway.config = gatewayConfig({
      channels: { console: { enabled: true }, webhook: webhook({ url }), own: new Map() },
    });
    expect(await failureOf(channels.send(message()))).toMatchObject({
      retryable: true,
      message: "The webhook channel's receiver could not be reached (ECONNREFUSED).",
    });
  });

  it("may be tried again when the connection breaks", async () => {
    receiver.answer = (res) => res.destroy();
    expect(await failureOf(channels.send(message()))).toMatchObject({ retryable: true });
  });

  it("reads nothing of an answer that never ends", async () => {
    receiver.answer = (res) => {
      const pour = (): void => {
        while (!res.destroyed && res.write("z".repeat(10_000)));
      };
      res.on("drain", pour);
      res.writeHead(200);
      pour();
    };
    await channels.send(message());
    await expect.poll(() => receiver.abandoned).toBe(1);
  });

  it("is sent all the same when it cannot be recorded, and the log says so", async () => {
    const send = channels.send(message());
    await gateway.database.close();
    await send;
    expect(receiver.posts).toHaveLength(1);
    expect(gateway.logger.lines).toMatchObject([{ level: "warn" }]);
    await gateway.restart();
  });
});

describe("the outbox", () => {
  it("is read in pages", async () => {
    for (const n of [1, 2, 3]) {
      await channels.send(message({ channel: "console", text: `m${n}`, idempotencyKey: `k${n}` }));
    }
    const first = await channels.outbox({ limit: 2 });
    expect(first.messages.map(({ text }) => text)).toEqual(["m3", "m2"]);
    const second = await channels.outbox({ limit: 2, cursor: first.nextCursor! });
    expect(second).toMatchObject({ messages: [{ text: "m1" }], nextCursor: null });
  });
});
