import { labeled, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import { definePreset, type PresetDefinition } from "../define-preset.ts";
import { dataLines } from "../message/data-lines.ts";
import { headline, lineAt, phrase, spoken } from "../message/headline.ts";
import { timeText } from "../message/value-text.ts";

/** Mailgun tries again for eight hours; whether it signs again is not documented. */
const TOLERANCE_SECONDS = 36_000;

/**
 * The signature that all calls of Mailgun carry in their body: over a time and a token, and over nothing
 * else. The token is the replay key: who has seen a call cannot send another body with its signature.
 */
export function mailgunSigned(prefix: "" | "signature.") {
  return {
    auth: {
      scheme: "signature",
      from: `body:${prefix}signature`,
      content: "{timestamp}{id}",
      id: `body:${prefix}token`,
      timestamp: { from: `body:${prefix}timestamp`, toleranceSeconds: TOLERANCE_SECONDS, futureSeconds: 300 },
    },
    secret: { label: "HTTP webhook signing key", madeBy: "sender", minLength: 16 },
  } as const satisfies Partial<PresetDefinition>;
}

/** `failed.permanent` and `failed.temporary`; other events have no severity. */
function eventOf(payload: unknown): string | undefined {
  const event = lineAt(payload, "event-data.event");
  const severity = event === "failed" ? lineAt(payload, "event-data.severity") : "";
  return event === "" ? undefined : headline(event, severity).replace(" ", ".");
}

/** Events of the mails that Mailgun sends: delivered, failed, opened, clicked, complained. */
export const mailgun = definePreset({
  name: "mailgun",
  title: "Mailgun",
  documentation: "https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/webhooks",
  ...mailgunSigned("signature."),
  event: ({ payload }) => eventOf(payload),
  eventWhere: "body:event-data.event + severity of failed",
  deliveryId: { from: "body:event-data.id", signed: false },
  skip: ({ payload }) => (valueAt(payload, "event-data") === undefined ? "it holds no event" : undefined),
  success: { statuses: "200", otherwise: "406: gives up; otherwise tries again for 8 hours" },
  ignored: "calls without an event. Mailgun marks no bots",
  mapping: { name: "Mailgun" },
  message({ payload, event }) {
    const data = valueAt(payload, "event-data");
    const recipient = lineAt(data, "recipient");
    if (recipient === "") return messageOf(headline("Mailgun:", event ?? "event"), dataLines(data));
    return messageOf(
      headline(`Mailgun: ${spoken(event ?? "event")}`, phrase("for the mail to", recipient)),
      labeled("Subject", lineAt(data, "message.headers.subject")),
      labeled("From", lineAt(data, "message.headers.from", "envelope.sender")),
      labeled("Reason", textAt(data, "delivery-status.message", "delivery-status.description", "reason")),
      labeled("Code", lineAt(data, "delivery-status.code")),
      labeled("Link", lineAt(data, "url")),
      labeled("Message id", lineAt(data, "message.headers.message-id")),
      labeled("At", timeText(valueAt(data, "timestamp"))),
    );
  },
  samples: {
    "failed.permanent": sample({
      event: "failed",
      id: "G9Bn5sl1TC6nu79C8C0bwg",
      severity: "permanent",
      reason: "suppress-bounce",
      "delivery-status": {
        code: 605,
        message: "",
        description: "Not delivering to previously bounced address",
        "attempt-no": 1,
      },
      envelope: { sender: "shop@example.com", transport: "smtp", targets: "ada@example.net" },
    }),
    complained: sample({ event: "complained", id: "ncV2XwymRUKbPek_MIM-Gw", tags: ["order"] }),
    clicked: sample({ event: "clicked", id: "Ase7i2zsRYeDXztHGENqRA", url: "https://shop.example.com/orders/1007" }),
  },
  setup: [
    "In Mailgun open Send, Webhooks, Add webhook: choose the domain and the events, and paste {url}.",
    "Copy the {secret} from the same page into hooks.mailgun.secret.",
    "Mailgun signs a time and a token, not the event: each token is taken once, and only https keeps others from changing an event on its way.",
  ],
});

function sample(event: Readonly<Record<string, unknown>>): { payload: unknown } {
  return {
    payload: {
      signature: {},
      "event-data": {
        timestamp: 1_795_175_990.521,
        "log-level": "info",
        recipient: "ada@example.net",
        "recipient-domain": "example.net",
        message: {
          headers: {
            to: "Ada <ada@example.net>",
            "message-id": "20261120115950.1.6FE7@mail.example.com",
            from: "Shop <shop@example.com>",
            subject: "Your order",
          },
          attachments: [],
          size: 111,
        },
        "user-variables": {},
        ...event,
      },
    },
  };
}
