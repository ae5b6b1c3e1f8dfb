import { listAt, messageOf, textAt } from "../../core/payload-text.ts";
import { definePreset } from "../define-preset.ts";
import { lineAt } from "../message/headline.ts";
import { mailActor, mailHeaders, mailLines, mailTextAt, sizeAt } from "../message/mail.ts";

/** A mail has up to 35 MB with its attachments, which are in the JSON as base64. */
const MAX_BODY_BYTES = 52_428_800;

/** Mails to an inbound address of Postmark, parsed, as JSON. Postmark signs nothing: it logs in with the URL's user name and password. */
export const postmarkInbound = definePreset({
  name: "postmark-inbound",
  title: "Postmark inbound mail",
  documentation: "https://postmarkapp.com/developer/webhooks/inbound-webhook",
  auth: { scheme: "basic" },
  secret: { label: "User name and password (user:password)", madeBy: "owner" },
  event: ({ payload }) => (textAt(payload, "MessageID") === "" ? undefined : "mail.received"),
  eventWhere: "mail.received, if there is a MessageID",
  deliveryId: { from: "body:MessageID", signed: false },
  sender: ({ payload }) => mailActor(fromOf(payload), headersOf(payload).get("auto-submitted")),
  mapping: { name: "Mail", contentSource: "Email", maxBodyBytes: MAX_BODY_BYTES },
  message({ payload }) {
    const headers = headersOf(payload);
    return messageOf(
      mailLines({
        from: fromOf(payload),
        to: textAt(payload, "To"),
        cc: textAt(payload, "Cc"),
        replyTo: textAt(payload, "ReplyTo"),
        subject: textAt(payload, "Subject"),
        date: textAt(payload, "Date"),
        // MessageID is Postmark's own; replies refer to the one of the mail.
        messageId: headers.get("message-id") ?? textAt(payload, "MessageID"),
        inReplyTo: headers.get("in-reply-to"),
        references: headers.get("references"),
        verdicts: verdictsOf(headers),
        files: listAt(payload, "Attachments").map((file) => ({
          name: lineAt(file, "Name"),
          type: lineAt(file, "ContentType"),
          size: sizeAt(file, "ContentLength"),
        })),
        text: mailTextAt(payload, "StrippedTextReply") || mailTextAt(payload, "TextBody"),
        html: mailTextAt(payload, "HtmlBody"),
      }),
    );
  },
  success: { statuses: "200", otherwise: "403: gives up; otherwise tries again 10 times in about 10 hours" },
  ignored: "automatic replies (Auto-Submitted: auto-replied)",
  samples: {
    mail: {
      payload: {
        FromName: "Ada Byron",
        MessageStream: "inbound",
        From: "ada@example.com",
        FromFull: { Email: "ada@example.com", Name: "Ada Byron", MailboxHash: "" },
        To: '"Support" <451d9b70cf9364d23ff6f9d51d870251569e@inbound.postmarkapp.com>',
        ToFull: [
          {
            Email: "451d9b70cf9364d23ff6f9d51d870251569e@inbound.postmarkapp.com",
            Name: "Support",
            MailboxHash: "",
          },
        ],
        Cc: "",
        CcFull: [],
        Bcc: "",
        BccFull: [],
        OriginalRecipient: "451d9b70cf9364d23ff6f9d51d870251569e@inbound.postmarkapp.com",
        Subject: "Re: Your order 1007",
        MessageID: "73e6d360-66eb-11e1-8e72-a8904824019b",
        ReplyTo: "",
        MailboxHash: "",
        Date: "Fri, 20 Nov 2026 12:59:50 +0100",
        TextBody: "Where is it?\n\n> Your order is on its way.",
        HtmlBody: "<html><body><p>Where is it?</p></body></html>",
        StrippedTextReply: "Where is it?",
        Tag: "",
        Headers: [
          { Name: "X-Spam-Status", Value: "No" },
          { Name: "X-Spam-Score", Value: "-0.1" },
          { Name: "X-Spam-Tests", Value: "DKIM_SIGNED,DKIM_VALID,DKIM_VALID_AU,SPF_PASS" },
          { Name: "Received-SPF", Value: "Pass (sender SPF authorized) identity=mailfrom; client-ip=192.0.2.7" },
          { Name: "MIME-Version", Value: "1.0" },
          { Name: "Message-ID", Value: "<CAF=ada-2@mail.example.com>" },
          { Name: "In-Reply-To", Value: "<order-1007@shop.example.com>" },
          { Name: "References", Value: "<order-1007@shop.example.com>" },
        ],
        Attachments: [
          {
            Name: "receipt.pdf",
            Content: "JVBERi0xLjQK",
            ContentType: "application/pdf",
            ContentLength: 9,
            ContentID: "",
          },
        ],
      },
    },
    automatic_reply: {
      payload: {
        FromName: "Grace Murray",
        From: "grace@example.com",
        FromFull: { Email: "grace@example.com", Name: "Grace Murray", MailboxHash: "" },
        To: "support@in.example.com",
        Subject: "Out of office",
        MessageID: "a8c1040e-db1c-4e18-ac79-bc5f64c7ce2c",
        Date: "Fri, 20 Nov 2026 12:59:55 +0100",
        TextBody: "",
        HtmlBody: "<style>p { color: red }</style><p>I am away<br>until Monday.</p>",
        StrippedTextReply: "",
        Headers: [{ Name: "Auto-Submitted", Value: "auto-replied" }],
        Attachments: [],
      },
    },
  },
  setup: [
    "Choose the {secret}, for example postmark: and the output of openssl rand -hex 32, and set both, with the colon, as hooks.postmark-inbound.secret.",
    "In Postmark open the server, its Inbound stream, Settings, and paste {url} as Webhook, with user:password@ between https:// and the host.",
    "Leave Include raw email content in JSON payload off, and press Check: Postmark posts a sample.",
    "Postmark does not sign its calls: the password is all that proves who calls. The From of a mail can be forged; the line Checks says what Postmark found.",
  ],
});

function fromOf(payload: unknown): string {
  const address = lineAt(payload, "FromFull.Email", "From");
  const name = lineAt(payload, "FromFull.Name", "FromName");
  return name === "" || name === address || address === "" ? address || name : `${name} <${address}>`;
}

function headersOf(payload: unknown): ReadonlyMap<string, string> {
  return mailHeaders(listAt(payload, "Headers").map((header) => [textAt(header, "Name"), textAt(header, "Value")]));
}

/** Of the headers that Postmark puts above those of the mail. */
function verdictsOf(headers: ReadonlyMap<string, string>): readonly string[] {
  const [spf = ""] = (headers.get("received-spf") ?? "").split(/\s/u, 1);
  const tests = (headers.get("x-spam-tests") ?? "").split(",");
  return [
    /^[a-z]{1,12}$/iu.test(spf) ? `SPF ${spf.toLowerCase()}` : "",
    tests.includes("DKIM_VALID") ? "DKIM pass" : tests.includes("DKIM_INVALID") ? "DKIM fail" : "",
    headers.get("x-spam-status")?.toLowerCase().startsWith("yes") ? "spam" : "",
  ];
}
