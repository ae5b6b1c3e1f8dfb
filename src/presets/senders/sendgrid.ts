import { definePreset } from "../define-preset.ts";
import { batchEvent, batchId } from "../event-fields.ts";
import { itemLines, joinText, labeled, messageOf, textAt } from "../../core/payload-text.ts";
import { headline, lineAt, phrase } from "../message/headline.ts";

/** SendGrid tries again for a day and does not say whether it signs again; copies are remembered as long. */
const TOLERANCE_SECONDS = 86_400;

/** Batches have up to about 768 KB. */
const MAX_BODY_BYTES = 1_048_576;

const MESSAGE_ID = "14c5d75ce93.dfd.64b469.filter0001.16648.5515E0B88.0";

/** Events of the mails that SendGrid sends, as a JSON array; signed with ECDSA. */
export const sendgrid = definePreset({
  name: "sendgrid",
  title: "Twilio SendGrid",
  documentation:
    "https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features",
  auth: {
    scheme: "signature",
    from: "header:x-twilio-email-event-webhook-signature",
    encoding: "base64",
    algorithm: "ecdsa-sha256",
    keyEncoding: "pem",
    timestamp: {
      from: "header:x-twilio-email-event-webhook-timestamp",
      unit: "seconds",
      toleranceSeconds: TOLERANCE_SECONDS,
      futureSeconds: 300,
    },
    content: "{timestamp}{body}",
  },
  secret: { label: "Verification Key", madeBy: "sender", minLength: 100 },
  event: ({ payload }) => batchEvent(eventsOf(payload).map((event) => lineAt(event, "event"))),
  eventWhere: "body:[].event",
  deliveryId: {
    from: ({ payload }) => batchId(eventsOf(payload).map((event) => textAt(event, "sg_event_id"))),
    where: "body:[].sg_event_id",
    signed: true,
  },
  skip: ({ payload }) => (eventsOf(payload).length === 0 ? "it holds no event" : undefined),
  mapping: { name: "SendGrid", maxBodyBytes: MAX_BODY_BYTES },
  message({ payload }) {
    const events = eventsOf(payload);
    if (events.length !== 1) {
      return messageOf(
        events.length === 0 ? "SendGrid: no events" : `SendGrid: ${events.length} events`,
        itemLines(newsFirst(events), eventLine),
      );
    }
    const [event] = events;
    return messageOf(
      headline(`SendGrid: ${lineAt(event, "event") || "event"}`, phrase("for the mail to", lineAt(event, "email"))),
      labeled("Reason", reasonOf(event)),
      labeled("Link", textAt(event, "url")),
      labeled("Category", joinText(", ", ...categoriesOf(event))),
      labeled("Message id", textAt(event, "sg_message_id")),
    );
  },
  success: { statuses: "2xx", otherwise: "tries again for 24 hours" },
  ignored: "calls without an event. SendGrid marks no bots",
  samples: {
    bounce: {
      payload: [
        {
          email: "ada@example.com",
          timestamp: 1_763_639_990,
          "smtp-id": "<14c5d75ce93.dfd.64b469@ismtpd-555>",
          event: "bounce",
          type: "bounce",
          bounce_classification: "Invalid Address",
          category: ["order"],
          sg_event_id: "Ym91bmNlLTEtZXhhbXBsZQ",
          sg_message_id: MESSAGE_ID,
          reason: "550 5.1.1 The email account that you tried to reach does not exist",
          status: "5.1.1",
        },
      ],
    },
    several: {
      payload: [
        {
          email: "ada@example.com",
          timestamp: 1_763_639_990,
          event: "delivered",
          category: "order",
          sg_event_id: "ZGVsaXZlcmVkLTEtZXhhbXBsZQ",
          sg_message_id: MESSAGE_ID,
          response: "250 OK",
        },
        {
          email: "grace@example.com",
          timestamp: 1_763_639_991,
          event: "click",
          useragent: "Mozilla/5.0",
          ip: "192.0.2.7",
          url: "https://shop.example.com/orders/1007",
          sg_event_id: "Y2xpY2stMS1leGFtcGxl",
          sg_message_id: MESSAGE_ID,
        },
      ],
    },
    spamreport: {
      payload: [
        {
          email: "ada@example.com",
          timestamp: 1_763_639_990,
          event: "spamreport",
          sg_event_id: "c3BhbXJlcG9ydC0xLWV4YW1wbGU",
          sg_message_id: MESSAGE_ID,
        },
      ],
    },
  },
  setup: [
    "Open SendGrid: Settings > Mail Settings > Event Webhooks > Create new webhook, paste {url} as Post URL and choose the events.",
    "Turn on Signature Verification, save, and copy the {secret} into hooks.sendgrid.secret.",
  ],
});

function eventsOf(payload: unknown): readonly unknown[] {
  return Array.isArray(payload) ? payload : [];
}

/** The usual way of a mail: of a long batch it would hide the mail that bounced. */
const USUAL: ReadonlySet<string> = new Set(["processed", "delivered", "open", "click"]);

function newsFirst(events: readonly unknown[]): readonly unknown[] {
  const isUsual = (event: unknown): boolean => USUAL.has(lineAt(event, "event"));
  return [...events.filter((event) => !isUsual(event)), ...events.filter(isUsual)];
}

function eventLine(event: unknown): string {
  const line = headline(lineAt(event, "event") || "event", phrase("for", lineAt(event, "email")));
  return joinText(", ", line, reasonOf(event) || textAt(event, "url"));
}

function reasonOf(event: unknown): string {
  return lineAt(event, "reason", "response", "status");
}

function categoriesOf(event: unknown): readonly string[] {
  const one = lineAt(event, "category");
  return one === "" ? itemLines([0, 1, 2, 3], (index) => lineAt(event, `category[${Number(index)}]`)) : [one];
}
