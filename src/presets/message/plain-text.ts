const BREAK = /<(?:br|\/p|\/div|\/li|\/h[1-6])\b[^<>]*>/gi;
const TAG = /<[^<>]*>/g;
const ENTITY = /&(amp|lt|gt|quot|apos|nbsp|#39);/g;
const CHARACTERS: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  "#39": "'",
};

/**
 * The text of a piece of simple HTML, for reading only: paragraphs and breaks become line ends, other
 * tags go, the common entities become their characters. The result is as untrusted as the HTML.
 */
export function plainText(html: string): string {
  const text = html.replaceAll(BREAK, "\n").replaceAll(TAG, "");
  return decodeEntities(text)
    .replaceAll(/\s*\n\s*/g, "\n")
    .trim();
}

/** Replaces the common entities by their characters. */
export function decodeEntities(text: string): string {
  return text.replaceAll(ENTITY, (_, name: string) => CHARACTERS[name]!);
}
