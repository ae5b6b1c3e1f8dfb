import type { AuthInput } from "../../../config/auth/schema.ts";
import type { PresetDefinition } from "../../define-preset.ts";

/** Secrets of the documentation of Standard Webhooks and Svix. */
const EXAMPLE_SECRETS: readonly string[] = [
  "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
  "whsec_plJ3nmyCDGBKInavdOK15jsl",
];

/** Characters of the shortest secret that the specification allows: 24 bytes as base64. */
const MIN_LENGTH = 32;

/**
 * The scheme of Standard Webhooks 1.0.0: HMAC-SHA256 over id, time and body; several signatures while
 * a secret is changed. Svix and many who use it name the headers `svix-*` instead of `webhook-*`.
 */
function standardWebhooksAuth(headers: "webhook" | "svix"): AuthInput {
  return {
    scheme: "signature",
    from: `header:${headers}-signature`,
    separator: " ",
    prefix: "v1,",
    encoding: "base64",
    algorithm: "hmac-sha256",
    keyEncoding: "whsec",
    id: `header:${headers}-id`,
    timestamp: { from: `header:${headers}-timestamp`, unit: "seconds", toleranceSeconds: 300 },
    content: "{id}.{timestamp}.{body}",
  };
}

/**
 * The part that the presets of all Standard Webhooks senders share. `label` is the sender's name for the
 * secret; `known` are further secrets of its documentation.
 */
export function whsecSender(headers: "webhook" | "svix", label: string, known: readonly string[] = []) {
  return {
    auth: standardWebhooksAuth(headers),
    secret: { label, madeBy: "sender", minLength: MIN_LENGTH, known: [...EXAMPLE_SECRETS, ...known] },
    deliveryId: { from: `header:${headers}-id`, signed: true },
  } as const satisfies Partial<PresetDefinition>;
}
