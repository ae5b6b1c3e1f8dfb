import { labeled, listAt, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import { definePreset } from "../define-preset.ts";
import { dataLines, withoutKeys } from "../message/data-lines.ts";
import { headline, lineAt, namesAt, spoken } from "../message/headline.ts";
import { headerPairs, mailActor, mailHeaders, mailLines, mailTextAt, sizeAt } from "../message/mail.ts";
import { personText } from "../message/value-text.ts";
import { whsecSender } from "./standard-webhooks/whsec-sender.ts";

/** What an event other than a received mail is about. */
const ABOUT = ["send", "delivery", "bounce", "complaint", "reject", "open", "domain"];

/** Mails to the inboxes of agents at AgentMail, and events of those that they send; delivered by Svix. */
export const agentmail = definePreset({
  name: "agentmail",
  title: "AgentMail",
  documentation: "https://docs.agentmail.to/webhooks/webhook-verification",
  ...whsecSender("svix", "secret of the webhook"),
  event: "body:event_type",
  deliveryId: { from: "body:event_id", signed: true },
  sender({ payload }) {
    if (!isReceived(payload)) return undefined;
    const headers = mailHeaders(headerPairs(valueAt(payload, "message.headers")));
    return mailActor(fromOf(payload), headers.get("auto-submitted"));
  },
  success: { statuses: "2xx", otherwise: "tries again, as Svix does" },
  ignored: "automatic replies (Auto-Submitted: auto-replied)",
  mapping: { name: "AgentMail", contentSource: "Email", maxBodyBytes: 4_194_304 },
  message({ payload, event }) {
    const kind = lineAt(payload, "event_type").split(".", 3)[2] ?? "";
    if (!isReceived(payload)) {
      const about = ABOUT.map((key) => valueAt(payload, key)).find((each) => each !== undefined);
      return messageOf(
        headline(`AgentMail: ${spoken(event ?? "") || "new event"}`),
        dataLines(about ?? withoutKeys(payload, "type", "event_type", "event_id")),
      );
    }
    const mail = valueAt(payload, "message");
    const html = mailTextAt(mail, "extracted_html", "html");
    return messageOf(
      mailLines({
        from: fromOf(payload),
        to: namesAt(mail, "to") || namesAt(mail, "to", "email"),
        cc: namesAt(mail, "cc") || namesAt(mail, "cc", "email"),
        replyTo: namesAt(mail, "reply_to"),
        subject: textAt(mail, "subject"),
        date: textAt(mail, "timestamp"),
        messageId: textAt(mail, "message_id"),
        inReplyTo: textAt(mail, "in_reply_to"),
        references: namesAt(mail, "references"),
        verdicts: [kind],
        files: listAt(mail, "attachments").map((file) => ({
          name: lineAt(file, "filename"),
          type: lineAt(file, "content_type"),
          size: sizeAt(file, "size"),
        })),
        // The preview is the beginning of the text.
        text: mailTextAt(mail, "extracted_text", "text", ...(html === "" ? ["preview"] : [])),
        html,
      }),
      labeled("Inbox", lineAt(mail, "inbox_id")),
      labeled("Thread", lineAt(mail, "thread_id")),
    );
  },
  samples: {
    "message.received": {
      payload: {
        type: "event",
        event_type: "message.received",
        event_id: "evt_123abc",
        message: {
          inbox_id: "support@agentmail.to",
          thread_id: "thd_789ghi",
          message_id: "<CAF=ada-2@mail.example.com>",
          labels: ["received"],
          timestamp: "2026-11-20T11:59:58Z",
          from: "Ada Byron <ada@example.com>",
          to: ["Support <support@agentmail.to>"],
          subject: "Re: Your order 1007",
          preview: "Where is it?",
          text: "Where is it?\n\n> Your order is on its way.",
          html: "<p>Where is it?</p>",
          extracted_text: "Where is it?",
          attachments: [
            { attachment_id: "att_1", filename: "receipt.pdf", content_type: "application/pdf", size: 18_231 },
          ],
          in_reply_to: "<order-1007@shop.example.com>",
          references: ["<order-1007@shop.example.com>"],
          size: 4_711,
          created_at: "2026-11-20T11:59:58Z",
          updated_at: "2026-11-20T11:59:58Z",
        },
        thread: {
          inbox_id: "support@agentmail.to",
          thread_id: "thd_789ghi",
          subject: "Your order 1007",
          message_count: 2,
        },
      },
    },
    "message.bounced": {
      payload: {
        type: "event",
        event_type: "message.bounced",
        event_id: "evt_456def",
        bounce: {
          inbox_id: "support@agentmail.to",
          thread_id: "thd_789ghi",
          message_id: "<0102@agentmail.to>",
          timestamp: "2026-11-20T11:59:59Z",
          type: "Permanent",
          sub_type: "General",
          recipients: [{ address: "ada@example.com", status: "bounced" }],
        },
      },
    },
  },
  setup: [
    "In the AgentMail Console open Webhooks and create one with {url} and the events, such as message.received.",
    "Open it, copy the {secret} (whsec_...) and set it as hooks.agentmail.secret.",
  ],
});

function isReceived(payload: unknown): boolean {
  return lineAt(payload, "event_type").startsWith("message.received");
}

/** A text, or a list of `{ name, email }` as older webhooks have it. */
function fromOf(payload: unknown): string {
  const first = listAt(payload, "message.from")[0];
  return first === undefined
    ? lineAt(payload, "message.from")
    : personText(lineAt(first, "name"), lineAt(first, "email", ""));
}
