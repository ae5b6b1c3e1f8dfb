import { createHmac } from "node:crypto";
import { isValidSlackRequest } from "@slack/bolt";
import { describe, expect, it } from "vitest";
import type { IncomingRequest } from "../../src/auth/verifier.ts";
import { slack } from "../../src/presets/senders/slack/slack.ts";
import { receivedCall, NOW, signSample, verifyCall } from "../../src/testing/preset-probe.ts";
import { recordVectors } from "./record-vectors.ts";

const SECRET = "0123456789abcdef0123456789abcdef";
const SIGNATURE = "x-slack-signature";
const TIME = "x-slack-request-timestamp";

const signed = (name: string, now = NOW): IncomingRequest =>
  receivedCall(signSample(slack, slack.samples[name]!, { key: SECRET, secrets: [SECRET], now }));

const recorder = recordVectors(slack, "@slack/bolt");

/** The SDK knows one secret, the last one. */
const bothSay = (call: IncomingRequest, secrets = [SECRET]) =>
  recorder.judge(call, { secrets }, () => boltAccepts(call, secrets.at(-1)!));

function boltAccepts({ body, headers, receivedAt }: IncomingRequest, signingSecret: string): boolean {
  return isValidSlackRequest({
    signingSecret,
    body: Buffer.from(body).toString(),
    headers: {
      "x-slack-signature": String(headers[SIGNATURE]),
      "x-slack-request-timestamp": Number(headers[TIME]),
    },
    nowMilliseconds: receivedAt,
  });
}

function withHeader(call: IncomingRequest, name: string, value: string): IncomingRequest {
  return { ...call, headers: { ...call.headers, [name]: value } };
}

describe("slack against @slack/bolt", () => {
  it.each(Object.keys(slack.samples))("both take the sample %s as we sign it", async (name) => {
    const call = signed(name);
    expect(await bothSay(call)).toEqual({ we: true, sdk: true });
  });

  it("both take the request of Slack's documentation", async () => {
    const secret = "8f742231b10e8888abcd99yyyzzz85a5";
    const body =
      "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    const call: IncomingRequest = {
      ...signed("slash_command"),
      body: Buffer.from(body),
      headers: {
        "content-type": "application/x-www-form-urlencoded",
        [SIGNATURE]: "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
        [TIME]: "1531420618",
      },
      receivedAt: 1_531_420_618_000,
    };
    expect(await bothSay(call, [secret])).toEqual({ we: true, sdk: true });
    // It is good for nothing else: everybody knows the secret.
    expect(slack.secret?.known).toContain(secret);
  });

  it("both take a signature in the middle of a rotation of secrets", async () => {
    const secrets = ["ffffffffffffffffffffffffffffffff", SECRET];
    expect(await bothSay(signed("message"), secrets)).toEqual({ we: true, sdk: true });
  });

  it("both refuse another secret", async () => {
    const other = "ffffffffffffffffffffffffffffffff";
    const call = signed("message");
    expect(await bothSay(call, [other])).toEqual({ we: false, sdk: false });
  });

  it("both refuse a body with one bit flipped", async () => {
    const call = signed("message");
    const body = Buffer.from(call.body);
    body[10]! ^= 1;
    expect(await bothSay({ ...call, body })).toEqual({ we: false, sdk: false });
  });

  it("both refuse a signature with one digit changed", async () => {
    const call = signed("message");
    const signature = String(call.headers[SIGNATURE]);
    const changed = withHeader(call, SIGNATURE, signature.slice(0, -1) + (signature.endsWith("0") ? "1" : "0"));
    expect(await bothSay(changed)).toEqual({ we: false, sdk: false });
  });

  it("both refuse a time that is not the signed one", async () => {
    const changed = withHeader(signed("message"), TIME, String(NOW / 1000 + 1));
    expect(await bothSay(changed)).toEqual({ we: false, sdk: false });
  });

  it("both refuse a request that is older than five minutes", async () => {
    const stale = { ...signed("message"), receivedAt: NOW + 301_000 };
    expect(await bothSay(stale)).toEqual({ we: false, sdk: false });
    const late = { ...signed("message"), receivedAt: NOW + 299_000 };
    expect(await bothSay(late)).toEqual({ we: true, sdk: true });
  });

  it("both refuse a second signature behind the first", async () => {
    const call = signed("message");
    const appended = withHeader(call, SIGNATURE, `${String(call.headers[SIGNATURE])},v0=${"0".repeat(64)}`);
    expect(await bothSay(appended)).toEqual({ we: false, sdk: false });
  });

  it("we refuse what bolt takes: anything after a second =", async () => {
    const call = signed("message");
    const appended = withHeader(call, SIGNATURE, `${String(call.headers[SIGNATURE])}=${"0".repeat(64)}`);
    expect(await bothSay(appended)).toEqual({ we: false, sdk: true });
  });

  it("we refuse what bolt takes: a time far in the future", async () => {
    const early = { ...signed("message"), receivedAt: NOW - 3_600_000 };
    expect(await bothSay(early)).toEqual({ we: false, sdk: true });
  });

  it("both refuse a signed time that is no number", async () => {
    const call = signed("message");
    const signature = createHmac("sha256", SECRET)
      .update(`v0:NaN:${Buffer.from(call.body).toString()}`)
      .digest("hex");
    const odd = withHeader(withHeader(call, TIME, "soon"), SIGNATURE, `v0=${signature}`);
    expect(await bothSay(odd)).toEqual({ we: false, sdk: false });
  });

  it("gives the same request the same name when it is sent twice", async () => {
    const [first, second] = [
      await verifyCall(slack, signed("message"), { secrets: [SECRET] }),
      await verifyCall(slack, signed("message"), { secrets: [SECRET] }),
    ];
    expect(first).toMatchObject({ ok: true, replay: { digest: expect.anything() } });
    expect(second).toEqual(first);
  });
});
