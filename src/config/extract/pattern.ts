/** Patterns of strings in a form: RE2, whose time is linear in the text, whatever the text is. */
import { cel } from "../cel.ts";
import type { Findings } from "../errors.ts";

/** True for a string that the pattern takes as a whole. */
export type TakesWhole = (text: string) => boolean;

export function compilePattern(source: string): TakesWhole {
  const pattern = cel().RE2JS.compile(source);
  return (text) => pattern.matches(text);
}

/** Reads a pattern; `undefined` when it is none of RE2. */
export function readPattern(source: string, where: string, findings: Findings): string | undefined {
  try {
    compilePattern(source);
    return source;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    findings.refuse(where, `is no pattern of RE2 (${why}); RE2 has no lookaround and no backreferences`);
    return undefined;
  }
}

/** Parts of a pattern that take printable ASCII other than a space, or nothing by themselves. */
const CLOSED_PARTS = new RegExp(
  [
    String.raw`\\[dwb.\-_/+*?$^|()[\]{}\\]`,
    String.raw`\[(?!\^)(?:[\w.@:/#+=-]|\\[dw.\-])+\]`,
    String.raw`\(\?:`,
    String.raw`\{\d{1,4}(?:,\d{0,4})?\}`,
    String.raw`[\w@:/#=~%&,;!'"<>()|^$?*+-]`,
  ].join("|"),
  "gu",
);

/**
 * True when the pattern takes no text with a space or a character outside of printable ASCII, as far as that can be
 * read from it: what it takes is a word at most. False where it is not plain.
 */
export function takesNoSpace(source: string): boolean {
  return source.replaceAll(CLOSED_PARTS, "") === "";
}
