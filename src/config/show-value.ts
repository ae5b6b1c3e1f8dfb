import { shorten } from "./key-path.ts";

const MAX_NAMES = 10;

/** A value of the configuration as messages show it: on one line and short. */
export function showValue(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(shorten(value));
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  return String(value);
}

/** Names in a list for people, the first ten of them: `a, b, c`. */
export function showNames(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).map(shorten).join(", ");
  return names.length > MAX_NAMES ? `${shown} and ${names.length - MAX_NAMES} more` : shown;
}
