import Type from "typebox";
import type { PresetDefinition } from "../../define-preset.ts";
import { embeddedBase64 } from "../../embedded-payload.ts";
import { joinText, textAt, valueAt } from "../../../core/payload-text.ts";

/**
 * The part that all push subscriptions of Pub/Sub share: the token that Google issues for the service
 * account, the envelope around the data, and the id of the message. The token covers nothing of the body.
 */
export const googlePush = {
  auth: ({ audience, serviceAccount }) => ({
    scheme: "jwt",
    from: "header:authorization",
    prefix: "Bearer ",
    jwksUrl: "https://www.googleapis.com/oauth2/v3/certs",
    issuer: ["https://accounts.google.com", "accounts.google.com"],
    audience: typeof audience === "string" ? audience : "",
    claims: { email: typeof serviceAccount === "string" ? serviceAccount : "", email_verified: true },
  }),
  settings: Type.Object(
    {
      audience: Type.String({
        minLength: 1,
        maxLength: 1_024,
        description: "Audience of the subscription's tokens: `--push-auth-token-audience`.",
      }),
      serviceAccount: Type.String({
        pattern: "^[^@\\s]+@[^@\\s]+$",
        maxLength: 320,
        title: "the e-mail address of a service account",
        description: "Service account that the tokens are issued for: `--push-auth-service-account`.",
      }),
    },
    { additionalProperties: false },
  ),
  unwrap: withData,
  deliveryId: {
    from: ({ payload }) => {
      const id = textAt(payload, "message.messageId", "message.message_id");
      return id === "" ? undefined : joinText("/", textAt(payload, "subscription"), id);
    },
    where: "body:subscription + body:message.messageId",
    signed: false,
  },
} as const satisfies Partial<PresetDefinition>;

/** The envelope with its data as JSON or text instead of base64. */
function withData(payload: unknown): unknown {
  const message = valueAt(payload, "message");
  const data = valueAt(message, "data");
  if (typeof data !== "string") return payload;
  return { ...(payload as object), message: { ...(message as object), data: embeddedBase64(data) } };
}
