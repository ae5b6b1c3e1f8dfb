const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/gu;

/**
 * JSON with a line for each member, every value as it is written: parsing would round large numbers, drop keys that
 * are repeated and undo escapes. Text that is no JSON stays as it is. Ends soon after `maxChars`, since deep nesting
 * would grow with the square.
 */
export function formatJson(text: string, maxChars: number): string {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  let out = "";
  let depth = 0;
  let before = "";
  for (const [token] of text.matchAll(TOKEN)) {
    if (out.length > maxChars) break;
    const isEnd = token === "}" || token === "]";
    if (isEnd) depth--;
    const isFirst = before === "{" || before === "[";
    // Nothing is between the brackets of an empty list.
    if (isEnd ? !isFirst : isFirst || before === ",") out += `\n${"  ".repeat(depth)}`;
    out += token === ":" ? ": " : token;
    if (token === "{" || token === "[") depth++;
    before = token;
  }
  return out;
}
