/** Signatures of outgoing webhooks. */
import { createHmac, hash } from "node:crypto";

const SECRET_PREFIX = "whsec_";

/** The three headers of Standard Webhooks. */
export interface SignatureHeaders {
  readonly "webhook-id": string;
  /** Seconds since the epoch. */
  readonly "webhook-timestamp": string;
  readonly "webhook-signature": string;
}

/**
 * Signs a body by version 1 of Standard Webhooks: HMAC-SHA256 over `<id>.<timestamp>.<body>` with
 * the bytes that follow `whsec_` in base64.
 *
 * Source: https://github.com/standard-webhooks/standard-webhooks, "Signature scheme".
 */
export function signMessage(body: string, options: { id: string; atMs: number; secret: string }): SignatureHeaders {
  const { id, atMs, secret } = options;
  const key = Buffer.from(secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret, "base64");
  const timestamp = String(Math.floor(atMs / 1_000));
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${signature}` };
}

/** The id of a message: the same for every try with the same idempotency key, from which it cannot be guessed. */
export function messageId(idempotencyKey: string): string {
  return `msg_${hash("sha256", idempotencyKey).slice(0, 32)}`;
}
