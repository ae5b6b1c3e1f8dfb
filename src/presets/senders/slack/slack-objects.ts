/** What an event of Slack is about: a message, by its channel and time. A reaction approves it, and shows none of its text. */
import { textAt, valueAt } from "../../../core/payload-text.ts";
import { slackTeam } from "./slack-actor.ts";
import type { EventObject, PresetContext, PresetObjects } from "../../preset.ts";

export const slackObjects: PresetObjects = {
  held({ payload }) {
    const inner = valueAt(payload, "event");
    if (textAt(inner, "type") !== "message") return undefined;
    // An edit is an event of its own, about the same message.
    return messageOf(payload, textAt(inner, "channel"), textAt(inner, "message.ts", "ts"));
  },
  approved({ payload }: PresetContext) {
    const item = valueAt(payload, "event.item");
    return messageOf(payload, textAt(item, "channel"), textAt(item, "ts"));
  },
};

function messageOf(payload: unknown, channel: string, time: string): EventObject | undefined {
  if (channel === "" || time === "") return undefined;
  return { id: [slackTeam(payload), channel, time].join("/") };
}
