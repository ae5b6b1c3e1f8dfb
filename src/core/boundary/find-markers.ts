/** A marker in folded text: where it is, and which of the two it imitates. */
export interface FoundMarker {
  readonly start: number;
  readonly end: number;
  readonly kind: "start" | "end";
}

/** Characters that may separate two letters of a marker: white space, joints, quotes, escapes, soft line breaks. */
const JOINT = "\\s_\\-.\\\\/*~`\"'+:=";
const JOINTS = `[${JOINT}]*`;
/** Letters that ASCII itself has look-alikes for. None of these is a joint, so no match can be had in two ways. */
const ALIKE: Readonly<Record<string, string>> = {
  o: "[o0]",
  l: "[l1i|]",
  i: "[i1l|]",
  e: "[e3]",
  a: "[a4]",
  s: "[s5$]",
  t: "[t7]",
};

/** Between words also other separators and brackets, but none that the word before could end with. */
const SEPARATORS = `[${JOINT},;#|()[\\]{}!?@$^]*`;
/** A character as URLs, HTML and JSON write it. */
const ENCODED = "&#?\\w{1,8};|%[0-9a-f]{2}|(?<=\\\\)(?:u[0-9a-f]{4}|[nrt])";

/**
 * Also encoded characters. A bounded number of them: an unbounded loop over a group takes the engine's
 * stack, and fails on megabytes; one over a class does not.
 */
const GAP = `${SEPARATORS}(?:(?:${ENCODED})${SEPARATORS}){0,8}`;
/** An underscore, also encoded. */
const UNDERSCORE = /_|&lowbar;|&#0*95;|&#x0*5f;|%5f|\\u005f/i;
/** Characters that join words and are no white space. */
const JOINED = /[^\s]/;

const WORDS = new RegExp(
  `(${spelled("end")}${GAP})?${spelled("external")}(${GAP})${spelled("untrusted")}(${GAP})${spelled("content")}`,
  "gi",
);
const REVERSED = new RegExp(
  `${backwards("content")}${GAP}${backwards("untrusted")}${GAP}${backwards("external")}(${GAP}${backwards("end")})?`,
  "gi",
);
/** The rarest letters of the words: ordinary text is done with when they are not found. */
const RARE = new RegExp(spelled("xter"), "i");
const BEFORE = new RegExp(`[${JOINT}]`);
const ESCAPED = /[nrt]/i;
/** The id, if there is one, with its quotes; then every closing bracket. Matches everywhere, at least nothing. */
const AFTER = new RegExp(
  `(?:${JOINTS}${spelled("id")}[\\s\\\\]*[=:]${JOINTS}\\w*[\\\\"'\`]*)?(?:[${JOINT}>]*>)?`,
  "iy",
);

/**
 * Finds everything in folded text that could be read as one of the boundary's two markers, in order and
 * without overlap.
 *
 * A marker is its three words, or four with END, in any case, with any joints between and inside them,
 * after at least one opening bracket; or without a bracket when underscores join the words, since prose
 * has them with spaces; or behind other brackets, three of them, or behind two dashes and the like when the
 * words are joined. An id and closing brackets that follow belong to it. A part of a text without a
 * marker has none. Linear in the length of the text: the search starts at the words, never at a bracket.
 *
 * `reversed`: the text has a character that turns its direction, so that the words are also read backwards.
 */
export function findMarkers(folded: string, { reversed = false }: { readonly reversed?: boolean } = {}): FoundMarker[] {
  const found = findForward(folded);
  if (!reversed) return found;
  for (const { 0: words, 1: closing, index } of folded.matchAll(REVERSED)) {
    const end = index + words.length;
    if (found.some((marker) => index < marker.end && marker.start < end)) continue;
    found.push({ start: index, end, kind: closing === undefined ? "start" : "end" });
  }
  return found.toSorted((one, other) => one.start - other.start);
}

function findForward(folded: string): FoundMarker[] {
  const found: FoundMarker[] = [];
  if (!RARE.test(folded)) return found;
  let floor = 0;
  for (const words of folded.matchAll(WORDS)) {
    const [, closing, firstGap = "", secondGap = ""] = words;
    let start = openingBracket(folded, words.index, floor);
    if (start === undefined) {
      const isJoined = JOINED.test(firstGap) && JOINED.test(secondGap);
      start = otherOpening(
        folded.slice(Math.max(floor, words.index - MAX_OPENING), words.index),
        words.index,
        isJoined,
      );
    }
    if (start === undefined) {
      if (!UNDERSCORE.test(firstGap) || !UNDERSCORE.test(secondGap)) continue;
      start = words.index;
    }
    AFTER.lastIndex = words.index + words[0].length;
    AFTER.test(folded);
    floor = AFTER.lastIndex;
    found.push({ start, end: floor, kind: closing === undefined ? "start" : "end" });
  }
  return found;
}

/** The offset of the first of the opening brackets that lead to `at`, with joints between them. */
function openingBracket(folded: string, at: number, floor: number): number | undefined {
  let bracket: number | undefined;
  for (let index = at - 1; index >= floor; index--) {
    const char = folded[index]!;
    if (char === "<") bracket = index;
    else if (!BEFORE.test(char) && !(ESCAPED.test(char) && folded[index - 1] === "\\")) break;
  }
  return bracket;
}

/** Characters before the words in which an opening without an angle bracket is looked for. */
const MAX_OPENING = 64;
const ENCODED_BRACKETS = /(?:(?:&lt;?|&#0*60;|&#x0*3c;|%3c|\\u003c)\s*)+$/i;
const BRACKETS = /[([{](?:\s*[([{]){2,}\s*$/;
const DASHES = /[-=#*~|]{2,}\s*$/;

function otherOpening(before: string, at: number, isJoined: boolean): number | undefined {
  const opening = ENCODED_BRACKETS.exec(before) ?? BRACKETS.exec(before) ?? (isJoined ? DASHES.exec(before) : null);
  return opening === null ? undefined : at - before.length + opening.index;
}

function spelled(word: string): string {
  return Array.from(word, (letter) => ALIKE[letter] ?? letter).join(JOINTS);
}

function backwards(word: string): string {
  return spelled(Array.from(word).toReversed().join(""));
}
