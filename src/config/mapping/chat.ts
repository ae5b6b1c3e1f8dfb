/** `chat` of a mapping: a private chat of the owner with the agent. */
import Type, { type Static } from "typebox";
import type { Findings } from "../errors.ts";
import { text } from "../schema-parts.ts";

export const ChatSchema = Type.Object(
  {
    from: Type.Array(text({ description: "", title: "an id of the platform", pattern: "\\S" }), {
      minItems: 1,
      maxItems: 100,
      description:
        "The platform's ids of the owner's accounts: `123456789` at Telegram, `U0123ABCD` at Slack. No names.",
    }),
    channel: Type.Optional(
      text({
        description: "The channel of the gateway that the reply is sent on. Absent: the one with the preset's name.",
        title: "the name of a channel",
        pattern: "\\S",
      }),
    ),
  },
  {
    additionalProperties: false,
    description:
      "A private chat of the owner: what these accounts write reaches the main session as the owner's own words, and the reply goes back. All else at the path is skipped. For the presets `slack` and `telegram`, and hosts that take such messages.",
  },
);

export interface ChatConfig {
  readonly from: ReadonlySet<string>;
  readonly channel: string;
}

/** Reads the key; `preset` is the name of the mapping's preset. */
export function readChatConfig({ from, channel }: Static<typeof ChatSchema>, preset: string | undefined): ChatConfig {
  return { from: new Set(from.map((id) => id.trim())), channel: channel?.trim() || (preset ?? "") };
}

/** Keys that make another thing of the event than the owner's own message. */
const NOT_OF_CHAT = [
  "action",
  "wakeMode",
  "sessionKey",
  "textTemplate",
  "messageTemplate",
  "transform",
  "forEach",
  "coalesce",
] as const;

/** Checks the chat of one mapping; `written` are the keys that its author wrote. */
export function checkChat(
  { where, chat }: { readonly where: string; readonly chat?: ChatConfig | undefined },
  written: object,
  findings: Findings,
): void {
  if (chat === undefined) return;
  for (const key of NOT_OF_CHAT) {
    if (Object.hasOwn(written, key))
      findings.refuse(`${where}.${key}`, "cannot be used together with chat; leave it out");
  }
  if (chat.channel.toLowerCase() === "last") {
    findings.refuse(
      `${where}.chat.channel`,
      "must be a channel by its name: the reply goes where the message came from",
    );
  }
}
