import { messageOf } from "../../core/payload-text.ts";
import type { EventActor } from "../preset.ts";
import { dataLines } from "./data-lines.ts";
import { headline, oneLine, phrase } from "./headline.ts";

/**
 * The message about an event that a preset has no wording for: `Zoom: user.created by ada@example.com`, and
 * below it what `content` holds, a line for each key.
 */
export function unknownEvent(
  title: string,
  event: string | undefined,
  sender: EventActor | undefined,
  content: unknown,
): string {
  const name = oneLine(event ?? "");
  const what = name === "" ? `${title} sent an event` : `${title}: ${name}`;
  return messageOf(headline(what, phrase("by", sender?.name ?? "")), dataLines(content));
}

const MAX_FIELDS = 12;

/** The parts of a message about an event that has no wording of its own. */
export interface GenericParts {
  /** Title of the sender. */
  readonly title: string;
  readonly event: string | undefined;
  /** The subject of the event. */
  readonly object: unknown;
  /** Lines that follow, such as ids. */
  readonly lines?: readonly string[];
}

/** The same where the object counts, not who caused it: `Stripe event plan.created`, its main fields, more lines. */
export function genericMessage({ title, event, object, lines = [] }: GenericParts): string {
  return messageOf(headline(title, "event", oneLine(event ?? "")), dataLines(object, MAX_FIELDS), lines);
}
