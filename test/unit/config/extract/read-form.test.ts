import { describe, expect, it } from "vitest";
import { Findings } from "../../../../src/config/errors.ts";
import { readForm } from "../../../../src/config/extract/read-form.ts";

const text = { type: "string", maxLength: 10 };
const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more });

function read(written: unknown) {
  const findings = new Findings();
  const form = readForm(written, "schema", findings);
  return { form, refused: findings.issues.map(({ path, message }) => `${path}: ${message}`) };
}

describe("the form of an extraction", () => {
  it("is read with every kind of field", () => {
    const { form, refused } = read(
      object(
        {
          title: { ...text, pattern: "[a-z]+", description: "The title." },
          kind: { enum: ["bug", "wish", "bug"] },
          priority: { type: "integer", minimum: 1, maximum: 5 },
          share: { type: "number", minimum: 0, maximum: 1 },
          urgent: { type: "boolean" },
          parts: { type: "array", maxItems: 3, items: object({ name: text }) },
        },
        { required: ["title", "kind"], additionalProperties: false },
      ),
    );
    expect(refused).toEqual([]);
    expect(form).toEqual({
      type: "object",
      required: ["title", "kind"],
      properties: {
        title: { type: "string", maxLength: 10, pattern: "[a-z]+", description: "The title." },
        kind: { type: "enum", values: ["bug", "wish"] },
        priority: { type: "integer", minimum: 1, maximum: 5 },
        share: { type: "number", minimum: 0, maximum: 1 },
        urgent: { type: "boolean" },
        parts: {
          type: "array",
          maxItems: 3,
          items: { type: "object", required: [], properties: { name: { type: "string", maxLength: 10 } } },
        },
      },
    });
  });

  const deep = (levels: number): object => (levels === 0 ? text : object({ in: deep(levels - 1) }));

  it.each([
    [
      "an unbounded string",
      object({ a: { type: "string" } }),
      "schema.properties.a: every string needs a bound: write maxLength",
    ],
    ...["toString", "valueOf", "hasOwnProperty", "constructor", "__proto__", "prototype"].map(
      (name): [string, object, string] => [
        `the field ${name}`,
        object(Object.fromEntries([[name, text]])),
        `schema.properties.${name}: is the name of something that every object has; choose another`,
      ],
    ),
    [
      "an unbounded array",
      object({ a: { type: "array", items: text } }),
      "schema.properties.a: every array needs a bound: write maxItems",
    ],
    [
      "an unbounded number",
      object({ a: { type: "integer", minimum: 1 } }),
      "schema.properties.a: every number needs bounds: write minimum and maximum",
    ],
    [
      "bounds that take nothing",
      object({ a: { type: "number", minimum: 2, maximum: 1 } }),
      "schema.properties.a.minimum: is more than maximum",
    ],
    [
      "further properties",
      object({ a: text }, { additionalProperties: true }),
      "schema.additionalProperties: true is not false, as it is always in a form",
    ],
    [
      "a keyword that it does not know",
      object({ a: { ...text, format: "email" } }),
      "schema.properties.a.format: unknown key",
    ],
    ["a reference", object({ a: { $ref: "#" } }), "schema.properties.a: has none of the types that a form can have"],
    ["several types", object({ a: { type: ["string", "null"] } }), "schema.properties.a: has none of the types"],
    ["a field that is none", object({ a: 7 }), "schema.properties.a: must be a field"],
    ["no object", text, "schema: must be an object on the outside"],
    ["an empty object", object({}), "schema.properties: is empty"],
    [
      "a required field that it has not",
      object({ a: text }, { required: ["b"] }),
      'schema.required: "b" is no property',
    ],
    [
      "more levels than four",
      deep(4),
      "schema.properties.in.properties.in.properties.in.properties.in: is nested too deeply",
    ],
    [
      "more text than a run needs",
      object({ a: { type: "array", maxItems: 100, items: { type: "string", maxLength: 501 } } }),
      "schema: lets through 50100 characters",
    ],
    [
      "more fields than a hundred",
      object(Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`f${at}`, text]))),
      "is one field too many",
    ],
    [
      "a pattern with lookahead",
      object({ a: { ...text, pattern: "(?=a)a" } }),
      "schema.properties.a.pattern: is no pattern of RE2",
    ],
    [
      "a pattern with a backreference",
      object({ a: { ...text, pattern: String.raw`(a)\1` } }),
      "schema.properties.a.pattern: is no pattern of RE2",
    ],
  ])("is refused with %s", (_what, written, message) => {
    const { form, refused } = read(written);
    expect(refused.join("\n")).toContain(message);
    expect(form === undefined || refused.length > 0).toBe(true);
  });
});
