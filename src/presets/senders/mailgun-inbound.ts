import { joinText, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import { definePreset } from "../define-preset.ts";
import { embeddedPayload } from "../embedded-payload.ts";
import { lineAt } from "../message/headline.ts";
import { formFiles, headerPairs, mailActor, mailHeaders, mailLines, mailTextAt } from "../message/mail.ts";
import type { PresetContext } from "../preset.ts";
import { mailgunSigned } from "./mailgun.ts";

/** A mail has up to 25 MB with its attachments, and every header comes twice. */
const MAX_BODY_BYTES = 33_554_432;

/** Mails that a route of Mailgun forwards, parsed: a form, in parts when there are attachments. */
export const mailgunInbound = definePreset({
  name: "mailgun-inbound",
  title: "Mailgun inbound mail",
  documentation: "https://documentation.mailgun.com/docs/mailgun/user-manual/receive-forward-store/receive-http",
  ...mailgunSigned(""),
  event: ({ payload }) => (textAt(payload, "recipient") === "" ? undefined : "mail.received"),
  eventWhere: "mail.received, if there is a recipient",
  // A mail to two addresses comes twice; the token may be another when Mailgun tries again.
  deliveryId: { from: deliveryIdOf, where: "body:Message-Id + body:recipient", signed: false },
  sender: ({ payload }) =>
    mailActor(lineAt(payload, "from", "From", "sender"), headersOf(payload).get("auto-submitted")),
  success: { statuses: "200", otherwise: "406: gives up; otherwise tries again for 8 hours" },
  ignored: "automatic replies (Auto-Submitted: auto-replied)",
  mapping: {
    name: "Mail",
    contentSource: "Email",
    accept: ["json", "form", "multipart"],
    maxBodyBytes: MAX_BODY_BYTES,
  },
  message({ payload }) {
    const headers = headersOf(payload);
    return messageOf(
      mailLines({
        from: lineAt(payload, "from", "From", "sender"),
        to: headers.get("to") ?? textAt(payload, "recipient"),
        cc: headers.get("cc"),
        replyTo: headers.get("reply-to"),
        subject: textAt(payload, "subject", "Subject"),
        date: headers.get("date"),
        messageId: headers.get("message-id"),
        inReplyTo: headers.get("in-reply-to"),
        references: headers.get("references"),
        verdicts: [
          verdict("SPF", headers.get("x-mailgun-spf")),
          verdict("DKIM", headers.get("x-mailgun-dkim-check-result")),
          headers.get("x-mailgun-sflag")?.toLowerCase() === "yes" ? "spam" : "",
        ],
        files: formFiles(payload),
        text: mailTextAt(payload, "stripped-text", "body-plain"),
        html: mailTextAt(payload, "stripped-html", "body-html"),
      }),
    );
  },
  samples: {
    mail: {
      format: "form",
      payload: {
        recipient: "support@in.example.com",
        sender: "ada@example.com",
        subject: "Re: Your order 1007",
        from: "Ada Byron <ada@example.com>",
        "Message-Id": "<CAF=ada-2@mail.example.com>",
        "message-headers": JSON.stringify([
          ["X-Mailgun-Incoming", "Yes"],
          ["X-Mailgun-Sflag", "No"],
          ["X-Mailgun-Dkim-Check-Result", "Pass"],
          ["X-Mailgun-Spf", "Pass"],
          ["Message-Id", "<CAF=ada-2@mail.example.com>"],
          ["In-Reply-To", "<order-1007@shop.example.com>"],
          ["References", "<order-1007@shop.example.com>"],
          ["Date", "Fri, 20 Nov 2026 12:59:50 +0100"],
          ["To", "Support <support@in.example.com>"],
        ]),
        "body-plain": "Where is it?\n\n> Your order is on its way.",
        "stripped-text": "Where is it?",
        "body-html": "<p>Where is it?</p>",
        "stripped-html": "<p>Where is it?</p>",
      },
    },
    with_attachment: {
      format: "multipart",
      payload: {
        recipient: "support@in.example.com",
        sender: "grace@example.com",
        subject: "A receipt",
        from: "grace@example.com",
        "Message-Id": "<receipt-1@mail.example.com>",
        "message-headers": JSON.stringify([["Message-Id", "<receipt-1@mail.example.com>"]]),
        "body-plain": "Please see the receipt.",
        "stripped-text": "Please see the receipt.",
        "attachment-count": "1",
        "attachment-1": { filename: "receipt.pdf", type: "application/pdf", content: "%PDF-1.4" },
      },
    },
  },
  setup: [
    'In Mailgun open Send, Receiving, Create route: Forward, {url}. Through the API: forward("{url}").',
    "Copy the {secret} from Account, Settings, API security, into hooks.mailgun-inbound.secret.",
    "The URL must not end in mime, or Mailgun posts mails that are not parsed.",
    "Mailgun signs a time and a token, not the mail: each token is taken once, and only https keeps others from changing a mail on its way.",
  ],
});

/** None for a mail without an id of its own: by its recipient alone it would be a copy of every other. */
function deliveryIdOf({ payload }: PresetContext): string | undefined {
  const id = textAt(payload, "Message-Id") || (headersOf(payload).get("message-id") ?? "");
  return id === "" ? undefined : joinText(".", id, textAt(payload, "recipient"));
}

function headersOf(payload: unknown): ReadonlyMap<string, string> {
  const list = valueAt(payload, "message-headers");
  return mailHeaders(headerPairs(typeof list === "string" ? embeddedPayload(list) : list));
}

function verdict(check: string, result = ""): string {
  return /^[a-z]{1,12}$/iu.test(result) ? `${check} ${result.toLowerCase()}` : "";
}
