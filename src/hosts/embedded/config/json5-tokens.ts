/** The tokens of a text that is JSON5, for what a parser does not tell. */
import JSON5 from "json5";

/** Comments, strings, words and numbers; every other character alone. */
const TOKEN =
  /\/\/.*|\/\*[^]*?\*\/|"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*'|[\p{Join_Control}$\\\p{ID_Continue}]+|[^]/gu;
// A comment has one end alone: taken for shorter or longer than it is, a colon in it or behind it would count, and the
// ways to part a row of comments would double with each.
const KEY_END = /(?:\s|\/\/.*$|\/\*(?:[^*]|\*(?!\/))*\*\/)*:/muy;
const WORD = /^[\p{ID_Start}$_\\]/u;

export interface Json5Token {
  readonly text: string;
  readonly kind: "string" | "word" | "other";
  /** True for a string or a word that names a property. */
  readonly isKey: boolean;
}

export function* json5Tokens(text: string): Generator<Json5Token> {
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    const kind = /^["']/u.test(token) ? "string" : WORD.test(token) ? "word" : "other";
    KEY_END.lastIndex = index + token.length;
    yield { text: token, kind, isKey: kind !== "other" && KEY_END.test(text) };
  }
}

/** The name that a key stands for. */
export function keyName(key: string): string {
  return Object.keys(JSON5.parse<object>(`{${key}:0}`))[0]!;
}

/** The paths of keys that an object has more than once, of which a parser takes the last. */
export function repeatedKeys(text: string): readonly (readonly (string | number)[])[] {
  const repeated: (readonly (string | number)[])[] = [];
  const path: (string | number)[] = [];
  /** Of the objects around, the names so far; of a list, nothing. */
  const around: (Set<string> | undefined)[] = [];
  for (const { text: token, isKey } of json5Tokens(text)) {
    const names = around.at(-1);
    if (isKey && names !== undefined) {
      path[around.length - 1] = keyName(token);
      const name = String(path.at(-1));
      if (names.has(name)) repeated.push([...path]);
      names.add(name);
    } else if (token === "{" || token === "[") {
      around.push(token === "{" ? new Set() : undefined);
      path.push(0);
    } else if (token === "}" || token === "]") {
      around.pop();
      path.pop();
    } else if (token === "," && around.length > 0 && names === undefined) {
      path[around.length - 1] = Number(path.at(-1)) + 1;
    }
  }
  return repeated;
}
