import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConditionBudget } from "../../../../src/mapping/condition/budget.ts";
import { containsText } from "../../../../src/mapping/condition/functions.ts";

function search(text: string, part: string): boolean {
  const budget = new ConditionBudget();
  budget.begin();
  return containsText(text, part, budget);
}

describe("the search for a text in another", () => {
  it("finds what JavaScript finds", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "я"), maxLength: 60 });
    fc.assert(
      fc.property(text, text, text, (before, part, after) => {
        expect(search(before + part + after, part)).toBe(true);
        expect(search(before + after, part)).toBe((before + after).includes(part));
      }),
      { numRuns: 500 },
    );
  });

  it("finds an empty text in any, and nothing that is longer", () => {
    expect([search("", ""), search("a", ""), search("aaaaaaaa", "aaaaaaaaa")]).toEqual([true, true, false]);
  });

  it("goes over a text of 256 KiB, whatever sentence it looks for", () => {
    const text = "word of a sentence, ".repeat(13_000);
    expect(search(text, "a sentence that is not there")).toBe(false);
    expect(search("-".repeat(262_144), "-----------------------------|")).toBe(false);
  });

  it.each([
    ["begins like it everywhere", `${"a".repeat(60_000)}b`],
    ["differs from it in the middle", `${"a".repeat(7)}b${"a".repeat(60_000)}`],
  ])("ends when a long text %s", (_, part) => {
    expect(() => search("a".repeat(170_000), part)).toThrow("takes too much work for this payload");
  });
});
