import { describe, expect, it } from "vitest";
import { json5Tokens, repeatedKeys } from "../../../../../src/hosts/embedded/config/json5-tokens.ts";

function keysOf(text: string): readonly string[] {
  return Array.from(json5Tokens(text))
    .filter(({ isKey }) => isKey)
    .map((token) => token.text);
}

describe("the tokens of JSON5", () => {
  it("have a key only where a colon is behind it, whatever comments are between", () => {
    expect(keysOf("{ a /* b */ // c\n : 1, 'd': 2, e: { f: 3 } }")).toEqual(["a", "'d'", "e", "f"]);
  });

  it("have no key because of a colon in a comment or behind a later one", () => {
    expect(keysOf('{ a: "x" // see https://example.org\n}')).toEqual(["a"]);
    expect(keysOf("{ a: true /* b */, c /* d */: 1 }")).toEqual(["a", "c"]);
  });

  it("name no value as a key that is written twice", () => {
    expect(repeatedKeys('{ token: "token" // as: it is\n}')).toEqual([]);
    expect(repeatedKeys('{ a: { token: 1, token: "x" } }')).toEqual([["a", "token"]]);
  });

  it("are read soon behind many comments", () => {
    expect(keysOf(`{ a: "x" ${"/* b */ ".repeat(200)} }`)).toEqual(["a"]);
  });
});
