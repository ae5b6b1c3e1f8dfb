import Type from "typebox";
import type { Static } from "typebox";
import { flag, text, whole, withDefault } from "./schema-parts.ts";

export interface GmailConfig {
  readonly model: string | undefined;
  readonly thinking: string | undefined;
  readonly allowUnsafeExternalContent: boolean | undefined;
  /** Bytes of a mail's body that the watcher sends; the body limit follows from it. */
  readonly maxBytes: number;
}

const WATCHER = "For the mail watcher; without effect here.";
const PORT = { minimum: 1, maximum: 65_535 };

const watcherText = (description: string) => Type.Optional(text({ description: `${description} ${WATCHER}` }));

/** The preset whose block has a schema of its own. */
export const GMAIL = "gmail";

/** `hooks.gmail`: the `gmail` preset's settings and those of its watcher. */
export const GmailSchema = Type.Object(
  {
    model: Type.Optional(text({ description: "Model of the preset's runs. Absent: the agent's own." })),
    thinking: Type.Optional(
      Type.Enum(["off", "minimal", "low", "medium", "high"], { description: "Thinking level of the preset's runs." }),
    ),
    allowUnsafeExternalContent: Type.Optional(
      flag("Turns the boundary around mails off. Dangerous: anyone can send you a mail. Absent: `false`."),
    ),
    maxBytes: withDefault(
      whole(
        { minimum: 1, maximum: 10_485_760 },
        "Bytes of a mail's body that the watcher sends; the body limit of the preset follows from it.",
      ),
      20_000,
    ),
    account: watcherText("Mail account that is watched."),
    topic: watcherText("Pub/Sub topic."),
    pushToken: Type.Optional(text({ description: `Token of the push endpoint. ${WATCHER}`, writeOnly: true })),
    label: watcherText("Label that is watched."),
    subscription: watcherText("Pub/Sub subscription."),
    hookUrl: Type.Optional(text({ description: `URL that mails are posted to. ${WATCHER}`, writeOnly: true })),
    includeBody: Type.Optional(flag(`Sends bodies too. ${WATCHER}`)),
    renewEveryMinutes: Type.Optional(
      whole({ minimum: 1, maximum: 525_600 }, `How often the watch is renewed. ${WATCHER}`),
    ),
    serve: Type.Optional(
      Type.Object(
        {
          bind: watcherText("Address the watcher listens on."),
          port: Type.Optional(whole(PORT, `Port the watcher listens on. ${WATCHER}`)),
          path: watcherText("Path the watcher listens on."),
        },
        { additionalProperties: false, description: `Where the watcher listens. ${WATCHER}` },
      ),
    ),
    tailscale: Type.Optional(
      Type.Object(
        {
          mode: Type.Optional(Type.Enum(["off", "serve", "funnel"], { description: `How it is exposed. ${WATCHER}` })),
          path: watcherText("Path it is exposed under."),
          target: watcherText("Target that it forwards to."),
        },
        { additionalProperties: false, description: `Exposure of the watcher by Tailscale. ${WATCHER}` },
      ),
    ),
  },
  { additionalProperties: false, description: "Settings of the preset `gmail` and of its watcher." },
);

/** `hooks.gmail` as written. */
export type GmailInput = Static<typeof GmailSchema>;

/** Reads `hooks.gmail` as the preset wants it; what it leaves out is as in `base`. */
export function readGmail(input: GmailInput, base: Partial<GmailConfig> = {}): GmailConfig {
  return {
    model: input.model?.trim() || base.model,
    thinking: input.thinking ?? base.thinking,
    allowUnsafeExternalContent: input.allowUnsafeExternalContent ?? base.allowUnsafeExternalContent,
    maxBytes: input.maxBytes ?? base.maxBytes ?? GmailSchema.properties.maxBytes.default,
  };
}
