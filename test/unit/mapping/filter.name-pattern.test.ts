import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compileNamePattern } from "../../../src/mapping/filter.ts";

const matches = (pattern: string, name: string): boolean => compileNamePattern(pattern).matches(name);

describe("an entry of ignoreActors", () => {
  it.each([
    ["octo", "octo", true],
    ["Octo", "oCTO", true],
    ["octo", "octocat", false],
    ["octo*", "octocat", true],
    ["*[bot]", "dependabot[bot]", true],
    ["*[bot]", "[bot]x", false],
    ["a*b*c", "a--b--c", true],
    ["a*b*c", "abc", true],
    ["a*b*c", "acb", false],
    ["a*a", "a", false],
    ["ab*bc", "abc", false],
    ["a*b*b", "ab", false],
    ["*", "anybody", true],
    ["*", "", true],
    ["**", "x", true],
    ["", "", true],
    ["", "x", false],
    ["a.c", "abc", false],
  ])("%j and the sender %j: %s", (pattern, name, expected) => {
    expect(matches(pattern, name)).toBe(expected);
  });

  it("says the same as a regular expression would", () => {
    const letters = fc.string({ unit: fc.constantFrom("a", "b", "*"), maxLength: 8 });
    const names = fc.string({ unit: fc.constantFrom("a", "b", "A"), maxLength: 10 });
    fc.assert(
      fc.property(letters, names, (pattern, name) => {
        const expression = new RegExp(`^${pattern.replaceAll("*", ".*")}$`, "is");
        expect(matches(pattern, name)).toBe(expression.test(name));
      }),
    );
  });

  it("keeps its own spelling for the reason that is shown", () => {
    expect(compileNamePattern("Octo*").pattern).toBe("Octo*");
  });
});
