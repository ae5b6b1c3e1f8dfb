import type { PresetDefinition } from "../../define-preset.ts";

/** The authentication of a Discord application, for all that it sends. */
export const discordApplication = {
  auth: {
    scheme: "signature",
    algorithm: "ed25519",
    keyEncoding: "hex",
    from: "header:x-signature-ed25519",
    content: "{timestamp}{body}",
    timestamp: { from: "header:x-signature-timestamp" },
  },
  secret: { label: "Public Key", madeBy: "sender", minLength: 64 },
} as const satisfies Partial<PresetDefinition>;
