/** What an event of GitHub is about, by what its body says. */
import { textAt, wholeTextAt } from "../../../core/payload-text.ts";
import type { EventObject, PresetContext, PresetObjects } from "../../preset.ts";

/** Each has a number that is unique in its repository. */
const THINGS = ["issue", "pull_request", "discussion"] as const;
/** Written under one of them, and not shown by an event about it. */
const PARTS = ["comment", "review", "answer"] as const;

/** The text of the issue, pull request or discussion itself, and the commit that a pull request has by then. */
function thingOf({ payload }: PresetContext): EventObject | undefined {
  const repository = textAt(payload, "repository.id");
  const thing = THINGS.find((key) => textAt(payload, `${key}.number`) !== "");
  if (repository === "" || thing === undefined) return undefined;
  const shown = ["title", "body"].map((key) => wholeTextAt(payload, `${thing}.${key}`));
  return {
    id: [repository, thing, textAt(payload, `${thing}.number`)].join("/"),
    text: JSON.stringify([...shown, textAt(payload, `${thing}.head.sha`)]),
  };
}

export const githubObjects: PresetObjects = {
  held(context) {
    const thing = thingOf(context);
    const part = PARTS.find((key) => textAt(context.payload, `${key}.id`) !== "");
    if (thing === undefined || part === undefined) return thing;
    return { id: [thing.id, part, textAt(context.payload, `${part}.id`)].join("/") };
  },
  approved: thingOf,
};
