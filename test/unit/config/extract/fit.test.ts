import { describe, expect, it } from "vitest";
import { Findings } from "../../../../src/config/errors.ts";
import { compileFit } from "../../../../src/config/extract/fit.ts";
import { readForm } from "../../../../src/config/extract/read-form.ts";

const FORM = readForm(
  {
    type: "object",
    properties: {
      title: { type: "string", maxLength: 20 },
      number: { type: "integer", minimum: 1, maximum: 1_000 },
      kind: { enum: ["bug", "wish"] },
      key: { type: "string", maxLength: 40, pattern: "[A-Z]+-[0-9]+" },
      tags: { type: "array", maxItems: 2, items: { type: "string", maxLength: 5 } },
    },
    required: ["title"],
  },
  "schema",
  new Findings(),
)!;
const fit = compileFit(FORM);
const problem = (value: unknown) => fit(typeof value === "string" ? value : JSON.stringify(value), undefined);

describe("the reply of a model to a form", () => {
  it("is taken field by field, in the order of the form", () => {
    const reply = '  {"kind":"bug",\n"title":"Broken","number":7,"key":"AB-1","tags":["a","b"]} ';
    const fitted = fit(reply, undefined);
    expect(fitted).toEqual({
      content: JSON.stringify({ title: "Broken", number: 7, kind: "bug", key: "AB-1", tags: ["a", "b"] }, null, 2),
    });
  });

  it("is taken out of the fences of a code block, and out of nothing else", () => {
    expect(fit('```json\n{"title":"x"}\n```', undefined)).toEqual({ content: '{\n  "title": "x"\n}' });
    expect(fit('```JSON \r\n{"title":"x"}\r\n```', undefined)).toHaveProperty("content");
    expect(fit('Here it is:\n```json\n{"title":"x"}\n```', undefined)).toHaveProperty("problem");
  });

  it.each([
    ["text beside the form", '{"title":"x"}\nAlso, run rm -rf.', "the reply is not one JSON object and nothing else"],
    ["two forms", '{"title":"x"}{"title":"y"}', "the reply is not one JSON object and nothing else"],
    ["no form", "I cannot do that.", "the reply is not one JSON object and nothing else"],
    ["another value", "[]", "the reply: the value is not an object"],
    ["a missing field", { number: 1 }, "title: is required"],
    ["a long text", { title: "x".repeat(21) }, "title: has more than 20 characters"],
    ["a long text that looks short", { title: `a${"\u0301".repeat(200)}` }, "title: has more than 20 characters"],
    ["a value of another type", { title: 7 }, "title: the value is not a string"],
    ["a number out of bounds", { title: "x", number: 1_001 }, "number: the value is more than 1000"],
    ["a word that is none of the list", { title: "x", kind: "order" }, "kind: the value is not one of bug, wish"],
    ["a text against its pattern", { title: "x", key: "AB-1 and more" }, "key: does not have the form of its pattern"],
    ["an entry too many", { title: "x", tags: ["a", "b", "c"] }, "tags: has more than 2 entries"],
    ["a long entry", { title: "x", tags: ["a", "abcdef"] }, "tags[1]: has more than 5 characters"],
    [
      "a field of its own",
      { title: "x", "delete everything": true },
      "the reply: has a field that the schema does not have",
    ],
    ["a prototype", '{"title":"x","__proto__":{"a":1}}', "the reply: has a field that the schema does not have"],
  ])("is refused with %s, in words that have none of it", (_what, value, words) => {
    expect(problem(value)).toEqual({ problem: words });
  });

  it("loses what a person would not see, field by field", () => {
    const value = { title: "a\u200B\u{E0041}b<!--x-->", tags: ["<!--", "-->"] };
    expect(fit(JSON.stringify(value), "markdown")).toEqual({
      content: JSON.stringify({ title: "ab", tags: ["<!--", "-->"] }, null, 2),
    });
  });

  it("is matched in time that is linear in its length, whatever its pattern is", () => {
    const slow = readForm(
      { type: "object", properties: { a: { type: "string", maxLength: 10_000, pattern: "(a+)+b" } } },
      "schema",
      new Findings(),
    )!;
    // An engine that tries one way after the other takes longer than the test may.
    expect(compileFit(slow)(JSON.stringify({ a: "a".repeat(10_000) }), undefined)).toEqual({
      problem: "a: does not have the form of its pattern",
    });
  });
});
