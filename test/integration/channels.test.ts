import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { DeliverySummary } from "../../src/core/delivery.ts";
import type { EmbeddedGateway } from "../../src/hosts/embedded/gateway.ts";
import { HTTP_CHANNELS } from "../conformance/channel/http-platforms.ts";
import { MAIL_CHANNEL, type MailServer } from "../conformance/channel/mail-server.ts";
import type { Platform } from "../conformance/channel/platform.ts";
import { baseConfig, callHook, GatewayFixture, readApi } from "../unit/hosts/embedded/gateway/fixture.ts";

let telegram: Platform;
let mail: MailServer;
let fixture: GatewayFixture;
let gateway: EmbeddedGateway;

beforeAll(async () => {
  const chat = await HTTP_CHANNELS.find(({ name }) => name === "telegram")!.open();
  const post = await MAIL_CHANNEL.open();
  telegram = chat.platform;
  mail = post.platform as MailServer;
  const mapping = { mode: "deliver", messageTemplate: "**{{text}}**" };
  fixture = new GatewayFixture({
    ...baseConfig,
    channels: {
      console: { enabled: false },
      telegram: { ...chat.written, to: "recipient" },
      mail: { ...post.written, to: "owner@example.com", subject: "From the agent" },
    },
    hooks: {
      ...baseConfig.hooks,
      mappings: [
        { ...mapping, id: "chat", match: { path: "chat" }, channel: "telegram", retry: { delivery: { attempts: 1 } } },
        { ...mapping, id: "mail", match: { path: "mail" }, channel: "mail", sessionKey: "hook:mail" },
        { id: "agent", match: { path: "agent-run" }, messageTemplate: "{{text}}", channel: "mail" },
      ],
    },
  });
  gateway = await fixture.start();
});
afterAll(async () => {
  await fixture.remove();
  await telegram[Symbol.asyncDispose]();
  await mail[Symbol.asyncDispose]();
});

async function settled(path: string, text: string): Promise<DeliverySummary> {
  const { deliveryId } = (await (await callHook(gateway, `/hooks/${path}`, { text })).json()) as { deliveryId: string };
  return await vi.waitFor(async () => {
    const delivery = (await (await readApi(gateway, `deliveries/${deliveryId}`)).json()) as DeliverySummary;
    expect(delivery.settledAt).toBeDefined();
    return delivery;
  }, 15_000);
}

describe("replies on the channels that people read", () => {
  it("reach a Telegram chat, written as it takes them", async () => {
    expect(await settled("chat", "Disk <full>")).toMatchObject({ state: "done" });
    expect(telegram.taken.at(-1)).toBe("<b>Disk &lt;full&gt;</b>");
  });

  it("reach a mailbox, those of one session as one thread", async () => {
    await settled("mail", "One");
    await settled("mail", "Two");
    await settled("agent-run", "Three");
    const heads = mail.heads.map((head) => head.replaceAll("\r\n", "\n"));
    expect(heads[0]).toMatch(/^From: agent@example\.com$/mu);
    expect(heads[0]).toMatch(/^To: owner@example\.com$/mu);
    expect(heads[0]).toMatch(/^Subject: From the agent$/mu);
    expect(heads[0]).toMatch(/^Auto-Submitted: auto-generated$/mu);
    expect(heads[0]!.replaceAll(/\n\s+/gu, " ")).toMatch(
      /^Reveille-Chain: reveille-chain\.dlv_\w{24}\.0\.0\.\w{32}$/mu,
    );
    const [threads, ids] = [/^References: (\S+)$/mu, /^Message-ID: (\S+)$/mu].map((line) =>
      heads.map((head) => line.exec(head)?.[1]),
    );
    expect(new Set(threads!.slice(0, 2)).size).toBe(1);
    expect(new Set(ids).size).toBe(3);
    expect(mail.taken.at(-1)).toContain("built-in offline agent");
  });

  it("are failed with the platform's reason, which holds no secret, and succeed when replayed", async () => {
    telegram.mood = "refuses";
    const failed = await settled("chat", "Refused");
    expect(failed).toMatchObject({
      state: "failed",
      reason: expect.stringContaining("chat of *** not found") as string,
    });
    const shown = async (): Promise<unknown> => (await readApi(gateway, "outages")).json();
    expect(await shown()).toEqual({
      outages: [
        {
          subject: "channel:telegram",
          text: "Replies cannot be delivered on the channel telegram; the first came from the mapping chat. They are kept: reveille deliveries list --state failed",
          detail: expect.stringContaining("chat of *** not found") as string,
          failures: 1,
        },
      ],
    });
    telegram.mood = "takes";
    const { taken } = telegram;
    const before = taken.length;
    await fetch(`${gateway.url}/api/v1/deliveries/${failed.id}/replay`, {
      method: "POST",
      headers: { authorization: "Bearer gateway-token-of-these-tests", "content-type": "application/json" },
      body: "{}",
    });
    await vi.waitFor(() => expect(taken.length).toBe(before + 1), 15_000);
    await vi.waitFor(async () => expect(await shown()).toEqual({ outages: [] }), 15_000);
  });
});
