/**
 * The library that edits the configuration reads less than JSON5: `'say "x"'`, `"it\'s"` and `default:` are errors to
 * it. Where a text has them, it is given the same in another spelling, and what it leaves as it is gets its own back.
 */
import { isReserved } from "@croct/json5-parser";
import JSON5 from "json5";
import { json5Tokens, keyName, type Json5Token } from "../hosts/embedded/config/json5-tokens.ts";

export interface Respelled {
  readonly text: string;
  /** Gives a text that was made of the respelled one the spelling as it was. */
  readonly restore: (edited: string) => string;
}

// JSON has no control character in a string.
const READ_STRING = /^(?:"(?:[^"\\\p{Cc}\u2028\u2029]|\\(?:["\\/bfnrt]|u[\da-f]{4}))*"|'[^"\\\p{Cc}\u2028\u2029]*')$/iu;
const LITERALS: ReadonlySet<string> = new Set(["null", "true", "false", "NaN", "Infinity"]);

/** Respells a text that is JSON5. */
export function respell(text: string): Respelled {
  const strings = new Map<string, string>();
  const keys = new Map<string, string>();
  const respelled = Array.from(json5Tokens(text), (token) => {
    const read = asRead(token);
    if (read !== token.text) (token.kind === "string" ? strings : keys).set(read, token.text);
    return read;
  });
  return {
    text: respelled.join(""),
    restore: (edited) =>
      Array.from(json5Tokens(edited), ({ text: token, isKey }) => {
        const before = strings.get(token) ?? (isKey ? keys.get(token) : undefined);
        return before ?? token;
      }).join(""),
  };
}

function asRead({ text, kind, isKey }: Json5Token): string {
  if (kind === "string") return READ_STRING.test(text) ? text : jsonOf(JSON5.parse<string>(text));
  const isUnread = isKey && (isReserved(text) || LITERALS.has(text) || text.includes("\\"));
  return isUnread ? jsonOf(keyName(text)) : text;
}

function jsonOf(value: string): string {
  return JSON.stringify(value)
    .replaceAll("\u2028", String.raw`\u2028`)
    .replaceAll("\u2029", String.raw`\u2029`);
}
