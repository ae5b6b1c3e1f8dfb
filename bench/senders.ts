/**
 * The ways of signing that are measured: each as an operator writes it into a mapping, and as its
 * sender does it, in as few words as `node:crypto` allows and without a line of what is measured.
 */
import { createHmac, createPrivateKey, createPublicKey, hash, sign } from "node:crypto";
import type { AuthInput } from "../src/config/auth/schema.ts";

export interface BenchSender {
  /** What it is called in the table. */
  readonly title: string;
  readonly auth: AuthInput & { readonly secret: string };
  /** The headers that the sender adds; `id` is that of the delivery. */
  sign(body: string, id: string): Readonly<Record<string, string>>;
}

const GITHUB_SECRET = "bench-github-secret-0123456789abcdef";
const STRIPE_SECRET = "bench-stripe-secret-0123456789abcdef";
const STANDARD_KEY = Buffer.from("bench-standard-webhooks-key-0123");
/** PKCS #8 of an Ed25519 key, up to its 32 bytes (RFC 8410). */
const ED25519_HEAD = Buffer.from("302e020100300506032b657004220420", "hex");
const DISCORD_KEY = createPrivateKey({
  key: Buffer.concat([ED25519_HEAD, hash("sha256", "reveille bench", "buffer")]),
  format: "der",
  type: "pkcs8",
});

const github = {
  title: "GitHub's: HMAC-SHA256, hex, of the body",
  auth: { secret: GITHUB_SECRET, from: "header:x-hub-signature-256", prefix: "sha256=" },
  sign: (body) => ({ "x-hub-signature-256": `sha256=${hmac(GITHUB_SECRET, body).toString("hex")}` }),
} satisfies BenchSender;

export const senders = {
  github,
  // Tells the cost of verifying from that of remembering.
  unremembered: {
    ...github,
    title: "GitHub's, copies not recognized (`replaySeconds: 0`)",
    auth: { ...github.auth, replaySeconds: 0 },
  },
  stripe: {
    title: "Stripe's: HMAC-SHA256, hex, of time and body",
    auth: {
      secret: STRIPE_SECRET,
      from: "header:stripe-signature",
      pair: "v1",
      content: "{timestamp}.{body}",
      timestamp: { from: "pair:t" },
    },
    sign: (body) => {
      const time = now();
      return { "stripe-signature": `t=${time},v1=${hmac(STRIPE_SECRET, `${time}.${body}`).toString("hex")}` };
    },
  },
  standard: {
    title: "Standard Webhooks: HMAC-SHA256, base64, of id, time and body",
    auth: {
      secret: `whsec_${STANDARD_KEY.toString("base64")}`,
      from: "header:webhook-signature",
      separator: " ",
      prefix: "v1,",
      encoding: "base64",
      keyEncoding: "whsec",
      id: "header:webhook-id",
      timestamp: { from: "header:webhook-timestamp" },
      content: "{id}.{timestamp}.{body}",
    },
    sign: (body, id) => {
      const time = now();
      const signature = hmac(STANDARD_KEY, `${id}.${time}.${body}`).toString("base64");
      return { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": `v1,${signature}` };
    },
  },
  discord: {
    title: "Discord's: Ed25519 of time and body",
    auth: {
      secret: Buffer.from(createPublicKey(DISCORD_KEY).export({ format: "jwk" }).x!, "base64url").toString("hex"),
      algorithm: "ed25519",
      keyEncoding: "hex",
      from: "header:x-signature-ed25519",
      content: "{timestamp}{body}",
      timestamp: { from: "header:x-signature-timestamp" },
    },
    sign: (body) => {
      const time = now();
      const signature = sign(null, Buffer.from(time + body), DISCORD_KEY).toString("hex");
      return { "x-signature-timestamp": time, "x-signature-ed25519": signature };
    },
  },
} satisfies Record<string, BenchSender>;

export type SenderName = keyof typeof senders;

export const senderNames = Object.keys(senders) as readonly SenderName[];

function hmac(key: string | Buffer, content: string): Buffer {
  return createHmac("sha256", key).update(content).digest();
}

function now(): string {
  return String(Math.floor(Date.now() / 1_000));
}
