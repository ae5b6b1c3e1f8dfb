import { joinText, messageOf, textAt, valueAt } from "../../core/payload-text.ts";
import { definePreset } from "../define-preset.ts";
import { embeddedPayload } from "../embedded-payload.ts";
import { lineAt, oneLine } from "../message/headline.ts";
import { formFiles, mailLines, mailTextAt, provenMailActor, singleAddress } from "../message/mail.ts";
import { decodeText, decodeWords, fromHeaders, headerLines, type MimeMail, readMime } from "../message/mime.ts";

/** SendGrid tries again for three days, and takes mails of 30 MB with their attachments. */
const TOLERANCE_SECONDS = 259_200;
const MAX_BODY_BYTES = 33_554_432;

/**
 * Mails that SendGrid's Inbound Parse receives, as a form in parts, signed by a security policy. The
 * boundary of the form is always the same, so an author can write further parts into a mail: a field that
 * comes twice is left out and reported.
 */
export const sendgridInbound = definePreset({
  name: "sendgrid-inbound",
  title: "Twilio SendGrid Inbound Parse",
  documentation: "https://www.twilio.com/docs/sendgrid/for-developers/parsing-email/securing-your-parse-webhooks",
  auth: {
    scheme: "signature",
    from: "header:x-twilio-email-event-webhook-signature",
    encoding: "base64",
    algorithm: "ecdsa-sha256",
    keyEncoding: "pem",
    timestamp: {
      from: "header:x-twilio-email-event-webhook-timestamp",
      toleranceSeconds: TOLERANCE_SECONDS,
      futureSeconds: 300,
    },
    content: "{timestamp}{body}",
  },
  secret: { label: "public_key of the security policy", madeBy: "sender", minLength: 100 },
  event: ({ payload }) => (textAt(payload, "envelope", "from") === "" ? undefined : "mail.received"),
  eventWhere: "mail.received, if there is an envelope or a from",
  sender({ payload }) {
    const { headers } = sourceOf(payload);
    const from = fromOf(payload, headers);
    return provenMailActor(from, { autoSubmitted: headers.get("auto-submitted"), isProven: isProven(payload, from) });
  },
  vouchesForActors: true,
  unwrap: inTheirCharsets,
  success: { statuses: "2xx", otherwise: "4xx: gives up; 5xx: tries again for 3 days" },
  ignored: "automatic replies (Auto-Submitted: auto-replied)",
  mapping: {
    name: "Mail",
    contentSource: "Email",
    accept: ["json", "multipart"],
    maxBodyBytes: MAX_BODY_BYTES,
  },
  message({ payload }) {
    const source = sourceOf(payload);
    const repeated = repeatedFields(payload);
    return messageOf(
      mailLines({
        ...fromHeaders(source.headers),
        from: fromOf(payload, source.headers),
        to: textAt(payload, "to"),
        cc: textAt(payload, "cc"),
        subject: textAt(payload, "subject"),
        verdicts: [
          spfOf(payload),
          dkimOf(payload),
          repeated === "" ? "" : `fields that come twice and may be forged: ${repeated}`,
        ],
        files: [...formFiles(payload), ...source.files],
        text: mailTextAt(payload, "text") || source.text,
        html: mailTextAt(payload, "html") || source.html,
      }),
    );
  },
  samples: {
    mail: {
      format: "multipart",
      payload: {
        headers: [
          "Message-ID: <CAF=ada-2@mail.example.com>",
          "In-Reply-To: <order-1007@shop.example.com>",
          "References: <order-1007@shop.example.com>",
          "Date: Fri, 20 Nov 2026 12:59:50 +0100",
        ].join("\n"),
        dkim: "{@example.com : pass}",
        to: "support@in.example.com",
        html: "<p>Where is it?</p>",
        from: "Ada Byron <ada@example.com>",
        text: "Where is it?",
        sender_ip: "192.0.2.7",
        envelope: '{"to":["support@in.example.com"],"from":"ada@example.com"}',
        attachments: "1",
        subject: "Re: Your order 1007",
        "attachment-info":
          '{"attachment1":{"filename":"receipt.pdf","name":"receipt.pdf","type":"application/pdf","content-id":"f_1"}}',
        charsets: '{"to":"UTF-8","from":"UTF-8","subject":"UTF-8","text":"utf-8","html":"utf-8"}',
        SPF: "pass",
        attachment1: { filename: "receipt.pdf", type: "application/pdf", content: "%PDF-1.4" },
      },
    },
    raw: {
      format: "multipart",
      payload: {
        email: [
          "Message-ID: <receipt-1@mail.example.com>",
          "From: grace@example.com",
          "Content-Type: text/plain; charset=utf-8",
          "",
          "Please see the receipt.",
        ].join("\n"),
        dkim: "none",
        to: "support@in.example.com",
        from: "grace@example.com",
        sender_ip: "192.0.2.8",
        envelope: '{"to":["support@in.example.com"],"from":"grace@example.com"}',
        subject: "A receipt",
        charsets: '{"to":"UTF-8","from":"UTF-8","subject":"UTF-8"}',
        SPF: "softfail",
      },
    },
  },
  setup: [
    'Make a security policy: POST https://api.sendgrid.com/v3/user/webhooks/security/policies with {"name":"reveille","signature":{"enabled":true}}, and put its {secret} into hooks.sendgrid-inbound.secret.',
    "In SendGrid open Settings, Inbound Parse, Add Host & URL: choose the domain, whose MX record is mx.sendgrid.net, and paste {url} as Destination URL.",
    'Attach the policy: PATCH https://api.sendgrid.com/v3/user/webhooks/parse/settings/<host name> with {"security_policy":"<id of the policy>"}.',
  ],
});

/** Fields in the charset that SendGrid names for each of them, when it is not UTF-8. */
function inTheirCharsets(payload: unknown): unknown {
  const charsets = embeddedPayload(textAt(payload, "charsets"));
  if (typeof charsets !== "object" || charsets === null) return payload;
  const read = Object.entries(charsets).flatMap(([name, charset]): [string, string][] => {
    const text = Object.hasOwn(payload as object, name) ? (payload as Record<string, unknown>)[name] : undefined;
    if (typeof text !== "string" || typeof charset !== "string" || /^utf-?8$/iu.test(charset)) return [];
    // Bytes that were no UTF-8 came as one character each.
    return BYTES.test(text) ? [[name, decodeText(Buffer.from(text, "latin1"), charset)]] : [];
  });
  return read.length === 0 ? payload : { ...(payload as object), ...Object.fromEntries(read) };
}

const BYTES = /^[\0-\xff]*$/u;

/** The mail's own headers, and all of the mail where the raw message is posted. */
function sourceOf(payload: unknown): MimeMail {
  const raw = valueAt(payload, "email");
  if (typeof raw === "string" && raw !== "") return readMime(Buffer.from(raw));
  const headers = valueAt(payload, "headers");
  return { headers: headerLines(typeof headers === "string" ? headers : ""), text: "", html: "", files: [] };
}

function fromOf(payload: unknown, headers: ReadonlyMap<string, string>): string {
  return lineAt(payload, "from") || oneLine(decodeWords(headers.get("from") ?? ""));
}

function spfOf(payload: unknown): string {
  const result = lineAt(payload, "SPF").toLowerCase();
  return /^[a-z]{1,12}$/u.test(result) ? `SPF ${result}` : "";
}

/** `{@example.com : pass}`, or `none`. */
function dkimOf(payload: unknown): string {
  const result = lineAt(payload, "dkim")
    .replaceAll(/[{}@"]/gu, "")
    .replaceAll(" : ", " ")
    .trim();
  return result === "" ? "" : `DKIM ${result}`;
}

/** True when SendGrid found a good signature of the author's domain, or of one above it; a field that came twice proves nothing. */
function isProven(payload: unknown, from: string): boolean {
  const [given, dkim] = [valueAt(payload, "from"), valueAt(payload, "dkim")];
  const domain = singleAddress(from).split("@")[1]?.toLowerCase() ?? "";
  if (typeof given !== "string" || typeof dkim !== "string" || domain === "") return false;
  const signed = [...dkim.matchAll(/@([a-z0-9.-]+\.[a-z]+)\s*:\s*pass\b/giu)].map(([, each]) => each!.toLowerCase());
  return signed.some((each) => domain === each || domain.endsWith(`.${each}`));
}

function repeatedFields(payload: unknown): string {
  if (typeof payload !== "object" || payload === null || Array.isArray(payload)) return "";
  const names = Object.entries(payload).filter(([, value]) => Array.isArray(value));
  return joinText(", ", ...names.slice(0, 10).map(([name]) => oneLine(name)));
}
