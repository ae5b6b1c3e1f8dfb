import { clip, itemLines, joinText, labeled, listAt, textAt } from "../../core/payload-text.ts";

const MAX_LINE = 200;
const BREAKS = /[\s\p{Cc}]+/gu;

/** The pieces that are not empty, as words of one line: `headline("octo", "pushed", phrase("to", branch))`. */
export function headline(...pieces: readonly string[]): string {
  return joinText(" ", ...pieces);
}

/** A word and what must follow it; neither without the latter: `phrase("in", "acme/app")`. */
export function phrase(word: string, text: string): string {
  return text === "" ? "" : `${word} ${text}`;
}

/** A headline and the title of what it is about: `octo opened issue #3: Login fails`. */
export function titled(line: string, title: string): string {
  return joinText(": ", line, title);
}

/** Like `textAt`, as one line of at most 200 characters: line breaks and control characters become spaces. */
export function lineAt(payload: unknown, ...paths: readonly string[]): string {
  for (const path of paths) {
    const line = oneLine(textAt(payload, path));
    if (line !== "") return line;
  }
  return "";
}

/** Like `textAt`, with the line breaks of a text for people. */
export function bodyAt(payload: unknown, ...paths: readonly string[]): string {
  return textAt(payload, ...paths)
    .replaceAll("\r\n", "\n")
    .trim();
}

/** The names in a list, as one line: texts, or what the items have under the path. */
export function namesAt(payload: unknown, list: string, path = ""): string {
  return joinText(", ", ...itemLines(listAt(payload, list), (item) => lineAt(item, path)));
}

/** The ids that an agent needs to answer or to look something up, as one line: `Ids: chat 5001, message 41`. */
export function idLine(payload: unknown, places: Readonly<Record<string, string | readonly string[]>>): string {
  const ids = Object.entries(places).map(([name, paths]) => phrase(name, lineAt(payload, ...[paths].flat())));
  return labeled("Ids", joinText(", ", ...ids));
}

/** The start of a comment without an end: it could end in the text of someone else, and hide the begin of that. */
const OPEN_COMMENT = /<!--(?!.*--!?>)/gsu;

/** A text as one line of at most 200 characters. */
export function oneLine(text: string): string {
  const line = clip(text.replace(BREAKS, " ").trim(), MAX_LINE);
  return line.includes("<!--") ? line.replace(OPEN_COMMENT, "<! -") : line;
}

/** Between two parts of a name, and around it only: elsewhere it could be the mark of a comment, which is to be recognized as one. */
const JOINTS = /(?<=[\p{L}\p{N}])[_.:/-]+(?=[\p{L}\p{N}])|^[_.:/-]+|[_.:/-]+$/gu;

/** A name of a sender's protocol in plain words: `review_requested` is `review requested`. */
export function spoken(name: string): string {
  return oneLine(name.replace(JOINTS, " "));
}

/** The same text with a capital first letter. */
export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `1 commit`, `3 commits`. */
export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

/** A technical name in plain words: `past_due`, `PAYMENT-FAILED` and `propertyChange` lose their shape. */
export function words(name: string): string {
  const spaced = name.replaceAll(/(\p{Ll})(\p{Lu})/gu, "$1 $2").replaceAll(JOINTS, " ");
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

/** The last part of an event's name as a predicate of its subject: `refunded` becomes `was refunded`. */
export function happened(action: string): string {
  const verb = words(action);
  if (verb === "" || ACTIVE.has(verb)) return verb;
  if (Object.hasOwn(SAID_OTHERWISE, verb)) return SAID_OTHERWISE[verb]!;
  if (STATES.has(verb)) return `is ${verb}`;
  return PARTICIPLE.test(verb) ? `was ${verb}` : headline("changed:", verb);
}
