import { expect, it, vi } from "vitest";
import type { ChannelMessage } from "../../../../src/core/host.ts";
import type { SessionEntry } from "../../../../src/hosts/openclaw/sdk.ts";
import { FakeOpenClaw } from "./fake-openclaw.ts";
import { OpenGateway } from "./open-gateway.ts";

function withTelegram(): FakeOpenClaw {
  const openClaw = new FakeOpenClaw();
  openClaw.config = { channels: { telegram: {} } };
  return openClaw;
}

const message: ChannelMessage = { channel: "telegram", to: "7", text: "Hello.", idempotencyKey: "k" };

it("sends a message once, also when two calls bring it and when the gateway was restarted between", async () => {
  const openClaw = withTelegram();
  const first = await OpenGateway.start({ openClaw });
  await Promise.all([first.host.channels.send(message), first.host.channels.send(message)]);
  await first.gateway.stop();
  await using second = await OpenGateway.start({ openClaw });
  await second.host.channels.send(message);
  expect(openClaw.sent).toEqual([{ to: "7", text: "Hello." }]);
});

it("sends a long text in the channel's parts, and continues behind the last one that was taken", async () => {
  await using opened = await OpenGateway.start({ openClaw: withTelegram() });
  const { openClaw } = opened;
  let failures = 1;
  openClaw.adapter = {
    textChunkLimit: 4,
    chunker: (text, limit) => text.match(new RegExp(`.{1,${limit}}`, "g")) ?? [],
    async sendText({ to, text }) {
      if (text === "5678" && failures-- > 0) throw new Error("socket hang up");
      openClaw.sent.push({ to, text });
    },
  };
  const long = { ...message, text: "123456789" };
  await expect(opened.host.channels.send(long)).rejects.toMatchObject({ name: "HostError", retryable: true });
  await opened.host.channels.send(long);
  expect(openClaw.sent.map(({ text }) => text)).toEqual(["1234", "5678", "9"]);
});

it("rejects permanently what the channel calls wrong, without the bot's token", async () => {
  await using opened = await OpenGateway.start({ openClaw: withTelegram() });
  opened.openClaw.adapter = {
    sendText: async () => {
      throw new Error("400: Bad Request: chat not found at https://api.telegram.org/bot1:secret/sendMessage");
    },
  };
  const failure = opened.host.channels.send(message);
  await expect(failure).rejects.toMatchObject({ retryable: false });
  await expect(failure).rejects.not.toThrow("secret");
});

it("rejects permanently what goes to a channel that is not configured or cannot send, and retryably when it is not loaded", async () => {
  await using opened = await OpenGateway.start({ openClaw: withTelegram() });
  const { channels } = opened.host;
  await expect(channels.send({ ...message, channel: "fax" })).rejects.toMatchObject({ retryable: false });
  opened.openClaw.adapter = {};
  await expect(channels.send(message)).rejects.toMatchObject({ retryable: false });
  opened.openClaw.adapter = undefined;
  await expect(channels.send(message)).rejects.toMatchObject({ retryable: true });
  opened.openClaw.api.runtime.channel.outbound.loadAdapter = () => Promise.reject(new Error("loading"));
  await expect(channels.send(message)).rejects.toMatchObject({ retryable: true });
});

it("knows the last route in the form of today and of before", async () => {
  await using opened = await OpenGateway.start();
  const { entries } = opened.openClaw;
  // Each time of another main session's agent: what was read a moment ago is not read again.
  let agents = 0;
  const route = async (entry?: SessionEntry): Promise<unknown> => {
    const agent = `agent-${agents++}`;
    if (entry !== undefined) entries.set(`agent:${agent}:main`, entry);
    return opened.host.channels.lastRoute(agent);
  };
  expect(await route()).toBeUndefined();
  const telegram = { kind: "external", context: { channel: "telegram", to: "7" } };
  expect(await route({ delivery: telegram })).toEqual({ channel: "telegram", to: "7" });
  const slack = { delivery: { kind: "internal" }, lastChannel: "slack", lastTo: "C1" };
  expect(await route(slack)).toEqual({ channel: "slack", to: "C1" });
  expect(await route({ lastChannel: "slack" })).toBeUndefined();
});

it("asks the host for a last route once a second at most, and then sees what has changed", async () => {
  await using opened = await OpenGateway.start();
  const { entries } = opened.openClaw;
  const route = async (): Promise<unknown> => opened.host.channels.lastRoute("main");
  const now = vi.spyOn(performance, "now").mockReturnValue(5_000);
  entries.set("agent:main:main", { lastChannel: "slack", lastTo: "C1" });
  expect(await route()).toEqual({ channel: "slack", to: "C1" });
  entries.set("agent:main:main", { lastChannel: "slack", lastTo: "C2" });
  expect(await route()).toEqual({ channel: "slack", to: "C1" });
  now.mockReturnValue(6_000);
  expect(await route()).toEqual({ channel: "slack", to: "C2" });
  now.mockRestore();
});

it("keeps the account and the thread of the last conversation, and sends there", async () => {
  await using opened = await OpenGateway.start({ openClaw: withTelegram() });
  const { openClaw } = opened;
  const context = { channel: "telegram", to: "7", accountId: "work", threadId: 42 };
  openClaw.entries.set("agent:main:main", { delivery: { kind: "external", context } });
  const route = await opened.host.channels.lastRoute("main");
  expect(route).toEqual(context);
  await opened.host.channels.send({ ...message, ...route });
  expect(openClaw.sent).toEqual([{ to: "7", text: "Hello.", accountId: "work", threadId: 42 }]);
});

it("finds them in the session of an older host too", async () => {
  await using opened = await OpenGateway.start({ openClaw: withTelegram() });
  const entry: SessionEntry = { lastChannel: "telegram", lastTo: "7", lastAccountId: "work", lastThreadId: "9" };
  opened.openClaw.entries.set("agent:main:main", entry);
  expect(await opened.host.channels.lastRoute("main")).toEqual({
    channel: "telegram",
    to: "7",
    accountId: "work",
    threadId: "9",
  });
});
