/** The way to a key of a configuration, from its root down. */
export type KeyPath = readonly (string | number)[];

const MAX_CHARACTERS = 60;

/** The path of a key for people: `agents.list[3].id`, `models["openai/gpt-5"]`. */
export function showKeyPath(path: KeyPath): string {
  let shown = "";
  for (const step of path) {
    if (typeof step === "number") shown += `[${step}]`;
    else if (!/^[\w$-]{1,60}$/.test(step)) shown += `[${JSON.stringify(shorten(step))}]`;
    else shown += shown === "" ? step : `.${step}`;
  }
  return shown;
}

/** A text for a message: what is too long is cut. */
export function shorten(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}...` : text;
}

const MAX_NAMES = 10;

/** A value of the configuration as messages show it: on one line, short, and without the password of a URL. */
export function showValue(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(shorten(value.replaceAll(/\/\/[^\s/]*@/g, "//***@")));
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  return String(value);
}

/** Names in a list for people, the first ten of them: `a, b, c`. */
export function showNames(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).map(shorten).join(", ");
  return names.length > MAX_NAMES ? `${shown} and ${names.length - MAX_NAMES} more` : shown;
}

/**
 * The known key that was most likely meant, or `undefined` when none is near: at most a third of the
 * letters are wrong, missing, in excess or swapped with their neighbor. Case does not count.
 */
export function closestKey(key: string, known: readonly string[]): string | undefined {
  const written = key.toLowerCase();
  let closest: string | undefined;
  let closestDistance = Infinity;
  for (const candidate of known) {
    const limit = Math.max(1, Math.floor(candidate.length / 3));
    if (Math.abs(candidate.length - key.length) > limit) continue;
    const distance = editDistance(written, candidate.toLowerCase());
    if (distance <= limit && distance < closestDistance) {
      closest = candidate;
      closestDistance = distance;
    }
  }
  return closest;
}

/** Optimal string alignment: single edits and swaps of neighbors that turn one text into the other. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let at = 1; at <= to.length; at++) {
      const isSame = from[row - 1] === to[at - 1];
      const isSwap = row > 1 && at > 1 && from[row - 1] === to[at - 2] && from[row - 2] === to[at - 1];
      current[at] = Math.min(
        last[at]! + 1,
        current[at - 1]! + 1,
        last[at - 1]! + (isSame ? 0 : 1),
        isSwap ? beforeLast[at - 2]! + 1 : Infinity,
      );
    }
    beforeLast = last;
    last = current;
  }
  return last[to.length]!;
}
