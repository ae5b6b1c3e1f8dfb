import { describe, expect, it } from "vitest";
import { costOfPattern } from "../../../../src/mapping/condition/budget.ts";

const compiled = (pattern: string): number => costOfPattern(pattern).units;
const matched = (pattern: string): number => costOfPattern(pattern).unitsPerCharacter;

describe("the cost of a pattern", () => {
  it.each([
    ["a{3}", "aaaa"],
    ["a{2,5}", "aaaaaa"],
    ["a{2,}", "aaa"],
    ["[a-z]{2}", "aaa"],
    ["[]{3}]", "a"],
    ["[[:alpha:]{9}]", "a"],
    ["[^\\]{9}]", "a"],
    ["\\{9}", "aaa"],
    ["\\x{61}b", "ab"],
    ["\\Qa{9}\\Eb", "aaaaaaaaab"],
    ["(ab){2}", "aaaaaaaaa"],
    ["((a{2}){2}){2}", "a".repeat(47)],
    ["a)b", "aa"],
  ])("takes %s for as long as its repetitions are when they are written out", (pattern, plain) => {
    expect(Math.abs(compiled(pattern) - compiled(plain))).toBeLessThanOrEqual(400);
    if (plain.length < 4) expect(compiled(pattern)).toBe(compiled(plain));
  });

  it("counts groups that are not closed", () => {
    expect(compiled("(a{9}")).toBeGreaterThan(compiled("aaaaaaaa"));
  });

  it("counts the tables of Unicode", () => {
    expect(compiled("\\pL")).toBeGreaterThan(5_000);
    expect(compiled("[\\p{L}\\P{Greek}]")).toBeGreaterThan(10_000);
  });

  it("grows with repetitions for each character of the text", () => {
    expect(matched("a(a|b){900}[cd]$")).toBeGreaterThan(1_000);
    expect(matched("a(a|b){900}[cd]$")).toBeGreaterThan(25 * matched("a(a|b){30}[cd]$"));
    expect(matched("(a{1,50}){1,20}")).toBeGreaterThan(300);
  });

  it("stays as small for words and alternatives of words as for a short pattern", () => {
    expect(matched("x+$")).toBe(1.5);
    for (const words of ["deployed to production", "^deploy|release|rollback$", "(?i)status\\.ok"]) {
      expect(matched(words)).toBeLessThan(2);
    }
    expect(matched("deployed.to.production")).toBeGreaterThan(5);
  });
});
