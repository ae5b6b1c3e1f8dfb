import { sign } from "node:crypto";
import { EventWebhook } from "@sendgrid/eventwebhook";
import { describe, expect, it } from "vitest";
import { sendgrid } from "../../src/presets/senders/sendgrid.ts";
import { NOW, receivedCall, signSample, verifyCall } from "../../src/testing/preset-probe.ts";
import { fixedKey, fixedPublicKey, signP256 } from "./fixed-keys.ts";
import { recordVectors } from "./record-vectors.ts";

const SIGNATURE = "x-twilio-email-event-webhook-signature";
const TIMESTAMP = "x-twilio-email-event-webhook-timestamp";
const SECONDS = NOW / 1_000;

/** As SendGrid shows it: base64 of the SPKI form. */
const PUBLIC_KEY = fixedPublicKey("p256").export({ format: "der", type: "spki" }).toString("base64");

const SAMPLES = Object.entries(sendgrid.samples);
const BODY = `${JSON.stringify(SAMPLES[0]![1].payload)}\r\n`;

const signatureOf = (body = BODY, seconds = SECONDS) => signP256(seconds + body).toString("base64");
/** Another signature each time, as SendGrid makes it. */
const signedAnew = () => sign("sha256", Buffer.from(SECONDS + BODY), fixedKey("p256")).toString("base64");
const recorder = recordVectors(sendgrid, "@sendgrid/eventwebhook");

interface Sent {
  readonly signature?: string;
  readonly timestamp?: string;
  readonly body?: string;
}

const call = ({ signature = signatureOf(), timestamp = String(SECONDS), body = BODY }: Sent, receivedAt = NOW) =>
  receivedCall(
    {
      url: "https://gateway.example.com/hooks/sendgrid",
      headers: { "content-type": "application/json", [SIGNATURE]: signature, [TIMESTAMP]: timestamp },
      body: Buffer.from(body),
    },
    { receivedAt },
  );

function sdkAccepts({ signature = signatureOf(), timestamp = String(SECONDS), body = BODY }: Sent): boolean {
  const sdk = new EventWebhook();
  try {
    return sdk.verifySignature(sdk.convertPublicKeyToECDSA(PUBLIC_KEY), body, signature, timestamp);
  } catch {
    return false;
  }
}

const bothSay = (sent: Sent) => recorder.judge(call(sent), { secrets: [PUBLIC_KEY] }, () => sdkAccepts(sent));

describe("what the SDK of SendGrid says", () => {
  it("is accepted when it is signed with the key of the webhook", async () => {
    expect(await bothSay({})).toEqual({ we: true, sdk: true });
  });

  it.each(SAMPLES)("is that the sample %s is signed right", async (_, sample) => {
    const { headers, body } = signSample(sendgrid, sample, { secrets: [PUBLIC_KEY], key: fixedKey("p256") });
    const text = Buffer.from(body).toString();
    const timestamp = headers[TIMESTAMP]!;
    expect(sdkAccepts({ signature: headers[SIGNATURE]!, timestamp, body: text })).toBe(true);
    // Our signature is another one each time; what is recorded is not.
    expect(await bothSay({ signature: signatureOf(text), timestamp, body: text })).toEqual({ we: true, sdk: true });
  });

  it("is refused by both with a flipped byte, without the line end, or with another time", async () => {
    expect(await bothSay({ body: BODY.replace("ada", "eve") })).toEqual({ we: false, sdk: false });
    expect(await bothSay({ body: BODY.trim() })).toEqual({ we: false, sdk: false });
    expect(await bothSay({ timestamp: String(SECONDS + 1) })).toEqual({ we: false, sdk: false });
  });

  it("is refused by both when another key signs", async () => {
    const signature = signP256(SECONDS + BODY, "another-p256").toString("base64");
    expect(await bothSay({ signature })).toEqual({ we: false, sdk: false });
  });

  it.each(["", "garbage", "AAAA", "A".repeat(96)])("is refused by both for the signature %j", async (signature) => {
    expect(await bothSay({ signature })).toEqual({ we: false, sdk: false });
  });

  it.each([-86_401, 301])("is refused by us alone when it is stale: %d seconds", async (seconds) => {
    const timestamp = String(SECONDS + seconds);
    const signature = signatureOf(BODY, SECONDS + seconds);
    expect(await bothSay({ timestamp, signature })).toEqual({ we: false, sdk: true });
  });

  it("is accepted for the day in which SendGrid tries again", async () => {
    const seconds = SECONDS - 86_400;
    expect(await bothSay({ timestamp: String(seconds), signature: signatureOf(BODY, seconds) })).toEqual({
      we: true,
      sdk: true,
    });
  });

  it("is refused by us alone when the time is no number of seconds", async () => {
    const signature = signP256(`soon${BODY}`).toString("base64");
    expect(await bothSay({ timestamp: "soon", signature })).toEqual({ we: false, sdk: true });
  });

  it("is accepted a second time, also with a new signature, and recognized", async () => {
    const marks = await Promise.all(
      [signedAnew(), signedAnew()].map(async (signature) => {
        expect(sdkAccepts({ signature })).toBe(true);
        const verification = await verifyCall(sendgrid, call({ signature }), { secrets: [PUBLIC_KEY] });
        return verification.ok ? verification.replay : undefined;
      }),
    );
    expect(marks[0]).toBeDefined();
    expect(marks[0]).toEqual(marks[1]);
    expect(marks[0]!.expiresAt).toBeGreaterThanOrEqual(NOW + 86_400_000);
  });
});
