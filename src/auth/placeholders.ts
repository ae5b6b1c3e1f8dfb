/** A piece of a text with placeholders: literal text, or the name between braces with what follows its colon. */
export type TextPart = string | { readonly name: string; readonly argument: string };

const PLACEHOLDER = /\{([A-Za-z0-9]+)(?::([^{}]+))?\}/g;

/** Takes a text such as `v0:{timestamp}:{body}` apart; braces that hold no name are literal text. */
export function splitPlaceholders(text: string): readonly TextPart[] {
  const parts: TextPart[] = [];
  let end = 0;
  for (const match of text.matchAll(PLACEHOLDER)) {
    if (match.index > end) parts.push(text.slice(end, match.index));
    parts.push({ name: match[1]!, argument: match[2] ?? "" });
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}
