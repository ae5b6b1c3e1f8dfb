import { expect, it } from "vitest";
import type { ChannelMessage, GatewayHost } from "../../../src/core/host.ts";
import type { SuiteContext } from "./describe-gateway-host.ts";

/** Messages to channels. */
export function testChannels({ shareProbe }: SuiteContext): void {
  function message(host: GatewayHost, text: string, idempotencyKey = text): ChannelMessage {
    const channel = host.channels.list().find(({ defaultTo }) => defaultTo !== undefined);
    if (channel?.defaultTo === undefined) throw new Error("The host has no channel with a recipient of its own.");
    return { channel: channel.id, to: channel.defaultTo, text, idempotencyKey };
  }

  it("lists channels by distinct ids", async () => {
    const { host } = await shareProbe();
    const ids = host.channels.list().map(({ id }) => id);
    expect(ids.length).toBeGreaterThan(0);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("sends a message and resolves when the channel took it", async () => {
    const { running, host } = await shareProbe();
    const greeting = message(host, "Hello.");
    await host.channels.send(greeting);
    expect(await running.sent(greeting.channel)).toContain("Hello.");
  });

  it("does not send a message with the same idempotency key again", async () => {
    const { running, host } = await shareProbe();
    const first = message(host, "Only once.", "the same");
    await host.channels.send(first);
    await host.channels.send({ ...first });
    const sent = await running.sent(first.channel);
    expect(sent.filter((text) => text === "Only once.")).toHaveLength(1);
  });

  it("rejects permanently what goes to an unknown channel", async () => {
    const { host } = await shareProbe();
    const lost = { ...message(host, "Hello."), channel: "no-such-channel" };
    await expect(host.channels.send(lost)).rejects.toMatchObject({ name: "HostError", retryable: false });
  });

  it("knows of no last route before the main session has talked to anybody", async () => {
    const { host } = await shareProbe();
    expect(await host.channels.lastRoute(host.agents.resolve(undefined).id)).toBeUndefined();
  });
}
