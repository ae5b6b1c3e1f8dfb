import { definePreset } from "../define-preset.ts";
import { eventActor } from "../event-fields.ts";
import { itemLines, joinText, labeled, listAt, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import { dataLines } from "../message/data-lines.ts";
import { headline, lineAt, phrase, spoken } from "../message/headline.ts";
import { whsecSender } from "./standard-webhooks/whsec-sender.ts";

const EMAIL_ID = "56761188-7520-42d8-8898-ff6fc54ce618";

function mail(type: string, more: object) {
  const data = {
    email_id: EMAIL_ID,
    created_at: "2026-11-20T11:59:57.894719+00:00",
    from: "Example Shop <shop@example.com>",
    to: ["ada@example.net"],
    subject: "Your order",
    ...more,
  };
  return { payload: { type, created_at: "2026-11-20T11:59:58.126Z", data } };
}

/** Events of mails, contacts and domains of Resend, delivered by Svix. */
export const resend = definePreset({
  name: "resend",
  title: "Resend",
  documentation: "https://resend.com/docs/webhooks/introduction",
  ...whsecSender("svix", "Signing Secret"),
  event: "body:type",
  sender({ payload }) {
    const name = lineAt(payload, "type") === "email.received" ? lineAt(payload, "data.from") : "";
    return eventActor(name);
  },
  mapping: { name: "Resend" },
  message({ payload }) {
    const type = lineAt(payload, "type");
    const data = valueAt(payload, "data");
    if (type.startsWith("email.")) return messageOf(mailLines(type, data));
    return messageOf(
      headline(`Resend: ${spoken(type) || "new event"}`, lineAt(data, "email", "name")),
      dataLines(data),
    );
  },
  success: { statuses: "2xx", otherwise: "tries again for about a day (Svix), then may disable the endpoint" },
  ignored: "nothing. Resend marks no bots",
  samples: {
    "email.received": mail("email.received", {
      from: "Ada <ada@example.net>",
      to: ["support@example.com"],
      cc: [],
      bcc: [],
      message_id: "<111-222-333@example.net>",
      subject: "Where is my order?",
      attachments: [
        { id: "2a0c9ce0-3112-4728-976e-47ddcd16a318", filename: "receipt.pdf", content_type: "application/pdf" },
      ],
    }),
    "email.bounced": mail("email.bounced", {
      bounce: {
        message: "The recipient's email address is on the suppression list because it has a recent history of bounces.",
        subType: "Suppressed",
        type: "Permanent",
      },
      tags: { category: "order" },
    }),
    "email.clicked": mail("email.clicked", {
      click: {
        ipAddress: "192.0.2.7",
        link: "https://shop.example.com/orders/1007",
        timestamp: "2026-11-20T11:59:57.154Z",
      },
    }),
    "contact.created": {
      payload: {
        type: "contact.created",
        created_at: "2026-11-20T11:59:58.126Z",
        data: {
          id: "e169aa45-1ecf-4183-9955-b1499d5701d3",
          email: "ada@example.net",
          first_name: "Ada",
          unsubscribed: false,
        },
      },
    },
  },
  setup: [
    "Open https://resend.com/webhooks: Add Webhook, paste {url} and choose the events.",
    "Open the webhook, copy its {secret} (whsec_...) and set it as hooks.resend.secret.",
  ],
});

function mailLines(type: string, data: unknown): readonly string[] {
  const received = type === "email.received";
  const to = joinText(", ", ...itemLines(listAt(data, "to"), (address) => lineAt(address, ""), 10));
  const subject = lineAt(data, "subject");
  return [
    headline(
      received ? "Resend: new mail" : `Resend: ${spoken(type)}`,
      received ? phrase("from", lineAt(data, "from")) : phrase("for", to),
    ),
    labeled("Subject", subject),
    received ? labeled("To", to) : labeled("From", lineAt(data, "from")),
    labeled("Reason", joinText(", ", kindOf(data), textAt(data, "bounce.message", "failed.reason"))),
    labeled("Link", textAt(data, "click.link")),
    ...itemLines(listAt(data, "attachments"), (file) => labeled("Attachment", lineAt(file, "filename"))),
    labeled("Email id", textAt(data, "email_id")),
    received ? "Its text is not in the webhook: GET https://api.resend.com/emails/receiving/<email id>." : "",
  ];
}

function kindOf(data: unknown): string {
  return headline(lineAt(data, "bounce.type"), lineAt(data, "bounce.subType"));
}
