import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { EmbeddedChannels } from "../../../../../src/hosts/embedded/channels.ts";
import { Outbox } from "../../../../../src/hosts/embedded/channels/outbox.ts";
import { OutboxSender } from "../../../../../src/hosts/embedded/channels/outbox-sender.ts";
import { TemporaryGateway } from "../state/temporary-gateway.ts";
import { WebhookReceiver } from "./webhook-receiver.ts";

const secret = `whsec_${Buffer.alloc(24, 7).toString("base64")}`;

let gateway: TemporaryGateway;
let receiver: WebhookReceiver;
let channels: EmbeddedChannels;
let sender: OutboxSender;

beforeAll(async () => {
  gateway = await TemporaryGateway.open();
});

beforeEach(async () => {
  receiver = await WebhookReceiver.start();
  const webhook = { url: receiver.url, secret, defaultTo: undefined, timeoutMs: 15_000 };
  await gateway.reset({ channels: { console: { enabled: true }, webhook, own: new Map() } });
  channels = new EmbeddedChannels(gateway.parts);
  sender = new OutboxSender({ channels, logger: gateway.logger, retryDelaysMs: [5, 5] });
});

afterEach(async () => {
  await sender.stop();
  await receiver[Symbol.asyncDispose]();
});

afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
});

/** Stores a turn whose reply is to be sent. */
async function leave(text: string, channel = "webhook"): Promise<void> {
  const outgoing = { channel, to: "me", text, idempotencyKey: `turn ${text}` };
  const turn = { sessionKey: "agent:main:main", turnId: `turn ${text}`, user: "u", assistant: text, eventIds: [] };
  await gateway.sessions.appendTurn({ ...turn, outgoing });
}

async function states(): Promise<string[]> {
  return (await channels.outbox({ limit: 200 })).messages.map(({ text, state }) => `${text}: ${state}`);
}

describe("what turns left in the outbox", () => {
  it("waits until the sender is woken, then is sent in its order", async () => {
    await leave("one");
    await leave("two", "console");
    await leave("three");
    expect(await states()).toEqual(["three: pending", "two: pending", "one: pending"]);
    sender.wake();
    await sender.idle();
    expect(await states()).toEqual(["three: sent", "two: sent", "one: sent"]);
    expect(receiver.posts.map(({ body }) => (JSON.parse(body) as { text: string }).text)).toEqual(["one", "three"]);
  });

  it("is sent once, however often the sender is woken", async () => {
    await leave("one");
    sender.wake();
    sender.wake();
    await sender.idle();
    sender.wake();
    await sender.idle();
    expect(receiver.posts).toHaveLength(1);
  });

  it("is sent when it comes while another is being sent", async () => {
    receiver.answer = (res) => {
      receiver.answer = (next) => void next.writeHead(204).end();
      void leave("two").then(() => {
        sender.wake();
        res.writeHead(204).end();
      });
    };
    await leave("one");
    sender.wake();
    await expect.poll(states).toEqual(["two: sent", "one: sent"]);
  });

  it("is tried again when the channel refuses it for now", async () => {
    let refusals = 2;
    receiver.answer = (res) => void res.writeHead(refusals-- > 0 ? 503 : 204).end();
    await leave("one");
    sender.wake();
    await sender.idle();
    expect(receiver.posts).toHaveLength(3);
    expect(await states()).toEqual(["one: sent"]);
  });

  it("is given up after a few tries, and holds up nothing behind it", async () => {
    receiver.answer = (res) => void res.writeHead(503).end();
    await leave("one");
    await leave("two", "console");
    sender.wake();
    await sender.idle();
    expect(receiver.posts).toHaveLength(3);
    expect(await states()).toEqual(["two: sent", "one: failed"]);
    expect(gateway.logger.lines).toMatchObject([{ level: "error", fields: { channel: "webhook", to: "me" } }]);
    sender.wake();
    await sender.idle();
    expect(receiver.posts).toHaveLength(3);
  });

  it("holds up nothing of other channels while it waits for its next try", async () => {
    sender = new OutboxSender({ channels, logger: gateway.logger, retryDelaysMs: [60_000_000] });
    receiver.answer = (res) => void res.writeHead(503).end();
    await leave("one");
    await leave("two", "console");
    await leave("three");
    sender.wake();
    await expect.poll(states).toEqual(["three: pending", "two: sent", "one: pending"]);
    await leave("four", "console");
    sender.wake();
    await expect.poll(states).toEqual(["four: sent", "three: pending", "two: sent", "one: pending"]);
    expect(receiver.posts).toHaveLength(1);
  });

  it("of several channels is not asked for without end while the database fails", async () => {
    sender = new OutboxSender({ channels, logger: gateway.logger, retryDelaysMs: [5], recordDelayMs: 60_000_000 });
    await leave("one");
    await leave("two", "console");
    await leave("three", "gone");
    const confirm = vi.spyOn(channels, "confirmPlace").mockRejectedValue(new Error("no database"));
    const read = vi.spyOn(channels, "unsent");
    sender.wake();
    await sender.idle();
    expect(confirm.mock.calls.length).toBeLessThanOrEqual(3);
    expect(read.mock.calls.length).toBeLessThanOrEqual(4);
    expect(receiver.posts).toEqual([]);
  });

  it.each([
    ["sent", 204],
    ["given up", 410],
  ])("is %s once when the database fails, and recorded when it works again", async (_, status) => {
    sender = new OutboxSender({ channels, logger: gateway.logger, retryDelaysMs: [5], recordDelayMs: 20 });
    receiver.answer = (res) => void res.writeHead(status).end();
    await leave("one");
    const record = vi.spyOn(Outbox.prototype, "record").mockRejectedValue(new Error("disk is full"));
    sender.wake();
    await expect.poll(() => record.mock.calls.length).toBeGreaterThan(3);
    expect(await states()).toEqual(["one: pending"]);
    record.mockRestore();
    await expect.poll(states).toEqual([status === 204 ? "one: sent" : "one: failed"]);
    expect(receiver.posts).toHaveLength(1);
  });

  it("is given up at once when the channel refuses it permanently", async () => {
    receiver.answer = (res) => void res.writeHead(410).end();
    await leave("one");
    await leave("two", "gone");
    sender.wake();
    await sender.idle();
    expect(receiver.posts).toHaveLength(1);
    expect(await states()).toEqual(["two: failed", "one: failed"]);
  });

  it("stays there when the sender is stopped between tries", async () => {
    sender = new OutboxSender({ channels, logger: gateway.logger, retryDelaysMs: [60_000_000] });
    receiver.answer = (res) => void res.writeHead(503).end();
    await leave("one");
    sender.wake();
    await expect.poll(() => receiver.posts.length).toBe(1);
    await sender.stop();
    expect(await states()).toEqual(["one: pending"]);
    sender.wake();
    await sender.idle();
    expect(receiver.posts).toHaveLength(1);
  });

  it("stays there when the sender is stopped during a try, which then ends", async () => {
    const { webhook } = gateway.config.channels;
    const slow = { ...webhook!, timeoutMs: 60_000_000 };
    gateway.config = { ...gateway.config, channels: { console: { enabled: true }, webhook: slow, own: new Map() } };
    receiver.answer = () => undefined;
    await leave("one");
    sender.wake();
    await expect.poll(() => receiver.posts.length).toBe(1);
    await sender.stop();
    expect(await states()).toEqual(["one: pending"]);
    await expect.poll(() => receiver.abandoned).toBe(1);
  });

  it("is sent when the sender is woken just as it comes to an end", async () => {
    await leave("one");
    vi.spyOn(channels, "unsent").mockImplementationOnce(async () => {
      queueMicrotask(() => sender.wake());
      return [];
    });
    sender.wake();
    await expect.poll(states).toEqual(["one: sent"]);
  });

  it("is left alone, and the log says so, when the database cannot be read", async () => {
    await gateway.database.close();
    sender.wake();
    await sender.idle();
    expect(gateway.logger.lines).toMatchObject([{ level: "error" }]);
    await gateway.restart();
  });
});
