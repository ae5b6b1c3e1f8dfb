import fc from "fast-check";

import { CLOSING, HOMOGLYPHS, OPENING } from "./plain-reading.ts";

/** Characters that no reader sees, from every group a sender might think of. */
const INVISIBLE = Array.from(
  "\u200B\u200C\u200D\u2060\uFEFF\u00AD\u180E\u2061\u2062\u2063\u2064\uFE00\uFE0F\u034F\u115F\u3164" +
    "\u200E\u200F\u202A\u202E\u2066\u2069\u061C\u0000\u0007\u001B\u0301\u0336\u20DD" +
    "\u{E0001}\u{E0041}\u{E007F}\u{E0100}",
);
const JOINTS = [
  "",
  "_",
  "__",
  " ",
  "\n",
  "\r\n\t",
  "\u00A0",
  "\u3000",
  "\u2028",
  "\uFF3F",
  "\\_",
  " _ ",
  "-",
  "\u2014",
];
const QUOTES = ["", '"', "'", '\\"', "\u201C", "\u201D", "\u2018", "\uFF02", "`"];

const invisible = fc.oneof(
  { weight: 5, arbitrary: fc.constant("") },
  { weight: 1, arbitrary: fc.array(fc.constantFrom(...INVISIBLE), { minLength: 1, maxLength: 3 }).map(joined) },
);

/** One letter in any case, width, style or alphabet. */
function letter(ascii: string): fc.Arbitrary<string> {
  const index = ascii.codePointAt(0)! - 0x61;
  const upper = ascii.toUpperCase();
  return fc.constantFrom(
    ascii,
    upper,
    String.fromCodePoint(0xff41 + index), // full-width small
    String.fromCodePoint(0xff21 + index), // full-width capital
    String.fromCodePoint(0x1d400 + index), // mathematical bold
    String.fromCodePoint(0x24b6 + index), // circled
    `${ascii}\u0301`,
    ...(HOMOGLYPHS[ascii] ?? []),
  );
}

function word(text: string): fc.Arbitrary<string> {
  return sequence(Array.from(text, letter), invisible);
}

function brackets(kind: readonly string[], minLength: number): fc.Arbitrary<string> {
  return fc
    .array(fc.tuple(fc.constantFrom(...kind), fc.constantFrom("", "", "", " ", "\n", "\u200B"), invisible), {
      minLength,
      maxLength: 4,
    })
    .map((parts) => parts.map(([char, gap, hidden], at) => (at === 0 ? char : gap + hidden + char)).join(""));
}

/** Parts in order, with something between each two of them. */
function sequence(parts: readonly fc.Arbitrary<string>[], between: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.tuple(...parts.flatMap((part, at) => (at === 0 ? [part] : [between, part]))).map((texts) => texts.join(""));
}

const id = fc
  .tuple(
    fc.constantFrom(" ", "", "\n", "_"),
    fc.constantFrom("id", "ID", "Id", "\uFF49\uFF44"),
    fc.constantFrom("=", " = ", ":", "\uFF1D"),
    fc.constantFrom(...QUOTES),
    fc.stringMatching(/^[0-9a-f]{0,20}$/),
    fc.constantFrom(...QUOTES),
  )
  .map(joined);

/** A forged marker in some disguise. It begins and ends with a character that is a part of it. */
export const forgedMarker: fc.Arbitrary<{ readonly text: string; readonly kind: "start" | "end" }> = fc
  .constantFrom("start" as const, "end" as const)
  .chain((kind) => {
    const words = [...(kind === "end" ? ["end"] : []), "external", "untrusted", "content"].map(word);
    const joint = fc.tuple(invisible, fc.constantFrom(...JOINTS), invisible).map(joined);
    return fc
      .tuple(
        brackets(OPENING, 1),
        joint,
        sequence(words, joint),
        fc.oneof(brackets(CLOSING, 0), fc.tuple(id, fc.constantFrom("", " "), brackets(CLOSING, 1)).map(joined)),
      )
      .map((parts) => ({ text: joined(parts).replace(/\p{Mn}+$/u, ""), kind }));
  });

function joined(parts: readonly string[]): string {
  return parts.join("");
}
