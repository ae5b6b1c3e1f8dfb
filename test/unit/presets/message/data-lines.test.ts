import { describe, expect, it } from "vitest";
import { dataLines, withoutKeys } from "../../../../src/presets/message/data-lines.ts";

describe("data as lines", () => {
  it.each<[string, unknown, readonly string[]]>([
    ["a text", " It rains.\n", ["It rains."]],
    ["a number", 0, ["0"]],
    ["a boolean", false, ["false"]],
    ["nothing", null, []],
    ["a blank text", " \n", []],
    ["an object of nothing", { a: null, b: "", c: [], d: { e: [null] } }, []],
    ["an object", { name: "Ada", age: 36, admin: false }, ["name: Ada", "age: 36", "admin: false"]],
    ["nested values", { a: { b: 1, c: null }, d: [1, "", "x"] }, ['a: {"b":1}', 'd: [1,"x"]']],
    ["an array", ["a", { b: 1 }, null, 7], ["a", '{"b":1}', "7"]],
    ["a key without a name", { "": 1, " a ": 2 }, ["1", "a: 2"]],
  ])("has %s", (_, data, lines) => {
    expect(dataLines(data)).toEqual(lines);
  });

  it("counts what goes beyond the limit", () => {
    expect(dataLines({ a: 1, b: 2, c: 3 }, 2)).toEqual(["a: 1", "b: 2", "... and 1 more"]);
    expect(dataLines([1, 2, 3], 1)).toEqual(["1", "... and 2 more"]);
  });

  it("cuts long keys and values", () => {
    const [line] = dataLines({ ["k".repeat(2_000)]: "v".repeat(2_000) });
    expect(line).toHaveLength(2_002);
    expect(dataLines("v".repeat(2_000))[0]).toHaveLength(1_000);
  });

  it("makes no prototype of a key", () => {
    const lines = dataLines(JSON.parse('{"a":{"__proto__":{"admin":true}}}'));
    expect(lines).toEqual(['a: {"__proto__":{"admin":true}}']);
    expect(({} as Record<string, unknown>)["admin"]).toBeUndefined();
  });
});

describe("an object without some of its keys", () => {
  it("keeps the others, and anything that is no object", () => {
    expect(withoutKeys({ a: 1, b: 2, c: 3 }, "a", "c", "d")).toEqual({ b: 2 });
    expect(withoutKeys([1], "0")).toEqual([1]);
    expect(withoutKeys("a", "a")).toBe("a");
    expect(withoutKeys(null, "a")).toBeNull();
  });
});
