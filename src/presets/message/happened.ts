import { headline, oneLine } from "./headline.ts";

/** A technical name in plain words: `past_due`, `PAYMENT-FAILED` and `propertyChange` lose their shape. */
export function words(name: string): string {
  const spaced = name.replaceAll(/(\p{Ll})(\p{Lu})/gu, "$1 $2").replaceAll(/[._/-]+/g, " ");
  return oneLine(spaced.toLowerCase());
}

/** Verbs that say themselves what the subject did. */
const ACTIVE: ReadonlySet<string> = new Set(["completed", "failed", "expired", "succeeded", "ended", "started"]);
/** Words for a state rather than for something that happened. */
const STATES: ReadonlySet<string> = new Set(["pending", "active", "past due", "ready", "halted", "in process"]);
const SAID_OTHERWISE: Readonly<Record<string, string>> = {
  create: "was created",
  update: "was updated",
  delete: "was deleted",
  paid: "was paid",
  sent: "was sent",
  undone: "was undone",
  "payment made": "received a payment",
  "payment failed": "had a failed payment",
  "payment success": "was paid",
  "payment recovered": "recovered from a failed payment",
  "payment refunded": "had a payment refunded",
  "state updated": "changed its state",
  "content updated": "was edited",
  "properties updated": "had properties changed",
  "schema updated": "had its schema changed",
};
const PARTICIPLE = /^\p{L}+ed$/u;

/** What happened to a subject, after the last part of an event's name: `refunded` is `was refunded`. */
export function happened(action: string): string {
  const verb = words(action);
  if (verb === "" || ACTIVE.has(verb)) return verb;
  if (Object.hasOwn(SAID_OTHERWISE, verb)) return SAID_OTHERWISE[verb]!;
  if (STATES.has(verb)) return `is ${verb}`;
  return PARTICIPLE.test(verb) ? `was ${verb}` : headline("changed:", verb);
}
