import { describe, expect, it } from "vitest";
import { postmarkInbound } from "../../../../src/presets/senders/postmark-inbound.ts";
import { readSample, verifyCall } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";
import { sampleCall } from "../sample-call.ts";

const LOGIN = "postmark:an-invented-password";

describe("the preset postmark-inbound", () => {
  itReadsSamples(postmarkInbound, {
    mail: {
      event: "mail.received",
      deliveryId: "73e6d360-66eb-11e1-8e72-a8904824019b",
      sender: { name: "Ada Byron", id: "ada@example.com", bot: false },
      message: [
        "New mail from Ada Byron <ada@example.com>: Re: Your order 1007",
        'To: "Support" <451d9b70cf9364d23ff6f9d51d870251569e@inbound.postmarkapp.com>',
        "Date: Fri, 20 Nov 2026 12:59:50 +0100",
        "Message id: <CAF=ada-2@mail.example.com>",
        "In reply to: <order-1007@shop.example.com>",
        "References: <order-1007@shop.example.com>",
        "Checks: SPF pass, DKIM pass",
        "Attachment: receipt.pdf (application/pdf, 9 bytes)",
        "Where is it?",
      ],
    },
    automatic_reply: {
      event: "mail.received",
      deliveryId: "a8c1040e-db1c-4e18-ac79-bc5f64c7ce2c",
      sender: { name: "Grace Murray", id: "grace@example.com", bot: true },
      message: [
        "New mail from Grace Murray <grace@example.com>: Out of office",
        "To: support@in.example.com",
        "Date: Fri, 20 Nov 2026 12:59:55 +0100",
        "Message id: a8c1040e-db1c-4e18-ac79-bc5f64c7ce2c",
        "I am away",
        "until Monday.",
      ],
    },
  });

  it("takes the user name and password of the URL, and no others", async () => {
    const verify = async (login: string) => {
      const authorization = `Basic ${Buffer.from(login).toString("base64")}`;
      const call = sampleCall(postmarkInbound, "mail", () => ({ authorization }));
      return (await verifyCall(postmarkInbound, call, { secrets: [LOGIN] })).ok;
    };
    expect(await verify(LOGIN)).toBe(true);
    expect(await verify("postmark:another-password")).toBe(false);
    expect(await verify("")).toBe(false);
  });

  it("reads the text with its history when Postmark found no reply in it", () => {
    const { payload } = postmarkInbound.samples["mail"]!;
    const { message } = readSample(postmarkInbound, { payload: { ...(payload as object), StrippedTextReply: "" } });
    expect(message).toContain("Where is it?\n\n> Your order is on its way.");
  });

  it("says what failed of the checks", () => {
    const Headers = [
      { Name: "X-Spam-Status", Value: "Yes" },
      { Name: "X-Spam-Tests", Value: "DKIM_INVALID,DKIM_SIGNED" },
      { Name: "Received-SPF", Value: "Fail (no)" },
      { Name: "Received-SPF", Value: "Pass (written by the sender of the mail)" },
    ];
    expect(readSample(postmarkInbound, { payload: { From: "a@example.com", Headers } }).message).toBe(
      "New mail from a@example.com\nChecks: SPF fail, DKIM fail, spam",
    );
  });
});
