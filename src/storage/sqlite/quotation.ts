/**
 * Most texts of runs quote the body of their delivery. What they quote is stored once: the text without it, and the
 * place from which it is restored.
 */

/** Bytes of the body that are searched, and of a text: three numbers below it are one that is exact in JavaScript. */
const LIMIT = 2 ** 17;
/** A shorter quotation is not worth its place. */
const LEAST_BYTES = 64;
/** Bytes of the text that are looked for in the body. */
const ANCHOR_BYTES = 24;
/** Where these are taken from in the text: a quotation that is half of the text is found at one of them. */
const ANCHORS_AT = [1 / 2, 1 / 4, 3 / 4] as const;

/** A text without what it quotes. */
export interface QuotingText {
  readonly text: string;
  /** Bytes of the text before the quotation, and its offset and length in the body: `(before * LIMIT + offset) * LIMIT + length`. */
  readonly quotation: number | null;
}

const part = (shift: number): string => `((quotation >> ${shift}) & ${LIMIT - 1})`;
const [before, offset, length] = [part(34), part(17), part(0)];

/** How many bytes a row of `contents` quotes, as SQL. */
export const QUOTED_BYTES = `coalesce(${length}, 0)`;

// A part of nothing is NULL.
const restPart = (range: string): string => `coalesce(CAST(substr(CAST(text AS BLOB), ${range}) AS TEXT), '')`;

/** The whole text of a row of `contents`, as SQL. */
export const WHOLE_TEXT = `iif(quotation IS NULL, text, ${restPart(`1, ${before}`)}
  || CAST(substr(body, ${offset} + 1, ${length}) AS TEXT) || ${restPart(`${before} + 1`)})`;

const encoder = new TextEncoder();
/** The text that is looked at: memory of its own for each would take as long as the search. */
const wanted = Buffer.allocUnsafeSlow(LIMIT);
const wantedView = new DataView(wanted.buffer);

/** Finds what a well-formed text quotes of a body: the longest piece around one of a few places of the text. */
export function quoteBody(text: string, body: Uint8Array): QuotingText {
  const none = { text, quotation: null };
  if (text.length < LEAST_BYTES || text.length >= LIMIT || body.length < LEAST_BYTES) return none;
  const { read, written: end } = encoder.encodeInto(text, wanted);
  if (read < text.length || end >= LIMIT) return none;
  const searched = Buffer.from(body.buffer, body.byteOffset, Math.min(body.byteLength, LIMIT - 1));
  const view = new DataView(searched.buffer, searched.byteOffset, searched.length);
  let from = 0;
  let to = 0;
  let start = 0;
  for (const share of ANCHORS_AT) {
    const anchor = Math.floor((end - ANCHOR_BYTES) * share);
    // Within the piece that is known already nothing longer is found.
    if (anchor >= from && anchor < to) continue;
    const found = searched.indexOf(wanted.subarray(anchor, anchor + ANCHOR_BYTES));
    if (found === -1) continue;
    let left = anchor - equalBefore(anchor, view, found);
    let right = anchor + equalFrom(anchor, end, view, found);
    while (left < right && isInCharacter(wanted[left])) left++;
    while (right < end && isInCharacter(wanted[right])) right--;
    if (right - left > to - from) {
      from = left;
      to = right;
      start = left + found - anchor;
    }
  }
  if (to - from < LEAST_BYTES) return none;
  const rest = wanted.toString("utf8", 0, from) + wanted.toString("utf8", to, end);
  return { text: rest, quotation: (from * LIMIT + start) * LIMIT + to - from };
}

/** How many bytes before a place of the text and one of the body are the same; four at once, because bytes take twice as long. */
function equalBefore(at: number, body: DataView, bodyAt: number): number {
  const most = Math.min(at, bodyAt);
  let count = 0;
  while (count + 4 <= most && wantedView.getInt32(at - count - 4) === body.getInt32(bodyAt - count - 4)) count += 4;
  while (count < most && wantedView.getInt8(at - count - 1) === body.getInt8(bodyAt - count - 1)) count++;
  return count;
}

/** How many bytes from there on are the same; the text ends at `end`. */
function equalFrom(at: number, end: number, body: DataView, bodyAt: number): number {
  const most = Math.min(end - at, body.byteLength - bodyAt);
  let count = 0;
  while (count + 4 <= most && wantedView.getInt32(at + count) === body.getInt32(bodyAt + count)) count += 4;
  while (count < most && wantedView.getInt8(at + count) === body.getInt8(bodyAt + count)) count++;
  return count;
}

/** True for a byte of a UTF-8 character after its first. */
function isInCharacter(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
