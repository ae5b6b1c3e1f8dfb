import { exceedsDepth } from "../../http/json-depth.ts";

const MAX_DEPTH = 64;
/** The keys of objects count as well. */
const MAX_VALUES = 20_000;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;

/**
 * Tells by which bound a result in JSON would cost the gateway too much to build: `more than 64 levels of
 * nesting`, `more than 20,000 values`; `undefined`: by none. Costs time in proportion to the text.
 */
export function exceededBound(json: string): string | undefined {
  // What is so short has room for neither.
  if (json.length <= MAX_DEPTH) return undefined;
  const utf8 = Buffer.from(json);
  if (exceedsDepth(json, utf8, MAX_DEPTH)) return `more than ${MAX_DEPTH} levels of nesting`;
  if (json.length > MAX_VALUES && separatesMoreThan(utf8, MAX_VALUES))
    return `more than ${MAX_VALUES.toLocaleString("en-US")} values`;
  return undefined;
}

/** Counts what stands between values, and between keys and values; inside strings nothing counts. */
function separatesMoreThan(utf8: Uint8Array, most: number): boolean {
  let count = 0;
  let isInString = false;
  // Byte by byte, since a search for the ends of strings costs much more where one holds nothing but quotes.
  for (let at = 0; at < utf8.length; at++) {
    const byte = utf8[at];
    if (byte === QUOTE) isInString = !isInString;
    else if (isInString) at += byte === BACKSLASH ? 1 : 0;
    else if (byte === COMMA || byte === COLON) count++;
    if (count > most) return true;
  }
  return false;
}
