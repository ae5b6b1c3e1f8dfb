import { EventWebhook } from "@sendgrid/eventwebhook";
import { describe, expect, it } from "vitest";
import { sampleBody } from "../../src/presets/preset.ts";
import { sendgridInbound } from "../../src/presets/senders/sendgrid-inbound.ts";
import { NOW, receivedCall } from "../../src/testing/preset-probe.ts";
import { fixedPublicKey, signP256 } from "./fixed-keys.ts";
import { recordVectors } from "./record-vectors.ts";

const SIGNATURE = "x-twilio-email-event-webhook-signature";
const TIMESTAMP = "x-twilio-email-event-webhook-timestamp";
const SECONDS = String(NOW / 1_000);
const PUBLIC_KEY = fixedPublicKey("p256").export({ format: "der", type: "spki" }).toString("base64");

const recorder = recordVectors(sendgridInbound, "@sendgrid/eventwebhook");

function bothSay(body: string, contentType: string, signature: string) {
  const headers = { "content-type": contentType, [SIGNATURE]: signature, [TIMESTAMP]: SECONDS };
  const url = "https://gateway.example.com/hooks/sendgrid-inbound";
  return recorder.judge(receivedCall({ url, headers, body: Buffer.from(body) }), { secrets: [PUBLIC_KEY] }, () => {
    const sdk = new EventWebhook();
    return sdk.verifySignature(sdk.convertPublicKeyToECDSA(PUBLIC_KEY), body, signature, SECONDS);
  });
}

describe("what the SDK of SendGrid says of a mail", () => {
  it.each(Object.entries(sendgridInbound.samples))(
    "is that the sample %s is signed over its raw form",
    async (_, sample) => {
      const { body, contentType } = sampleBody(sample);
      const text = Buffer.from(body).toString();
      const signature = signP256(SECONDS + text).toString("base64");
      expect(await bothSay(text, contentType, signature)).toEqual({ we: true, sdk: true });
      expect(await bothSay(text.replace("ada", "eve").replace("grace", "grade"), contentType, signature)).toEqual({
        we: false,
        sdk: false,
      });
      const other = signP256(SECONDS + text, "another-p256").toString("base64");
      expect(await bothSay(text, contentType, other)).toEqual({ we: false, sdk: false });
    },
  );
});
