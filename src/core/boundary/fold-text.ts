import { LOOK_ALIKES } from "./look-alikes.ts";

/** A copy of a text in plain ASCII, and the way from its offsets back to the text. */
export interface FoldedText {
  /** Printable ASCII and white space; whatever is neither, and is not read as it, is U+0001. */
  readonly text: string;
  /**
   * The span of the source behind `text.slice(start, end)`, in UTF-16 units, for `start < end`. It covers
   * whole code points, also when the slice holds only a part of what one of them folds to.
   */
  readonly source: (start: number, end: number) => readonly [start: number, end: number];
}

/** Stands for a character that is read as none of ASCII: it ends words, and is nothing else. */
const OTHER = "\u0001";
/** Above the planes of scripts and symbols: ideographs, private use, and the tags and selectors of plane 14. */
const FIRST_UNFOLDED = 0x2_00_00;
/** From the tags on also the planes of private use: no reader sees any of them. */
const TAGS_START = 0xe_00_00;

const NOT_PLAIN = /[^\t-\r -~]/;
const LINE_BREAK = /[\t-\r\u0085]/;
const IGNORABLE = /[\p{Cc}\p{Cf}\p{Mn}\p{Me}\p{Co}\p{Default_Ignorable_Code_Point}\uFFFC\uFFFD]/u;
const MARKS = /[\p{Mn}\p{Me}]/gu;
const PRINTABLE = /^[ -~]+$/;

/** The folded form of each code point, made and filled on first use: it takes a MiB. Bounded by the code points below {@link FIRST_UNFOLDED}. */
let memory: (string | undefined)[] | undefined;

/**
 * Folds a text to what a reader takes it for, one code point at a time and without regard to its
 * neighbors, so that a part of the text folds to a part of the folded text.
 *
 * Invisible characters, accents and control characters vanish; white space becomes a space;
 * compatibility forms (NFKD: full-width, mathematical, circled, ligatures) and {@link LOOK_ALIKES}
 * become ASCII. Case is kept. Linear in the length of the text.
 */
export function foldText(text: string): FoldedText {
  if (!NOT_PLAIN.test(text)) return { text, source: (start, end) => [start, end] };
  let folded = Buffer.allocUnsafe(text.length + 16);
  let starts = new Uint32Array(folded.length);
  let length = 0;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit >= 0x20 && unit <= 0x7e) {
      starts[length] = at;
      folded[length++] = unit;
    } else {
      const codePoint = text.codePointAt(at)!;
      const chars = foldCodePoint(codePoint);
      for (let index = 0; index < chars.length; index++) {
        starts[length] = at;
        folded[length++] = chars.charCodeAt(index);
      }
      if (codePoint > 0xff_ff) at++;
    }
    if (length + 16 > folded.length) {
      folded = Buffer.concat([folded, Buffer.allocUnsafe(folded.length)]);
      const longer = new Uint32Array(folded.length);
      longer.set(starts);
      starts = longer;
    }
  }
  return {
    text: folded.toString("latin1", 0, length),
    source(start, end) {
      const last = starts[end - 1]!;
      return [starts[start]!, last + (text.codePointAt(last)! > 0xff_ff ? 2 : 1)];
    },
  };
}

function foldCodePoint(codePoint: number): string {
  if (codePoint >= FIRST_UNFOLDED) return codePoint >= TAGS_START ? "" : OTHER;
  memory ??= Array<string | undefined>(FIRST_UNFOLDED);
  return (memory[codePoint] ??= foldCharacter(String.fromCodePoint(codePoint)));
}

function foldCharacter(char: string): string {
  if (LINE_BREAK.test(char)) return " ";
  if (IGNORABLE.test(char)) return "";
  const known = LOOK_ALIKES.get(char);
  if (known !== undefined) return known;
  let folded = "";
  for (const part of char.normalize("NFKD").replace(MARKS, "")) folded += LOOK_ALIKES.get(part) ?? part;
  // U+1680, U+2028 and U+2029 are white space without a decomposition.
  if (/^\s$/.test(folded)) return " ";
  return PRINTABLE.test(folded) ? folded : OTHER;
}
