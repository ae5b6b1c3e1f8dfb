import { textAt, valueAt, wholeTextAt } from "../../../core/payload-text.ts";
import type { ChatMessage, PresetEvent } from "../../preset.ts";
import { slackText } from "./slack-text.ts";

/** A direct message to the app, or a command; what a message shares of others is in other fields than its text. */
export function slackChat({ payload, event }: PresetEvent): ChatMessage | undefined {
  if (event === "slash_command") {
    const user = textAt(payload, "user_id");
    return { from: user, to: user, text: `${textAt(payload, "command")} ${wholeTextAt(payload, "text")}` };
  }
  const inner = valueAt(payload, "event");
  const isDirect = event === "message" && textAt(inner, "channel_type") === "im" && textAt(inner, "bot_id") === "";
  if (!isDirect) return undefined;
  return { from: textAt(inner, "user"), to: textAt(inner, "channel"), text: slackText(wholeTextAt(inner, "text")) };
}
