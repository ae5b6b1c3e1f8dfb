import { describe, expect, it } from "vitest";
import { Settings } from "typebox/system";
import { compileSchemaCheck } from "../../../src/config/schema-check.ts";

/** The lines that a schema has against a value. */
function linesOf(schema: object, raw: unknown, options?: Parameters<typeof compileSchemaCheck>[1]): string[] {
  return compileSchemaCheck(schema, options)(raw).map(({ path, message }) => `${path}: ${message}`);
}

const closed = (properties: object) => ({ type: "object", properties, additionalProperties: false });

describe("compileSchemaCheck", () => {
  it("has nothing against a value that fits", () => {
    expect(linesOf(closed({ a: { type: "string" } }), { a: "x" })).toEqual([]);
  });

  it("says everything that is wrong at once, and leaves the library's setting as it was", () => {
    const { maxErrors } = Settings.Get();
    const list = Array.from({ length: 500 }, (_, at) => at);
    const lines = linesOf({ type: "array", items: { type: "string" } }, list, { root: ["list"] });
    expect(lines).toHaveLength(500);
    expect(lines.at(-1)).toBe("list[499]: 499 is not a string");
    expect(Settings.Get().maxErrors).toBe(maxErrors);
  });

  it.each([
    [{ type: "string" }, 5, "5 is not a string"],
    [{ type: "boolean" }, "yes", '"yes" is not true or false'],
    [{ type: "integer" }, 1.5, "1.5 is not a whole number"],
    [{ type: "number" }, null, "null is not a number"],
    [{ type: "array" }, {}, "an object is not a list"],
    [{ type: "object" }, [], "a list is not an object"],
    [{ type: "null" }, 5, "5 must be null"],
    [{ type: "string", title: "a color" }, 5, "5 is not a color"],
    [{ enum: ["wake", "agent"] }, "wak", '"wak" is not one of wake, agent'],
    [{ enum: ["isolated"] }, "persistent", '"persistent" is not supported; the only value is isolated'],
    [{ type: "integer", minimum: 1 }, 0, "0 is less than 1"],
    [{ type: "integer", maximum: 9 }, 10, "10 is more than 9"],
    [{ type: "string", maxLength: 2 }, "abc", "has more than 2 characters"],
    [{ type: "array", minItems: 1 }, [], "is empty"],
    [{ type: "array", minItems: 2 }, [1], "has fewer than 2 entries"],
    [{ type: "array", maxItems: 1 }, [1, 2], "has more than 1 entries"],
    [{ type: "string", pattern: "^a$", title: "an a" }, "b", '"b" is not an a'],
    [{ type: "string", pattern: "^a$" }, "b", '"b" must match pattern "^a$"'],
    [{ type: "string", minLength: 1, pattern: "^a$", title: "an a" }, "", '"" is not an a'],
  ])("words a violation of %j", (schema, value, message) => {
    for (const isFrequent of [false, true]) {
      const lines = linesOf(closed({ key: schema }), { key: value }, { root: ["top"], isFrequent });
      expect(lines).toEqual([`top.key: ${message}`]);
    }
  });

  it("finds the one fault of a long list", () => {
    const list = Array.from({ length: 20_000 }, (_, at) => (at === 19_000 ? "x" : at));
    const schema = { type: "array", items: { type: "integer" } };
    expect(linesOf(schema, list, { root: ["list"] })).toEqual(['list[19000]: "x" is not a whole number']);
    expect(linesOf(schema, list.with(19_000, 1))).toEqual([]);
  });

  it("names missing keys, each under its own path", () => {
    const schema = { type: "object", required: ["a", "b"], properties: { a: {}, b: {} } };
    expect(linesOf(schema, {})).toEqual(["a: is required", "b: is required"]);
  });

  it("suggests the likely key, or lists the known ones, or has none to list", () => {
    const schema = closed({ path: {}, source: {} });
    expect(linesOf(schema, { sorce: 1, url: 2 })).toEqual([
      'sorce: unknown key; did you mean "source"?',
      "url: unknown key; known are path, source",
    ]);
    expect(linesOf({ type: "object", additionalProperties: false }, { x: 1 })).toEqual(["x: unknown key"]);
  });

  it("leaves top-level keys to other readers, and suggests them", () => {
    const check = compileSchemaCheck(closed({ path: closed({}) }));
    const lines = (raw: unknown): string[] => check(raw, ["github"]).map(({ path, message }) => `${path}: ${message}`);
    expect(lines({ github: 5 })).toEqual([]);
    expect(lines({ githb: 5, github: 5 })).toEqual(['githb: unknown key; did you mean "github"?']);
    expect(lines({ x: 5 })).toEqual(["x: unknown key; known are path, github"]);
    expect(lines({ path: { github: 5 } })).toEqual(["path.github: unknown key"]);
  });

  it.each(["__proto__", "constructor", "toString", "hasOwnProperty"])("knows no inherited key such as %s", (key) => {
    const raw: unknown = JSON.parse(`{"${key}": 1}`);
    expect(linesOf(closed({ path: {} }), raw)).toEqual([`${key}: unknown key; known are path`]);
  });

  it("lets only that branch of a union speak that is of the value's type", () => {
    const item = { anyOf: [{ type: "string" }, closed({ env: { type: "string" } })], title: "a secret" };
    const schema = closed({
      token: { anyOf: [...item.anyOf, { type: "array", items: item }], title: "a secret or several" },
    });
    const lines = (token: unknown): string[] => linesOf(schema, { token });
    expect(lines(5)).toEqual(["token: 5 is not a secret or several"]);
    expect(lines({ enf: "A" })).toEqual(['token.enf: unknown key; did you mean "env"?']);
    expect(lines({ env: 5 })).toEqual(["token.env: 5 is not a string"]);
    expect(lines(["a", 5, { env: 6 }])).toEqual(["token[1]: 5 is not a secret", "token[2].env: 6 is not a string"]);
  });

  it("reads `oneOf` like `anyOf`, and integers and null as types of a branch", () => {
    const schema = closed({ size: { oneOf: [{ type: "integer", minimum: 1 }, { type: "null" }], title: "a size" } });
    expect(linesOf(schema, { size: 0 })).toEqual(["size: 0 is less than 1"]);
    expect(linesOf(schema, { size: "x" })).toEqual(['size: "x" is not a size']);
    expect(linesOf(schema, { size: null })).toEqual([]);
  });

  it("lets a branch without a type speak for values of any", () => {
    const schema = closed({ mode: { anyOf: [{ enum: ["a", "b"] }, { type: "object" }], title: "a mode" } });
    expect(linesOf(schema, { mode: "c" })).toEqual(['mode: "c" is not one of a, b']);
  });

  it("never shows a value under a write-only key, nor any value when asked to hide all", () => {
    const schema = closed({ token: { type: "array", items: { type: "string", maxLength: 3 }, writeOnly: true } });
    expect(linesOf(schema, { token: [12_345] })).toEqual(["token[0]: the value is not a string"]);
    expect(linesOf(closed({ a: { type: "string" } }), { a: 7 }, { showValues: false })).toEqual([
      "a: the value is not a string",
    ]);
  });

  it("finds its way through keys with slashes and tildes, patterns and schemas for other keys", () => {
    const schema = {
      type: "object",
      properties: { "a/b~c": { type: "string" } },
      patternProperties: { "^x/": { type: "object", properties: { n: { type: "number", title: "a count" } } } },
      additionalProperties: { type: "array", items: { type: "boolean" } },
    };
    expect(linesOf(schema, { "a/b~c": 1, "x/1": { n: "s" }, "other/key": [1] }).toSorted()).toEqual([
      '["a/b~c"]: 1 is not a string',
      '["other/key"][0]: 1 is not true or false',
      '["x/1"].n: "s" is not a count',
    ]);
  });

  it("hides values where the schema continues by a reference", () => {
    const schema = { type: "object", properties: { a: { $ref: "#/$defs/name" } }, $defs: { name: { type: "string" } } };
    expect(linesOf(schema, { a: 5 })).toEqual(["a: the value must be string"]);
    const $defs = { secret: closed({ value: { type: "string", writeOnly: true } }) };
    const nested = { type: "object", properties: { a: { $ref: "#/$defs/secret" } }, $defs };
    expect(linesOf(nested, { a: { value: 5 } })).toEqual(["a.value: the value must be string"]);
    const tuple = { type: "array", prefixItems: [{ type: "string" }] };
    expect(linesOf(tuple, [5])).toEqual(["[0]: the value must be string"]);
  });

  it("gives the way to each key as it goes from the value that was checked", () => {
    const [issue] = compileSchemaCheck(closed({ list: { type: "array", items: { type: "string" } } }), { root: ["r"] })(
      {
        list: [1],
      },
    );
    expect(issue).toEqual({ path: "r.list[0]", keys: ["list", 0], message: "1 is not a string" });
  });

  it("says of a key only the first thing that is wrong with it", () => {
    expect(linesOf({ type: "string", minLength: 5, pattern: "^a", title: "a word" }, "", { root: ["w"] })).toHaveLength(
      1,
    );
  });
});
