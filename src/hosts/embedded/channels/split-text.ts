/** Where a text may be cut, best first: after a paragraph, a line, a sentence, a word. */
const CUTS = [/\n{2,}/gu, /\n/gu, /(?<=[.!?])\s+/gu, /\s+/gu] as const;
/** A cut before that part of the room would make many short messages. */
const EARLIEST = 0.4;
const FENCE = /^ {0,3}(```|~~~)[^\n]*$/gmu;

/**
 * Cuts a markdown text into parts of at most `maxChars` UTF-16 units, in order, at paragraphs where it can. A fenced
 * block of code that is cut is closed in one part and opened again in the next; no character is cut in half.
 */
export function splitText(text: string, maxChars: number): readonly string[] {
  const parts: string[] = [];
  let rest = text;
  while (rest.length > maxChars) {
    // Room to close a block of code.
    const room = maxChars - FENCE_ROOM;
    const at = cutAt(rest, room);
    const part = rest.slice(0, at).trimEnd();
    const fence = openFence(part);
    parts.push(fence === undefined ? part : `${part}\n\`\`\``);
    rest = rest.slice(at).replace(/^\s*\n|^\s+(?=\S)/u, "");
    if (fence !== undefined) rest = `${fence}\n${rest}`;
  }
  if (rest.trim() !== "" || parts.length === 0) parts.push(rest);
  return parts;
}

const FENCE_ROOM = 4;
/** A longer line that opens a block is not repeated. */
const MAX_FENCE = 40;

function cutAt(text: string, room: number): number {
  const head = text.slice(0, room);
  for (const cut of CUTS) {
    const last = [...head.matchAll(cut)].findLast(({ index }) => index >= EARLIEST * room);
    if (last !== undefined) return last.index;
  }
  return head.isWellFormed() ? room : room - 1;
}

/** The line that opens the block of code that is still open at the end. */
function openFence(part: string): string | undefined {
  const fences = [...part.matchAll(FENCE)];
  if (fences.length % 2 === 0) return undefined;
  const [line] = fences.at(-1)!;
  return line.length > MAX_FENCE ? "```" : line;
}
