import { describe, expect, it } from "vitest";
import { resend } from "../../../../src/presets/senders/resend.ts";
import { readSample } from "../../../../src/testing/preset-probe.ts";
import { itReadsSamples } from "../it-reads-samples.ts";

describe("the preset resend", () => {
  itReadsSamples(resend, {
    "email.received": {
      event: "email.received",
      sender: {
        name: "Ada <ada@example.net>",
        bot: false,
      },
      message: [
        "Resend: new mail from Ada <ada@example.net>",
        "Subject: Where is my order?",
        "To: support@example.com",
        "Attachment: receipt.pdf",
        "Email id: 56761188-7520-42d8-8898-ff6fc54ce618",
        "Its text is not in the webhook: GET https://api.resend.com/emails/receiving/<email id>.",
      ],
    },
    "email.bounced": {
      event: "email.bounced",
      message: [
        "Resend: email bounced for ada@example.net",
        "Subject: Your order",
        "From: Example Shop <shop@example.com>",
        "Reason: Permanent Suppressed, The recipient's email address is on the suppression list because it has a recent history of bounces.",
        "Email id: 56761188-7520-42d8-8898-ff6fc54ce618",
      ],
    },
    "email.clicked": {
      event: "email.clicked",
      message: [
        "Resend: email clicked for ada@example.net",
        "Subject: Your order",
        "From: Example Shop <shop@example.com>",
        "Link: https://shop.example.com/orders/1007",
        "Email id: 56761188-7520-42d8-8898-ff6fc54ce618",
      ],
    },
    "contact.created": {
      event: "contact.created",
      message: [
        "Resend: contact created ada@example.net",
        "id: e169aa45-1ecf-4183-9955-b1499d5701d3",
        "email: ada@example.net",
        "first_name: Ada",
        "unsubscribed: false",
      ],
    },
  });
});

describe("messages of Resend", () => {
  it("say why a mail failed", () => {
    const payload = {
      type: "email.failed",
      data: { failed: { reason: "reached_daily_quota" }, to: ["a@example.net", 7, null] },
    };
    expect(readSample(resend, { payload }).message).toBe(
      "Resend: email failed for a@example.net, 7\nReason: reached_daily_quota",
    );
  });

  it("have a sender only when a mail came in", () => {
    const data = { from: "Ada <ada@example.net>" };
    expect(readSample(resend, { payload: { type: "email.sent", data } }).sender).toBeUndefined();
    expect(readSample(resend, { payload: { type: "email.received", data: {} } }).sender).toBeUndefined();
  });
});
