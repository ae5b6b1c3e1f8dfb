import type { ConditionBudget } from "./budget.ts";

/** What the engine finds in one pass, whatever the text. */
const MAX_PLAIN = 6;
const CANDIDATE_UNITS = 1.5;

/**
 * Whether a text contains another. The engine's own search may compare the two at every place, which takes
 * seconds for a text of 256 KiB that is made for it: here each place where they begin alike is charged.
 */
export function containsText(text: string, part: string, budget: ConditionBudget): boolean {
  budget.chargeText(text.length * 2 + part.length);
  if (part.length <= MAX_PLAIN) return text.includes(part);
  const start = part.slice(0, MAX_PLAIN);
  const last = text.length - part.length;
  for (let at = text.indexOf(start); at !== -1 && at <= last; at = text.indexOf(start, at + 1)) {
    budget.charge(CANDIDATE_UNITS);
    budget.chargeCompared(part.length);
    if (text.slice(at, at + part.length) === part) return true;
  }
  return false;
}
