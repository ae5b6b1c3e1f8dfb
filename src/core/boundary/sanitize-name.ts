import { sanitizeUntrusted } from "./sanitize-untrusted.ts";

const MAX_NAME_CHARS = 500;

const BLANKS = /[\s\p{Cc}]+/gu;
/**
 * What hides or reorders text: bidirectional controls, tag characters, zero-width spaces and operators.
 * Joiners and variation selectors stay, since scripts and emoji are written with them.
 */
const HIDDEN =
  /[\p{Bidi_Control}\u{E0000}-\u{E007F}\u00AD\u180E\u200B\u2060-\u2064\u206A-\u206F\uFEFF\uFFF9-\uFFFB]+/gu;

const VISIBLE = /[^\p{Default_Ignorable_Code_Point}]/u;

/**
 * Makes a name that came in a request safe for one line of an event or of metadata.
 *
 * The result has no control characters, line breaks or hidden text, single spaces, no boundary markers
 * or control tokens, and at most 500 characters (UTF-16 units, cut between code points); it is "" when
 * nothing visible is left. A name that came out of it goes through it unchanged.
 */
export function sanitizeName(name: string): string {
  const line = name.toWellFormed().replace(HIDDEN, "").replace(BLANKS, " ").trim();
  if (!VISIBLE.test(line)) return "";
  const safe = sanitizeUntrusted(line);
  if (safe.length <= MAX_NAME_CHARS) return safe;
  const cutsPair = safe.codePointAt(MAX_NAME_CHARS - 1)! > 0xff_ff;
  return safe.slice(0, cutsPair ? MAX_NAME_CHARS - 1 : MAX_NAME_CHARS).trimEnd();
}
