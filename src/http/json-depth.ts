const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
/** Turns `[` into `{` and `]` into `}`, and no other ASCII character into either. */
const TO_BRACE = 0x20;

/**
 * Tells whether JSON nests objects and arrays deeper than `maxDepth`; `{}` has a depth of 1.
 *
 * `text` and `utf8` are the same JSON, decoded and as received. Brackets inside strings do not count.
 * Exact for valid JSON; anything else gets an answer too, in time linear in the text. Meant to run
 * before JSON.parse, so that what is too deep is never built.
 */
export function exceedsDepth(text: string, utf8: Uint8Array, maxDepth: number): boolean {
  // Most bodies hold fewer brackets than the bound, and to count those costs less than to read every byte.
  return opensMoreThan(text, maxDepth) && nestsDeeperThan(utf8, maxDepth);
}

/** Counts opening brackets wherever they stand, and stops at the limit. */
function opensMoreThan(text: string, limit: number): boolean {
  let count = 0;
  for (const bracket of ["{", "["]) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      count++;
      if (count > limit) return true;
    }
  }
  return false;
}

/** Works on bytes because every byte of a multi-byte character is above 0x7f, and twice as fast as on characters. */
function nestsDeeperThan(utf8: Uint8Array, maxDepth: number): boolean {
  let depth = 0;
  for (let at = 0; at < utf8.length; at++) {
    const byte = utf8[at]!;
    if (byte === QUOTE) {
      at = endOfString(utf8, at);
    } else if ((byte | TO_BRACE) === OPENING_BRACE) {
      depth++;
      if (depth > maxDepth) return true;
    } else if ((byte | TO_BRACE) === CLOSING_BRACE) {
      depth--;
    }
  }
  return false;
}

function endOfString(utf8: Uint8Array, open: number): number {
  let at = open + 1;
  while (at < utf8.length) {
    const byte = utf8[at]!;
    if (byte === QUOTE) break;
    at += byte === BACKSLASH ? 2 : 1;
  }
  return at;
}
