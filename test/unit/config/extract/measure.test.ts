import { describe, expect, it } from "vitest";
import { isClosedForm } from "../../../../src/config/extract/measure.ts";
import { takesNoSpace } from "../../../../src/config/extract/pattern.ts";
import type { ExtractField, ExtractForm } from "../../../../src/core/extraction.ts";

const form = (properties: Readonly<Record<string, ExtractField>>): ExtractForm => ({
  type: "object",
  properties,
  required: [],
});
const key = (maxLength: number): ExtractField => ({ type: "string", maxLength, pattern: "[A-Z]+-[0-9]+" });

describe("a form", () => {
  it.each<[string, ExtractForm]>([
    [
      "numbers, switches and the owner's own words",
      form({
        a: { type: "integer", minimum: 0, maximum: 9 },
        b: { type: "boolean" },
        c: { type: "array", maxItems: 9, items: { type: "enum", values: ["x"] } },
      }),
    ],
    ["short words with a pattern", form({ a: key(64), b: key(64) })],
  ])("with %s is closed", (_what, closed) => {
    expect(isClosedForm(closed)).toBe(true);
  });

  it.each<[string, ExtractForm]>([
    ["a string without a pattern", form({ a: { type: "string", maxLength: 1 } })],
    ["a pattern that takes spaces", form({ a: { type: "string", maxLength: 9, pattern: "[a-z ]+" } })],
    ["more words than 128 characters", form({ a: key(64), b: key(65) })],
    ["many short words", form({ a: { type: "array", maxItems: 13, items: key(10) } })],
    [
      "a string in an object in an array",
      form({ a: { type: "array", maxItems: 1, items: form({ b: { type: "string", maxLength: 3 } }) } }),
    ],
  ])("with %s is not", (_what, open) => {
    expect(isClosedForm(open)).toBe(false);
  });
});

describe("a pattern", () => {
  it.each([
    "[A-Z]{2,5}-[0-9]{1,6}",
    String.raw`\d{4}-\d{2}-\d{2}`,
    String.raw`^v\d+\.\d+\.\d+$`,
    String.raw`(?:refs/heads/)?[\w.\-/]+`,
    "[a-f0-9]{40}|main",
  ])("%s takes no space", (source) => {
    expect(takesNoSpace(source)).toBe(true);
  });

  it.each([
    ".+",
    "a b",
    String.raw`\s`,
    String.raw`\S+`,
    "[^a]+",
    "[ -~]+",
    String.raw`\W`,
    String.raw`\x20`,
    String.raw`\pL+`,
    "[[:space:]]",
    String.raw`\D+`,
    "é+",
  ])("%s may", (source) => {
    expect(takesNoSpace(source)).toBe(false);
  });
});
