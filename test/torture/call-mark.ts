/** Kinds of senders of the torture. */
export const SENDERS = ["github", "stripe", "shell", "batch", "burst", "flaky", "report", "wake"] as const;
export type Sender = (typeof SENDERS)[number];

/** What a call, or an item of one, is recognized by wherever its text comes up: `shell-3-17`. */
export type Mark = `${Sender}-${number}-${number}`;

const MARK = new RegExp(`\\b(?:${SENDERS.join("|")})-\\d+-\\d+\\b`, "g");

/** The marks in a text, each once, in order. */
export function marksIn(text: string): readonly Mark[] {
  return [...new Set(text.match(MARK) as Mark[] | null)];
}

export function senderOf(mark: Mark): Sender {
  return mark.slice(0, mark.indexOf("-")) as Sender;
}

/** Sender and lane: calls with the same one are for one session. */
export function laneOf(mark: Mark): string {
  return mark.slice(0, mark.lastIndexOf("-"));
}
