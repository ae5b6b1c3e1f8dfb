/** Senders that sign an id, a URL or a form, with a private key, or that only show a secret. */
import { generateKeyPairSync } from "node:crypto";
import type { SenderRow, Signable } from "./sender-row.ts";
import { makeRsaCertificate } from "../keys/make-certificate.ts";

const SECRET = "a shared secret of the sender";
const WHSEC = `whsec_${Buffer.from("a secret of thirty-two bytes ...").toString("base64")}`;

export const ED25519 = generateKeyPairSync("ed25519");
export const P256 = generateKeyPairSync("ec", { namedCurve: "P-256" });
export const RSA = makeRsaCertificate({ commonName: "sns.amazonaws.com" });

const rawEd25519 = ED25519.publicKey.export({ format: "der", type: "spki" }).subarray(-32);
const p256Spki = P256.publicKey.export({ format: "der", type: "spki" }).toString("base64");

const standard = (sender: string, header = "webhook", change: Partial<SenderRow["auth"]> = {}): SenderRow => ({
  sender,
  shape: "identified",
  auth: {
    secret: WHSEC,
    keyEncoding: "whsec",
    from: `header:${header}-signature`,
    prefix: "v1,",
    separator: " ",
    encoding: "base64",
    content: "{id}.{timestamp}.{body}",
    id: `header:${header}-id`,
    timestamp: { from: `header:${header}-timestamp` },
    ...change,
  },
  signs: ({ id, time, body }) => `${id}.${time}.${body}`,
});

const IDENTIFIED_SENDERS: readonly SenderRow[] = [
  standard("Standard Webhooks"),
  standard("Svix", "svix"),
  standard("Clerk", "svix"),
  standard("Resend", "svix"),
  standard("AgentMail", "svix"),
  standard("OpenAI"),
  standard("Replicate"),
  standard("Lithic"),
  standard("Gemini"),
  standard("ShipBob"),
  standard("BigCommerce"),
  standard("Polar"),
  standard("GitLab signing token"),
  standard("MCP Events"),
  standard("Claude Managed Agents", "x-webhook"),
  {
    sender: "Twitch",
    shape: "identified",
    auth: {
      secret: SECRET,
      from: "header:Twitch-Eventsub-Message-Signature",
      prefix: "sha256=",
      content: "{id}{timestamp}{body}",
      id: "header:Twitch-Eventsub-Message-Id",
      timestamp: { from: "header:Twitch-Eventsub-Message-Timestamp", unit: "iso8601", toleranceSeconds: 600 },
    },
    signs: ({ id, time, body }) => id + time + body,
  },
];

const URL_SENDERS: readonly SenderRow[] = [
  {
    sender: "HubSpot",
    shape: "url",
    auth: {
      secret: SECRET,
      from: "header:X-HubSpot-Signature-v3",
      encoding: "base64",
      content: "{method}{decodedUrl}{body}{timestamp}",
      timestamp: { from: "header:X-HubSpot-Request-Timestamp", unit: "milliseconds" },
    },
    signs: ({ method, url, body, time }) => method + url.replace("%3A", ":") + body + time,
  },
  {
    sender: "Square",
    shape: "url",
    auth: { secret: SECRET, from: "header:x-square-hmacsha256-signature", encoding: "base64", content: "{url}{body}" },
    signs: ({ url, body }) => url + body,
  },
  {
    sender: "Trello",
    shape: "url",
    auth: {
      secret: SECRET,
      from: "header:x-trello-webhook",
      encoding: "base64",
      algorithm: "hmac-sha1",
      content: "{body}{url}",
    },
    signs: ({ url, body }) => body + url,
  },
  {
    sender: "Twilio",
    shape: "form",
    auth: {
      secret: SECRET,
      from: "header:X-Twilio-Signature",
      encoding: "base64",
      algorithm: "hmac-sha1",
      content: "{url}{form}",
      bodyDigest: { from: "query:bodySHA256", algorithm: "sha256", encoding: "hex" },
      anyPort: true,
    },
    signs: ({ url, body }) => {
      const fields = [...new URLSearchParams(body)].toSorted(([one], [other]) => (one < other ? -1 : 1));
      return url + fields.flat().join("");
    },
  },
];

const FIELD_SENDERS: readonly SenderRow[] = [
  {
    sender: "Cloudinary",
    shape: "digest",
    auth: {
      secret: SECRET,
      from: "header:X-Cld-Signature",
      algorithm: "sha1",
      content: "{body}{timestamp}{secret}",
      timestamp: { from: "header:X-Cld-Timestamp", toleranceSeconds: 7_200 },
    },
    signs: ({ body, time }) => body + time + SECRET,
  },
  {
    sender: "Mailgun",
    shape: "fields",
    auth: {
      secret: SECRET,
      from: "body:signature.signature",
      content: "{timestamp}{id}",
      id: "body:signature.token",
      timestamp: { from: "body:signature.timestamp" },
    },
    signs: ({ time, id }) => time + id,
  },
];

const discord: SenderRow["auth"] = {
  secret: rawEd25519.toString("hex"),
  keyEncoding: "hex",
  from: "header:X-Signature-Ed25519",
  algorithm: "ed25519",
  content: "{timestamp}{body}",
  timestamp: { from: "header:X-Signature-Timestamp" },
};
const signsTimeBody = ({ time, body }: Signable) => time + body;

const KEY_SENDERS: readonly SenderRow[] = [
  { sender: "Discord interactions", shape: "public key", auth: discord, signs: signsTimeBody },
  { sender: "Discord webhook events", shape: "public key", auth: discord, signs: signsTimeBody },
  {
    sender: "Telnyx",
    shape: "public key",
    auth: {
      ...discord,
      secret: rawEd25519.toString("base64"),
      keyEncoding: "base64",
      encoding: "base64",
      from: "header:telnyx-signature-ed25519",
      content: "{timestamp}|{body}",
      timestamp: { from: "header:telnyx-timestamp" },
    },
    signs: ({ time, body }) => `${time}|${body}`,
  },
  {
    sender: "SendGrid",
    shape: "public key",
    auth: {
      secret: p256Spki,
      keyEncoding: "pem",
      from: "header:X-Twilio-Email-Event-Webhook-Signature",
      encoding: "base64",
      algorithm: "ecdsa-sha256",
      content: "{timestamp}{body}",
      timestamp: { from: "header:X-Twilio-Email-Event-Webhook-Timestamp" },
    },
    signs: signsTimeBody,
  },
  {
    sender: "Circle",
    shape: "public key",
    auth: {
      secret: p256Spki,
      keyEncoding: "pem",
      from: "header:X-Circle-Signature",
      encoding: "base64",
      algorithm: "ecdsa-sha256",
    },
    signs: ({ body }) => body,
  },
  {
    sender: "AWS SNS",
    shape: "certificate",
    auth: {
      from: "body:Signature",
      encoding: "base64",
      algorithm: { from: "body:SignatureVersion", values: { "1": "rsa-sha1", "2": "rsa-sha256" } },
      content: "{sns}",
      timestamp: { from: "body:Timestamp", unit: "iso8601", toleranceSeconds: 3_600 },
      certificate: { from: "body:SigningCertURL", hosts: ["sns.*.amazonaws.com", "sns.*.amazonaws.com.cn"] },
    },
    signs: ({ body, id, time }) =>
      `Message\n${body}\nMessageId\n${id}\nTimestamp\n${time}\nTopicArn\narn:aws:sns:us-east-1:1:t\nType\nNotification\n`,
  },
];

const shown = (sender: string, from: string | string[], change: Partial<SenderRow["auth"]> = {}): SenderRow => ({
  sender,
  shape: "secret",
  auth: { scheme: "secret", secret: SECRET, from, ...change },
  signs: () => "",
});
const basic = (sender: string): SenderRow => ({
  sender,
  shape: "basic",
  auth: { scheme: "basic", username: "sender", secret: SECRET },
  signs: () => "",
});
const token = (sender: string): SenderRow => ({
  sender,
  shape: "token",
  auth: {
    scheme: "jwt",
    jwksUrl: "https://www.googleapis.com/oauth2/v3/certs",
    issuer: ["accounts.google.com", "https://accounts.google.com"],
    audience: "https://gateway.example.com",
    claims: { email: "push@example.iam.gserviceaccount.com", email_verified: true },
  },
  signs: () => "",
});

const SHOWING_SENDERS: readonly SenderRow[] = [
  shown("GitLab", "header:X-Gitlab-Token"),
  shown("Telegram", "header:X-Telegram-Bot-Api-Secret-Token"),
  shown("Hugging Face", "header:X-Webhook-Secret"),
  shown("Okta", "header:Authorization"),
  shown("Auth0", "header:Authorization", { prefix: "Bearer " }),
  shown("Deepgram", "header:dg-token"),
  shown("Meraki", "body:sharedSecret"),
  shown("Cloudprinter", "body:apikey"),
  shown("Microsoft Graph", "body:value[].clientState"),
  shown("SharePoint", "body:value[].clientState"),
  shown("Mailchimp", "path"),
  shown("Read.ai", "query:key"),
  shown("CloudEvents", ["header:Authorization"], { prefix: "Bearer " }),
  shown("Alertmanager", "header:Authorization", { prefix: "Bearer " }),
  ...["Chargebee", "Pipedrive", "Postmark", "Recurly", "Adyen"].map(basic),
  ...["Google Pub/Sub", "Gmail"].map(token),
];

export const OTHER_SENDERS: readonly SenderRow[] = [
  ...IDENTIFIED_SENDERS,
  ...URL_SENDERS,
  ...FIELD_SENDERS,
  ...KEY_SENDERS,
  ...SHOWING_SENDERS,
];
