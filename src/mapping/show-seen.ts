const MAX_SHOWN = 100;

/** A value of a request as the reason of a miss shows it: on one line, cut to 100 characters. */
export function showSeen(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(cutText(value, MAX_SHOWN));
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "object" && value !== null) return "an object";
  return String(value);
}

/** A text on one line, cut to so many characters. */
export function cutText(text: string, maxCharacters: number): string {
  const cut = text.length > maxCharacters ? `${text.slice(0, maxCharacters)}...` : text;
  return cut.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, " ");
}
