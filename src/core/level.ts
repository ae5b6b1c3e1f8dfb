/** How far the owner trusts the person behind an event, the least first. */
export const LEVELS = ["unknown", "known", "trusted", "owner"] as const;
export type Level = (typeof LEVELS)[number];

/** The less trusted of two. */
export function lowerLevel(one: Level, other: Level): Level {
  return LEVELS.indexOf(one) < LEVELS.indexOf(other) ? one : other;
}
