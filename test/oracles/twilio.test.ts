import {
  getExpectedBodyHash,
  getExpectedTwilioSignature,
  validateRequest,
  validateRequestWithBody,
} from "twilio/lib/webhooks/webhooks.js";
import { describe, expect, it } from "vitest";
import type { IncomingRequest } from "../../src/auth/verifier.ts";
import { twilio } from "../../src/presets/senders/twilio.ts";
import { receivedCall, NOW, PUBLIC_URL, signSample, verifyCall } from "../../src/testing/preset-probe.ts";
import { recordVectors } from "./record-vectors.ts";

const TOKEN = "0123456789abcdef0123456789abcdef";
const SIGNATURE = "x-twilio-signature";
const URL_OF_HOOK = `${PUBLIC_URL}/hooks/twilio`;
const JSON_BODY = JSON.stringify({ specversion: "1.0", type: "com.example", data: { a: "ü" } });

const paramsOf = (call: IncomingRequest) => Object.fromEntries(new URLSearchParams(Buffer.from(call.body).toString()));
const recorder = recordVectors(twilio, "twilio");

/** A form. */
const bothSay = (call: IncomingRequest, { token = TOKEN, publicUrl = PUBLIC_URL } = {}) =>
  recorder.judge(call, { secrets: [token], publicUrl }, () =>
    validateRequest(token, String(call.headers[SIGNATURE]), publicUrl + call.target, paramsOf(call)),
  );
/** Anything else, whose digest is in the URL. */
const bothSayOfBody = (call: IncomingRequest) =>
  recorder.judge(call, { secrets: [TOKEN] }, () =>
    validateRequestWithBody(
      TOKEN,
      String(call.headers[SIGNATURE]),
      PUBLIC_URL + call.target,
      Buffer.from(call.body).toString(),
    ),
  );

const signed = (name = "message.received"): IncomingRequest =>
  receivedCall(signSample(twilio, twilio.samples[name]!, { key: TOKEN, secrets: [TOKEN] }));

function call(target: string, body: string, contentType: string, signature: string): IncomingRequest {
  return {
    method: "POST",
    target,
    headers: { "content-type": contentType, [SIGNATURE]: signature },
    body: Buffer.from(body),
    receivedAt: NOW,
    pathSecret: undefined,
  };
}

/** A form as Twilio posts it, signed by the SDK. */
function sdkSigned(params: Record<string, string>, url = URL_OF_HOOK): IncomingRequest {
  const signature = getExpectedTwilioSignature(TOKEN, url, params);
  const target = url.replace(/^https:\/\/[^/]+/, "");
  return call(target, new URLSearchParams(params).toString(), "application/x-www-form-urlencoded", signature);
}

/** JSON as Twilio posts it, signed by the SDK. */
function sdkSignedJson(body = JSON_BODY): IncomingRequest {
  const url = `${URL_OF_HOOK}?a=b&bodySHA256=${getExpectedBodyHash(body)}`;
  const signature = getExpectedTwilioSignature(TOKEN, url, {});
  return call(url.slice(PUBLIC_URL.length), body, "application/json", signature);
}

describe("twilio against twilio", () => {
  it.each(Object.keys(twilio.samples))("both take the sample %s as we sign it", async (name) => {
    expect(await bothSay(signed(name))).toEqual({ we: true, sdk: true });
  });

  it.each([
    ["of ASCII", { MessageSid: "SM1", Body: "Hello" }],
    ["of other letters", { MessageSid: "SM1", Body: "Grüße 👋 & a=b + 100%" }],
    ["with empty fields", { MessageSid: "SM1", Body: "", Z: "", A: "1" }],
    ["whose names sort by capitals first", { b: "1", B: "2", a: "3", A: "4", _: "5" }],
  ])("both take a form %s that the SDK signs", async (_, params) => {
    const form = sdkSigned(params);
    expect(await bothSay(form)).toEqual({ we: true, sdk: true });
  });

  it("both take a query that is signed as it was sent", async () => {
    const form = sdkSigned({ MessageSid: "SM1" }, `${URL_OF_HOOK}?z=1&a=%27x%27&b=c+d`);
    expect(await bothSay(form)).toEqual({ we: true, sdk: true });
  });

  it("both take a URL that is signed with its port, and one without", async () => {
    const withPort = "https://gateway.example.com:443";
    const form = sdkSigned({ MessageSid: "SM1" }, `${withPort}/hooks/twilio`);
    expect(await bothSay(form)).toEqual({ we: true, sdk: true });
    const without = sdkSigned({ MessageSid: "SM1" });
    expect(await bothSay(without, { publicUrl: withPort })).toEqual({ we: true, sdk: true });
  });

  it("both take JSON by the digest in its URL, signed by either", async () => {
    const sdk = sdkSignedJson();
    expect(await bothSayOfBody(sdk)).toEqual({ we: true, sdk: true });
    const own = receivedCall(signSample(twilio, { payload: { a: "ü" } }, { key: TOKEN, secrets: [TOKEN] }));
    expect(await bothSayOfBody(own)).toEqual({ we: true, sdk: true });
  });

  it("both refuse JSON whose body is not the one of the digest", async () => {
    const changed = { ...sdkSignedJson(), body: Buffer.from(JSON_BODY.replace("1.0", "1.1")) };
    expect(await bothSayOfBody(changed)).toEqual({ we: false, sdk: false });
  });

  it("both refuse JSON whose digest has been changed with it", async () => {
    const body = JSON_BODY.replace("1.0", "1.1");
    const { target, ...rest } = sdkSignedJson();
    const changed = {
      ...rest,
      target: target.replace(/bodySHA256=.*/, `bodySHA256=${getExpectedBodyHash(body)}`),
      body: Buffer.from(body),
    };
    expect(await bothSayOfBody(changed)).toEqual({ we: false, sdk: false });
  });

  it("both refuse another token", async () => {
    const other = "ffffffffffffffffffffffffffffffff";
    expect(await bothSay(signed(), { token: other })).toEqual({ we: false, sdk: false });
  });

  it.each([
    ["a field is changed", (body: string) => body.replace("back", "front")],
    ["a field is added", (body: string) => `${body}&Extra=1`],
    ["a field is taken away", (body: string) => body.replace(/&AccountSid=[^&]*/, "")],
  ])("both refuse a form of which %s", async (_, change) => {
    const form = { ...signed(), body: Buffer.from(change(Buffer.from(signed().body).toString())) };
    expect(await bothSay(form)).toEqual({ we: false, sdk: false });
  });

  it("both refuse another path and another host", async () => {
    const form = signed();
    const moved = { ...form, target: "/hooks/other" };
    expect(await bothSay(moved)).toEqual({ we: false, sdk: false });
    const publicUrl = "https://other.example.com";
    expect(await bothSay(form, { publicUrl })).toEqual({ we: false, sdk: false });
  });

  it("both refuse a second signature behind the first", async () => {
    const form = signed();
    const signature = `${String(form.headers[SIGNATURE])}, ${String(form.headers[SIGNATURE])}`;
    const appended = { ...form, headers: { ...form.headers, [SIGNATURE]: signature } };
    expect(await bothSay(appended)).toEqual({ we: false, sdk: false });
  });

  it("we refuse what a server with the SDK may take: an unsigned body beside a signed URL", async () => {
    const signature = getExpectedTwilioSignature(TOKEN, URL_OF_HOOK, {});
    const bare = call("/hooks/twilio", JSON_BODY, "application/json", signature);
    const verdicts = recorder.judge(bare, { secrets: [TOKEN] }, () =>
      validateRequest(TOKEN, signature, URL_OF_HOOK, {}),
    );
    expect(await verdicts).toEqual({ we: false, sdk: true });
  });

  it("gives the same form the same name when it is sent twice, in any order of its fields", async () => {
    const first = await verifyCall(twilio, sdkSigned({ A: "1", B: "2" }), { secrets: [TOKEN] });
    const second = await verifyCall(twilio, sdkSigned({ B: "2", A: "1" }), { secrets: [TOKEN] });
    expect(first).toMatchObject({ ok: true, replay: { digest: expect.anything() } });
    expect(second).toEqual(first);
  });
});
