import { describe, expect, it } from "vitest";
import { asJson } from "../../../../src/presets/message/data-lines.ts";

describe("data as JSON", () => {
  it("leaves out what holds nothing, and the keys that are noise", () => {
    const payload = {
      a: null,
      b: " \n",
      c: [null, {}, [""]],
      d: { e: {} },
      f: 0,
      g: false,
      noise: 1,
      h: [{ noise: 1, i: "x" }],
    };
    expect(asJson(payload, (key) => key === "noise")).toBe('{"f":0,"g":false,"h":[{"i":"x"}]}');
  });

  it.each([null, undefined, "", {}, [], [null], { a: [[]] }])("is empty for %j", (payload) => {
    expect(asJson(payload)).toBe("");
  });

  it.each<[unknown, string]>([
    [42, "42"],
    [" text\n", '"text"'],
    [false, "false"],
    [[1, null, "a"], '[1,"a"]'],
  ])("writes %j in short", (payload, json) => {
    expect(asJson(payload)).toBe(json);
  });

  it("is cut to 2,000 characters, however long a text is", () => {
    const json = asJson({ text: "x".repeat(100_000) });
    expect(json).toHaveLength(2_000);
    expect(json.endsWith("…")).toBe(true);
  });

  it("ends below the sixteenth level", () => {
    const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
    expect(asJson(JSON.parse(nested(16)))).toBe(nested(16));
    expect(asJson(JSON.parse(nested(17)))).toBe("");
  });

  it("looks at the first 300 values only", () => {
    let looked = 0;
    const counted = new Proxy(Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`k${at}`, at])), {
      get(target, key) {
        looked++;
        return Reflect.get(target, key) as unknown;
      },
    });
    const many = Array.from({ length: 1_000 }, () => ["x"]);
    expect(asJson({ many, never: counted })).not.toContain("never");
    expect(looked).toBe(0);
  });

  it("keeps a key that could pollute a prototype harmless", () => {
    const payload: unknown = JSON.parse('{"__proto__":{"polluted":true},"a":1}');
    expect(asJson(payload)).toBe('{"__proto__":{"polluted":true},"a":1}');
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });
});
