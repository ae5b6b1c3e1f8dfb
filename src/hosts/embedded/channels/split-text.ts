/** Where a text may be cut, best first: after a paragraph, a line, a sentence, a word. */
const CUTS = [/\n{2,}/gu, /\n/gu, /(?<=[.!?])\s+/gu, /\s+/gu] as const;
/** A cut before that part of the room would make many short messages. */
const EARLIEST = 0.4;
const FENCE = /^ {0,3}(```|~~~)[^\n]*$/gmu;
/** The end of a block of code at the beginning of a text. */
const CLOSED = /^ {0,3}(?:`{3,}|~{3,})[ \t]*(?:\n+|$)/u;

/**
 * Cuts a markdown text into parts, in order, at paragraphs where it can. Neither the UTF-16 units of a part nor what
 * `sizeOf` says of it are more than `max`, except for a single character that is larger by itself. A fenced block of
 * code that is cut is closed in one part and opened again in the next; no character is cut in half. The same text has
 * the same parts each time. Each is measured when it is asked for: that of a long text would take seconds at once.
 */
export function* splitText(text: string, max: number, sizeOf = (part: string) => part.length): Generator<string> {
  for (const part of cutInParts(text, max)) yield* partsThatFit(part, max, sizeOf);
}

/** What the platform gets can be larger than its source. Such a part is cut again, until each of its parts fits. */
function partsThatFit(part: string, max: number, sizeOf: (part: string) => number): readonly string[] {
  const size = sizeOf(part);
  const isOneCharacter = part.length <= 2 && Array.from(part).length <= 1;
  if (size <= max || isOneCharacter) return [part];
  const room = Math.max(1, Math.floor(part.length * Math.min(max / size, MOST_KEPT)));
  return cutInParts(part, room).flatMap((smaller) => partsThatFit(smaller, max, sizeOf));
}

/** Of what does not fit, the largest share to try next: where one place makes it large, small cuts would take many tries. */
const MOST_KEPT = 0.75;

function cutInParts(text: string, maxChars: number): readonly string[] {
  const parts: string[] = [];
  const isFenced = maxChars >= MIN_FENCED;
  let rest = text;
  while (rest.length > maxChars) {
    // Room to close a block of code.
    const room = isFenced ? maxChars - FENCE_ROOM : maxChars;
    const at = cutAt(rest, room);
    const part = rest.slice(0, at).trimEnd();
    const fence = isFenced ? openFence(part) : undefined;
    if (part !== "") parts.push(fence === undefined ? part : `${part}\n${marksOf(fence)}`);
    rest = rest.slice(at).replace(/^\s*\n|^\s+(?=\S)/u, "");
    // A platform refuses a part that is nothing but an empty block.
    if (fence !== undefined) rest = CLOSED.test(rest) ? rest.replace(CLOSED, "") : `${fence}\n${rest}`;
  }
  if (rest.trim() !== "" || parts.length === 0) parts.push(rest);
  return parts;
}

const FENCE_ROOM = 4;
/** In a smaller part, the line that opens a block again could be longer than what was cut off. */
const MIN_FENCED = 120;
/** A longer line that opens a block is not repeated. */
const MAX_FENCE = 40;

function cutAt(text: string, room: number): number {
  const head = text.slice(0, room);
  for (const cut of CUTS) {
    const last = [...head.matchAll(cut)].findLast(({ index }) => index >= EARLIEST * room);
    if (last !== undefined) return last.index;
  }
  // Of two units that are one character, both or none.
  const isOneCharacter = (text.codePointAt(room - 1) ?? 0) > 0xff_ff;
  if (!isOneCharacter) return room;
  return room === 1 ? 2 : room - 1;
}

/** What closes a block of code that the line opens. */
function marksOf(line: string): string {
  return line.trimStart().slice(0, 3);
}

/** The line that opens the block of code that is still open at the end. */
function openFence(part: string): string | undefined {
  const fences = [...part.matchAll(FENCE)];
  if (fences.length % 2 === 0) return undefined;
  const [line] = fences.at(-1)!;
  return line.length > MAX_FENCE ? marksOf(line) : line;
}
