/** A marker in folded text: where it is, and which of the two it imitates. */
export interface FoundMarker {
  readonly start: number;
  readonly end: number;
  readonly kind: "start" | "end";
}

/** What may stand between two letters of a marker: white space, joints, quotes, escapes, soft line breaks. */
const JOINT = "\\s_\\-.\\\\/*~`\"'+:=";
const JOINTS = `[${JOINT}]*`;
/** Letters that ASCII itself has look-alikes for. None of these is a joint, so no match can be had in two ways. */
const ALIKE: Readonly<Record<string, string>> = { o: "[o0]", l: "[l1i|]", i: "[i1l|]" };

/**
 * Between words also a line break or tab as JSON text writes it. A bounded number of them: an unbounded
 * loop over a group takes the engine's stack, and fails on megabytes; one over a class does not.
 */
const GAP = `${JOINTS}(?:(?<=\\\\)[nrt]${JOINTS}){0,8}`;

const WORDS = new RegExp(
  `(${spelled("end")}${GAP})?${spelled("external")}(${GAP})${spelled("untrusted")}(${GAP})${spelled("content")}`,
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
 * has them with spaces. An id and closing brackets that follow belong to it. A part of a text without a
 * marker has none. Linear in the length of the text: the search starts at the words, never at a bracket.
 */
export function findMarkers(folded: string): FoundMarker[] {
  const found: FoundMarker[] = [];
  if (!RARE.test(folded)) return found;
  let floor = 0;
  for (const words of folded.matchAll(WORDS)) {
    const [, closing, firstGap = "", secondGap = ""] = words;
    let start = openingBracket(folded, words.index, floor);
    if (start === undefined) {
      if (!firstGap.includes("_") || !secondGap.includes("_")) continue;
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

function spelled(word: string): string {
  return Array.from(word, (letter) => ALIKE[letter] ?? letter).join(JOINTS);
}
