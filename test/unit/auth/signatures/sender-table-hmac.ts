/** Senders that make an HMAC of the body, or of a time and the body. Facts are those of the senders' own pages. */
import type { SenderRow, Signable } from "./sender-row.ts";

const SECRET = "a shared secret of the sender";

type Change = Partial<SenderRow["auth"]>;

const body = (sender: string, header: string, change: Change = {}, isUpperCase = false): SenderRow => ({
  sender,
  shape: "body",
  auth: { secret: SECRET, from: `header:${header}`, ...change },
  signs: ({ body }) => body,
  isUpperCase,
});

const prefixed: Change = { prefix: "sha256=" };
const base64: Change = { encoding: "base64" };
const sha1: Change = { algorithm: "hmac-sha1" };
const sha512: Change = { algorithm: "hmac-sha512" };

const BODY_SENDERS: readonly SenderRow[] = [
  body("GitHub", "X-Hub-Signature-256", prefixed),
  body("Ashby", "Ashby-Signature", prefixed),
  body("Cursor", "x-webhook-signature", prefixed),
  body("Fireflies", "X-Hub-Signature", prefixed),
  body("Flexport", "X-Hub-Signature-256", prefixed),
  body("Redmine", "X-Redmine-Signature-256", prefixed),
  body("Hindsight", "X-Hindsight-Signature", prefixed),
  body("Jira", "X-Hub-Signature", prefixed),
  body("Bitbucket", "X-Hub-Signature", prefixed),
  body("Notion", "X-Notion-Signature", prefixed),
  body("Meta", "X-Hub-Signature-256", prefixed),
  body("WhatsApp", "X-Hub-Signature-256", prefixed),
  body("Instagram", "X-Hub-Signature-256", prefixed),
  body("Linear", "Linear-Signature", {
    timestamp: { from: "body:webhookTimestamp", unit: "milliseconds", toleranceSeconds: 60 },
  }),
  body("Sentry", "Sentry-Hook-Signature"),
  body("Grafana", "X-Grafana-Alerting-Signature"),
  body("Alchemy", "X-Alchemy-Signature"),
  body("Attentive", "x-attentive-hmac-sha256"),
  body("Bunny Stream", "X-BunnyStream-Signature"),
  body("Coinbase Commerce", "X-CC-Webhook-Signature"),
  body("GoCardless", "Webhook-Signature"),
  body("Nuvemshop", "x-linkedstore-hmac-sha256"),
  body("Nylas", "x-nylas-signature"),
  body("Razorpay", "X-Razorpay-Signature"),
  body("Smartcar", "SC-Signature"),
  body("Uber", "X-Uber-Signature"),
  body("SHOPLINE", "X-Shopline-Hmac-Sha256"),
  body("Asana", "X-Hook-Signature"),
  body("Clio", "X-Hook-Signature"),
  body("Forgejo", "X-Forgejo-Signature"),
  body("Gitea", "X-Gitea-Signature"),
  body("Lemon Squeezy", "X-Signature"),
  body("PagerDuty", "X-PagerDuty-Signature", { prefix: "v1=", separator: "," }),
  body("Bridge API", "BridgeApi-Signature", { prefix: "v1=", separator: "," }, true),
  body("Scrapfly", "X-Scrapfly-Webhook-Signature", {}, true),
  body("Shopify", "X-Shopify-Hmac-Sha256", base64),
  body("WooCommerce", "X-WC-Webhook-Signature", base64),
  body("DocuSign", "X-DocuSign-Signature-2", {
    ...base64,
    from: ["header:X-DocuSign-Signature-2", "header:X-DocuSign-Signature-1"],
  }),
  body("FastSpring", "X-FS-Signature", base64),
  body("Commerce Layer", "X-CommerceLayer-Signature", base64),
  body("Picqer", "X-Picqer-Signature", base64),
  body("ShipHero", "x-shiphero-hmac-sha256", base64),
  body("Tally", "Tally-Signature", base64),
  body("Xero", "x-xero-signature", base64),
  body("Hookdeck", "x-hookdeck-signature", {
    ...base64,
    from: ["header:x-hookdeck-signature", "header:x-hookdeck-signature-2"],
  }),
  body("Typeform", "Typeform-Signature", { ...base64, ...prefixed }),
  body("X", "x-twitter-webhooks-signature", { ...base64, ...prefixed }),
  body("Vercel", "x-vercel-signature", sha1),
  body("Intercom", "X-Hub-Signature", { ...sha1, prefix: "sha1=" }),
  body("Enode", "X-Enode-Signature", { ...sha1, prefix: "sha1=" }),
  body("Paystack", "x-paystack-signature", sha512),
  body("Smile", "SmileIdentity-Signature", sha512),
];

const seconds = (from: string, toleranceSeconds?: number) => ({
  timestamp: { from, ...(toleranceSeconds === undefined ? {} : { toleranceSeconds }) },
});
const milliseconds = (from: string, toleranceSeconds?: number) => ({
  timestamp: { ...seconds(from, toleranceSeconds).timestamp, unit: "milliseconds" as const },
});

const timeDotBody = ({ time, body }: Signable) => `${time}.${body}`;
const timeColonBody = ({ time, body }: Signable) => `${time}:${body}`;
const timeBody = ({ time, body }: Signable) => time + body;

const DOT: Change = { content: "{timestamp}.{body}" };
const COLON: Change = { content: "{timestamp}:{body}" };
const ADJACENT: Change = { content: "{timestamp}{body}" };

const pairs = (sender: string, header: string, change: Change, signs: SenderRow["signs"] = timeDotBody): SenderRow => ({
  sender,
  shape: "pairs",
  auth: { secret: SECRET, from: `header:${header}`, ...DOT, ...change },
  signs,
});

const PAIR_SENDERS: readonly SenderRow[] = [
  pairs("Stripe", "Stripe-Signature", { pair: "v1", ...seconds("pair:t") }),
  pairs("Calendly", "Calendly-Webhook-Signature", { pair: "v1", ...seconds("pair:t", 180) }),
  pairs("WorkOS", "WorkOS-Signature", { pair: "v1", ...milliseconds("pair:t", 180) }),
  pairs("Persona", "Persona-Signature", { pair: "v1", ...seconds("pair:t") }),
  pairs("Recharge", "X-Recharge-Signature", { pair: "v1", ...seconds("pair:t", 172_800) }),
  pairs("TikTok", "TikTok-Signature", { pair: "s", ...seconds("pair:t") }),
  pairs("Knock", "x-knock-signature", { pair: "s", ...base64, ...milliseconds("pair:t") }),
  pairs("Courier", "courier-signature", { pair: "signature", ...milliseconds("pair:t") }),
  pairs("ElevenLabs", "ElevenLabs-Signature", { pair: "v0", ...seconds("pair:t", 1_800) }),
  pairs(
    "Retell",
    "x-retell-signature",
    { pair: "d", content: "{body}{timestamp}", ...milliseconds("pair:v") },
    ({ time, body }) => body + time,
  ),
  pairs(
    "Paddle",
    "Paddle-Signature",
    { pair: "h1", separator: ";", ...COLON, ...seconds("pair:ts", 5) },
    timeColonBody,
  ),
  pairs("Ascend", "Ascend-Signature", { pair: "v1", ...COLON, ...seconds("pair:t") }, timeColonBody),
  pairs("NMI", "Webhook-Signature", { pair: "s", content: "{pair:t}.{body}" }),
];

const timed = (sender: string, header: string, change: Change, signs: SenderRow["signs"]): SenderRow => ({
  sender,
  shape: "timed",
  auth: { secret: SECRET, from: `header:${header}`, ...change },
  signs,
});

const versioned: Change = { prefix: "v0=", content: "v0:{timestamp}:{body}" };
const signsVersioned = ({ time, body }: Signable) => `v0:${time}:${body}`;

const TIMED_SENDERS: readonly SenderRow[] = [
  timed("Slack", "X-Slack-Signature", { ...versioned, ...seconds("header:X-Slack-Request-Timestamp") }, signsVersioned),
  timed("Zoom", "x-zm-signature", { ...versioned, ...seconds("header:x-zm-request-timestamp") }, signsVersioned),
  timed(
    "Customer.io",
    "X-CIO-Signature",
    { ...versioned, prefix: "", ...seconds("header:X-CIO-Timestamp", 4) },
    signsVersioned,
  ),
  timed(
    "Statsig",
    "X-Statsig-Signature",
    { ...versioned, ...milliseconds("header:X-Statsig-Request-Timestamp") },
    signsVersioned,
  ),
  timed(
    "Orb",
    "X-Orb-Signature",
    {
      prefix: "v1=",
      content: "v1:{timestamp}:{body}",
      timestamp: { from: "header:X-Orb-Timestamp", unit: "iso8601" },
    },
    ({ time, body }) => `v1:${time}:${body}`,
  ),
  timed(
    "Faundit",
    "X-Faundit-Signature",
    { prefix: "v1=", content: "v1:{timestamp}:{body}", ...seconds("header:X-Faundit-Timestamp") },
    ({ time, body }) => `v1:${time}:${body}`,
  ),
  timed(
    "Revolut",
    "Revolut-Signature",
    {
      prefix: "v1=",
      separator: ",",
      content: "v1.{timestamp}.{body}",
      ...milliseconds("header:Revolut-Request-Timestamp"),
    },
    ({ time, body }) => `v1.${time}.${body}`,
  ),
  timed("Webflow", "x-webflow-signature", { ...COLON, ...milliseconds("header:x-webflow-timestamp") }, timeColonBody),
  timed(
    "Front",
    "X-Front-Signature",
    { ...base64, ...COLON, ...milliseconds("header:X-Front-Request-Timestamp") },
    timeColonBody,
  ),
  timed("Airwallex", "x-signature", { ...ADJACENT, ...milliseconds("header:x-timestamp") }, timeBody),
  timed(
    "Zendesk",
    "X-Zendesk-Webhook-Signature",
    {
      ...base64,
      ...ADJACENT,
      timestamp: { from: "header:X-Zendesk-Webhook-Signature-Timestamp", unit: "iso8601" },
    },
    timeBody,
  ),
  {
    ...timed("Oura", "x-oura-signature", { ...ADJACENT, ...seconds("header:x-oura-timestamp") }, timeBody),
    isUpperCase: true,
  },
  timed(
    "Akeneo",
    "X-Akeneo-Request-Signature",
    { ...DOT, ...seconds("header:X-Akeneo-Request-Timestamp") },
    timeDotBody,
  ),
  timed(
    "Synctera",
    "Synctera-Signature",
    { ...DOT, separator: ".", ...seconds("header:Request-Timestamp") },
    timeDotBody,
  ),
  timed(
    "Pylon",
    "Pylon-Webhook-Signature",
    { ...DOT, prefix: "hs256=", ...seconds("header:Pylon-Webhook-Timestamp") },
    timeDotBody,
  ),
  timed("Hermes", "X-Webhook-Signature-V2", { ...DOT, ...seconds("header:X-Webhook-Timestamp") }, timeDotBody),
];

export const HMAC_SENDERS: readonly SenderRow[] = [...BODY_SENDERS, ...PAIR_SENDERS, ...TIMED_SENDERS];
