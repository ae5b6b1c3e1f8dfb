import { createHmac } from "node:crypto";
import { isValidSlackRequest } from "@slack/bolt";
import { describe, expect, it } from "vitest";
import type { IncomingRequest } from "../../../src/auth/verifier.ts";
import { slack } from "../../../src/presets/senders/slack/slack.ts";
import { receivedCall, NOW, signSample, verifyCall } from "../../../src/testing/preset-probe.ts";

const SECRET = "0123456789abcdef0123456789abcdef";
const SIGNATURE = "x-slack-signature";
const TIME = "x-slack-request-timestamp";

const signed = (name: string, now = NOW): IncomingRequest =>
  receivedCall(signSample(slack, slack.samples[name]!, { key: SECRET, secrets: [SECRET], now }));

const weAccept = async (call: IncomingRequest, secrets = [SECRET]) => (await verifyCall(slack, call, { secrets })).ok;

function boltAccepts({ body, headers, receivedAt }: IncomingRequest, signingSecret = SECRET): boolean {
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
    expect([await weAccept(call), boltAccepts(call)]).toEqual([true, true]);
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
    expect([await weAccept(call, [secret]), boltAccepts(call, secret)]).toEqual([true, true]);
    // It is good for nothing else: everybody knows the secret.
    expect(slack.secret?.known).toContain(secret);
  });

  it("both take a signature in the middle of a rotation of secrets", async () => {
    const call = signed("message");
    expect(await weAccept(call, ["ffffffffffffffffffffffffffffffff", SECRET])).toBe(true);
    expect(boltAccepts(call)).toBe(true);
  });

  it("both refuse another secret", async () => {
    const other = "ffffffffffffffffffffffffffffffff";
    const call = signed("message");
    expect([await weAccept(call, [other]), boltAccepts(call, other)]).toEqual([false, false]);
  });

  it("both refuse a body with one bit flipped", async () => {
    const call = signed("message");
    const body = Buffer.from(call.body);
    body[10]! ^= 1;
    expect([await weAccept({ ...call, body }), boltAccepts({ ...call, body })]).toEqual([false, false]);
  });

  it("both refuse a signature with one digit changed", async () => {
    const call = signed("message");
    const signature = String(call.headers[SIGNATURE]);
    const changed = withHeader(call, SIGNATURE, signature.slice(0, -1) + (signature.endsWith("0") ? "1" : "0"));
    expect([await weAccept(changed), boltAccepts(changed)]).toEqual([false, false]);
  });

  it("both refuse a time that is not the signed one", async () => {
    const changed = withHeader(signed("message"), TIME, String(NOW / 1000 + 1));
    expect([await weAccept(changed), boltAccepts(changed)]).toEqual([false, false]);
  });

  it("both refuse a request that is older than five minutes", async () => {
    const stale = { ...signed("message"), receivedAt: NOW + 301_000 };
    expect([await weAccept(stale), boltAccepts(stale)]).toEqual([false, false]);
    const late = { ...signed("message"), receivedAt: NOW + 299_000 };
    expect([await weAccept(late), boltAccepts(late)]).toEqual([true, true]);
  });

  it("both refuse a second signature behind the first", async () => {
    const call = signed("message");
    const appended = withHeader(call, SIGNATURE, `${String(call.headers[SIGNATURE])},v0=${"0".repeat(64)}`);
    expect([await weAccept(appended), boltAccepts(appended)]).toEqual([false, false]);
  });

  it("we refuse what bolt takes: anything after a second =", async () => {
    const call = signed("message");
    const appended = withHeader(call, SIGNATURE, `${String(call.headers[SIGNATURE])}=${"0".repeat(64)}`);
    expect([await weAccept(appended), boltAccepts(appended)]).toEqual([false, true]);
  });

  it("we refuse what bolt takes: a time far in the future", async () => {
    const early = { ...signed("message"), receivedAt: NOW - 3_600_000 };
    expect([await weAccept(early), boltAccepts(early)]).toEqual([false, true]);
  });

  it("we refuse what bolt takes: a signed time that is no number", async () => {
    const call = signed("message");
    const signature = createHmac("sha256", SECRET)
      .update(`v0:NaN:${Buffer.from(call.body).toString()}`)
      .digest("hex");
    const odd = withHeader(withHeader(call, TIME, "soon"), SIGNATURE, `v0=${signature}`);
    expect(await weAccept(odd)).toBe(false);
  });

  it("names the same request the same for whoever sends it twice", async () => {
    const [first, second] = [
      await verifyCall(slack, signed("message"), { secrets: [SECRET] }),
      await verifyCall(slack, signed("message"), { secrets: [SECRET] }),
    ];
    expect(first).toMatchObject({ ok: true, replay: { digest: expect.anything() } });
    expect(second).toEqual(first);
  });
});
