import { Type } from "typebox";
import { describe, expect, it } from "vitest";
import * as sinclair from "../../../../fixtures/sinclair-typebox.ts";
import { schemaProblems } from "../../../../../src/hosts/embedded/plugins/schema-problems.ts";

const asWritten = (schema: object): object => JSON.parse(JSON.stringify(schema)) as object;

describe("schemaProblems", () => {
  it.each([
    [{ type: "objekt" }, 'type: "objekt" is not one of'],
    [{ type: ["string", "nul"] }, "type: "],
    [{ type: [] }, "type: "],
    [{ enum: "a" }, 'enum: "a" is not a list with at least one value'],
    [{ multipleOf: 0 }, "multipleOf: 0 is not a number over 0"],
    [{ required: [1] }, "required: "],
    [{ minimum: "1" }, 'minimum: "1" is not a number'],
    [{ maxItems: -1 }, "maxItems: -1 is not a whole number from 0"],
    [{ uniqueItems: "yes" }, 'uniqueItems: "yes" is not true or false'],
    [{ pattern: 1 }, "pattern: 1 is not a string"],
    [{ additionalProperties: "no" }, 'additionalProperties: "no" is not a schema'],
    [{ items: [{ type: 1 }] }, "items[0].type: 1 is not one of"],
    [{ anyOf: [] }, "anyOf: "],
    [{ properties: 5 }, "properties: 5 is not an object with a schema for each key"],
    [{ properties: { a: { not: { type: "x" } } } }, 'properties.a.not.type: "x" is not one of'],
    [{ dependentRequired: [] }, "dependentRequired: "],
    [{ dependentRequired: { a: "b" } }, 'dependentRequired.a: "b" is not a list of strings'],
    [{ dependencies: 1 }, "dependencies: 1 is not an object"],
    [{ dependencies: { a: { type: "x" }, b: ["a"] } }, 'dependencies.a.type: "x" is not one of'],
    [{ $ref: "#/nowhere" }, '$ref: "#/nowhere" is not the place of a schema in this one'],
    [{ $ref: "#/%zz" }, "$ref: "],
    [{ $ref: "https://example.com/schema" }, "$ref: "],
    [{ $ref: "#/title", title: "not a schema" }, "$ref: "],
  ])("names what is wrong with %j", (schema, problem) => {
    const problems = schemaProblems(schema);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(problem);
  });

  it.each([
    [{}],
    [{ type: ["string", "null"], enum: ["a", null], const: 1, default: "x", "x-ui": { type: "objekt" } }],
    [{ $ref: "#/$defs/a~1b", $defs: { "a/b": { type: "integer", minimum: 0 } } }],
    [{ $ref: "#", properties: { next: { $ref: "#/properties/next", $anchor: "here" }, two: { $ref: "#here" } } }],
    [{ anyOf: [true, { if: {}, else: { items: false } }], patternProperties: { "^x": { maxLength: 1 } } }],
    [asWritten(Type.Object({ url: Type.String({ format: "uri" }), more: Type.Optional(Type.Array(Type.Integer())) }))],
    [asWritten(Type.Cyclic({ Node: Type.Object({ next: Type.Optional(Type.Ref("Node")) }) }, "Node"))],
    [asWritten(sinclair.recursive)],
    [asWritten(sinclair.union)],
  ])("finds nothing wrong with %j", (schema) => {
    expect(schemaProblems(schema)).toEqual([]);
  });

  it("refuses one that goes too deep, and goes no further itself", () => {
    let schema: object = {};
    for (let depth = 0; depth < 10_000; depth++) schema = { not: schema };
    expect(schemaProblems(schema)).toEqual([expect.stringContaining("is not less than 64 levels deep")]);
  });
});
