import { Bot, webhookCallback } from "grammy";
import { describe, expect, it } from "vitest";
import type { IncomingRequest } from "../../src/auth/verifier.ts";
import { telegram } from "../../src/presets/senders/telegram.ts";
import { receivedCall, PUBLIC_URL, signSample } from "../../src/testing/preset-probe.ts";
import { recordVectors } from "./record-vectors.ts";

const SECRET = "invented_secret-token_0123456789";
const HEADER = "x-telegram-bot-api-secret-token";

const signed = (name = "message"): IncomingRequest =>
  receivedCall(signSample(telegram, telegram.samples[name]!, { key: SECRET, secrets: [SECRET] }));
const recorder = recordVectors(telegram, "grammy");

/** The status with which a grammY bot answers. */
async function grammyStatus(call: IncomingRequest): Promise<number> {
  const bot = new Bot("1:invented", {
    botInfo: {
      id: 1,
      is_bot: true,
      first_name: "Agent",
      username: "example_agent_bot",
      can_join_groups: true,
      can_read_all_group_messages: false,
      supports_inline_queries: false,
      can_connect_to_business: false,
      has_main_web_app: false,
      has_topics_enabled: false,
      allows_users_to_create_topics: false,
      can_manage_bots: false,
    } as Bot["botInfo"],
  });
  const handle = webhookCallback(bot, "std/http", { secretToken: SECRET });
  const headers = new Headers(Object.entries(call.headers).map(([name, value]) => [name, String(value)]));
  const body = Buffer.from(call.body).toString();
  return (await handle(new Request(PUBLIC_URL + call.target, { method: "POST", headers, body }))).status;
}

/** A bot accepts with 200 and refuses with 401; it answers nothing else. */
const bothSay = (call: IncomingRequest) =>
  recorder.judge(call, { secrets: [SECRET] }, async () => {
    const status = await grammyStatus(call);
    expect([200, 401]).toContain(status);
    return status === 200;
  });

const withHeaders = (headers: IncomingRequest["headers"]): IncomingRequest => ({ ...signed(), headers });

describe("telegram against grammy", () => {
  it.each(Object.keys(telegram.samples))("both take the sample %s with the token", async (name) => {
    expect(await bothSay(signed(name))).toEqual({ we: true, sdk: true });
  });

  it.each([
    ["one letter off", SECRET.replace("i", "j")],
    ["a beginning of it", SECRET.slice(0, -1)],
    ["more than it", `${SECRET}0`],
    ["in capitals", SECRET.toUpperCase()],
    ["twice", `${SECRET}, ${SECRET}`],
    ["nothing", ""],
  ])("both refuse a token that is %s", async (_, token) => {
    const call = withHeaders({ "content-type": "application/json", [HEADER]: token });
    expect(await bothSay(call)).toEqual({ we: false, sdk: false });
  });

  it("both refuse a request without the header", async () => {
    const call = withHeaders({ "content-type": "application/json" });
    expect(await bothSay(call)).toEqual({ we: false, sdk: false });
  });

  it("both take another body with the token: Telegram signs none", async () => {
    const call = { ...signed(), body: Buffer.from('{"update_id":1}') };
    expect(await bothSay(call)).toEqual({ we: true, sdk: true });
    expect(telegram.deliveryIdSigned).toBe(false);
  });
});
