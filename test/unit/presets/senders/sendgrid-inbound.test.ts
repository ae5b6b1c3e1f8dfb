import { generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, it } from "vitest";
import { parseMultipart } from "../../../../src/http/parse-multipart.ts";
import type { PresetSample } from "../../../../src/presets/preset.ts";
import { sampleBody } from "../../../../src/presets/preset.ts";
import { sendgridInbound } from "../../../../src/presets/senders/sendgrid-inbound.ts";
import { NOW, readPayload, readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";

const mail = sendgridInbound.samples["mail"]!;
const withFields = (fields: object): PresetSample => ({ ...mail, payload: { ...(mail.payload as object), ...fields } });

describe("the preset sendgrid-inbound", () => {
  itReadsSamples(sendgridInbound, {
    mail: {
      event: "mail.received",
      sender: { name: "Ada Byron", id: "ada@example.com", bot: false, role: "verified" },
      message: [
        "New mail from Ada Byron <ada@example.com>: Re: Your order 1007",
        "To: support@in.example.com",
        "Date: Fri, 20 Nov 2026 12:59:50 +0100",
        "Message id: <CAF=ada-2@mail.example.com>",
        "In reply to: <order-1007@shop.example.com>",
        "References: <order-1007@shop.example.com>",
        "Checks: SPF pass, DKIM example.com pass",
        "Attachment: receipt.pdf (application/pdf, 8 bytes)",
        "Where is it?",
      ],
    },
    raw: {
      event: "mail.received",
      sender: { name: "grace@example.com", bot: false, unproven: true },
      message: [
        "New mail from grace@example.com: A receipt",
        "To: support@in.example.com",
        "Message id: <receipt-1@mail.example.com>",
        "Checks: SPF softfail, DKIM none",
        "Please see the receipt.",
      ],
    },
  });

  it("takes the ECDSA signature of time and raw body, for as long as SendGrid tries again", async () => {
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const secrets = [publicKey.export({ type: "spki", format: "der" }).toString("base64")];
    const call = sampleCall(sendgridInbound, "mail", (body) => ({
      "x-twilio-email-event-webhook-timestamp": String(NOW / 1_000),
      "x-twilio-email-event-webhook-signature": sign(
        "sha256",
        Buffer.concat([Buffer.from(String(NOW / 1_000)), body]),
        privateKey,
      ).toString("base64"),
    }));
    const verify = async (changed: object) =>
      (await verifyCall(sendgridInbound, { ...call, ...changed }, { secrets })).ok;
    expect(await verify({})).toBe(true);
    expect(await verify({ receivedAt: NOW + 71 * 3_600_000 })).toBe(true);
    expect(await verify({ receivedAt: NOW + 73 * 3_600_000 })).toBe(false);
    expect(await verify({ body: Buffer.concat([call.body, Buffer.from(" ")]) })).toBe(false);
    expect(await verify({ headers: { "content-type": call.headers["content-type"] } })).toBe(false);
  });

  it("reads each field in the charset that SendGrid names", () => {
    const { body, contentType } = sampleBody(
      withFields({ text: "TEXT", subject: "caf\u00E9", charsets: '{"text":"windows-1251","subject":"UTF-8"}' }),
    );
    const bytes = Buffer.from(
      Buffer.from(body).toString("latin1").replace("TEXT", "\xcf\xf0\xe8\xe2\xe5\xf2"),
      "latin1",
    );
    const payload = parseMultipart(bytes, contentType);
    const { message } = readPayload(sendgridInbound, payload, { sample: mail });
    expect(message).toContain("Привет");
    expect(message).toContain("café");
  });

  it("does not believe a part that the author of a mail wrote into its text", () => {
    const forged = ["Hi", "--xYzZY", 'Content-Disposition: form-data; name="SPF"', "", "pass"].join("\r\n");
    const { message } = readSample(sendgridInbound, withFields({ text: forged, SPF: "fail" }));
    expect(message).toContain("fields that come twice and may be forged: SPF");
    expect(message).not.toContain("SPF pass");
    const ended = `Hi\r\n--xYzZY--\r\n`;
    expect(() => readSample(sendgridInbound, withFields({ text: ended }))).toThrow("continues after its end");
  });
});
