import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { IncomingRequest } from "../../../../src/auth/verifier.ts";
import { intercom } from "../../../../src/presets/senders/intercom.ts";
import { meta } from "../../../../src/presets/senders/meta/meta.ts";
import { x } from "../../../../src/presets/senders/x.ts";
import { zendesk } from "../../../../src/presets/senders/zendesk.ts";
import { receivedCall, NOW, signSample, verifyCall } from "../../../../src/testing/preset-probe.ts";

const SECRET = "0123456789abcdef0123456789abcdef";
/** Meta escapes what is not ASCII, and signs it so. */
const BODY = '{"object":"page","entry":[{"messaging":[{"message":{"text":"Gr\\u00fc\\u00dfe"}}]}]}';
const TIME = "2026-11-20T12:00:00Z";

const hmac = (algorithm: string, content: string) => createHmac(algorithm, SECRET).update(content);

/** Senders without an SDK that verifies: what their documentation says, made with Node alone. */
const SENDERS = [
  ["meta", meta, { "x-hub-signature-256": `sha256=${hmac("sha256", BODY).digest("hex")}` }],
  ["intercom", intercom, { "x-hub-signature": `sha1=${hmac("sha1", BODY).digest("hex")}` }],
  ["x", x, { "x-twitter-webhooks-signature": `sha256=${hmac("sha256", BODY).digest("base64")}` }],
  [
    "zendesk",
    zendesk,
    {
      "x-zendesk-webhook-signature": hmac("sha256", TIME + BODY).digest("base64"),
      "x-zendesk-webhook-signature-timestamp": TIME,
    },
  ],
] as const;

describe.each(SENDERS)("the signature of %s", (name, preset, signature) => {
  const options = { secrets: [SECRET] };
  const call: IncomingRequest = {
    method: "POST",
    target: `/hooks/${name}`,
    headers: { "content-type": "application/json", ...signature },
    body: Buffer.from(BODY),
    receivedAt: NOW,
    pathSecret: undefined,
  };
  const isTaken = async (changes: Partial<IncomingRequest>) =>
    (await verifyCall(preset, { ...call, ...changes }, options)).ok;
  const [[header, value]] = Object.entries(signature) as [[string, string]];

  it("is taken as the documentation has it", async () => {
    expect(await isTaken({})).toBe(true);
  });

  it("is taken as we make it", async () => {
    const signed = signSample(preset, Object.values(preset.samples)[0]!, { key: SECRET, ...options });
    expect((await verifyCall(preset, receivedCall(signed), options)).ok).toBe(true);
    expect(signed.headers[header]).toHaveLength(value.length);
  });

  it("is refused for the same JSON in other bytes", async () => {
    expect(await isTaken({ body: Buffer.from(BODY.replaceAll("\\u00fc", "ü")) })).toBe(false);
  });

  it("is refused when it is missing, another's, or not alone", async () => {
    const other = value.split("").toReversed().join("");
    for (const wrong of [undefined, "", other, `${value},${value}`, `${value} `.repeat(2).trim(), value.slice(0, -4)]) {
      expect(await isTaken({ headers: { ...call.headers, [header]: wrong } })).toBe(false);
    }
  });
});
