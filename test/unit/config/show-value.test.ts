import { describe, expect, it } from "vitest";
import { showKeyPath } from "../../../src/config/show-value.ts";
import { showNames, showValue } from "../../../src/config/show-value.ts";

describe("showValue", () => {
  it.each([
    ["wak", '"wak"'],
    ["https://me:p@ssword@host/a@b", '"https://***@host/a@b"'],
    ["ftp://token@host", '"ftp://***@host"'],
    ['a "b"\n', String.raw`"a \"b\"\n"`],
    [5, "5"],
    [Number.NaN, "NaN"],
    [true, "true"],
    [null, "null"],
    [undefined, "undefined"],
    [[1, 2], "a list"],
    [{ a: 1 }, "an object"],
  ])("shows %j as %s", (value, shown) => {
    expect(showValue(value)).toBe(shown);
  });

  it("cuts a string after 60 characters", () => {
    expect(showValue("x".repeat(60))).toBe(`"${"x".repeat(60)}"`);
    expect(showValue("x".repeat(61))).toBe(`"${"x".repeat(60)}..."`);
  });
});

describe("showNames", () => {
  it("lists ten names and counts the others", () => {
    const names = Array.from({ length: 12 }, (_, at) => `n${at}`);
    expect(showNames(names.slice(0, 10))).toBe("n0, n1, n2, n3, n4, n5, n6, n7, n8, n9");
    expect(showNames(names)).toBe("n0, n1, n2, n3, n4, n5, n6, n7, n8, n9 and 2 more");
  });
});

describe("showKeyPath", () => {
  it("writes a path as one would look for it", () => {
    expect(showKeyPath(["hooks", "mappings", 3, "action"])).toBe("hooks.mappings[3].action");
    expect(showKeyPath(["hooks", "x-y_1", "$z"])).toBe("hooks.x-y_1.$z");
  });

  it("quotes a key that is not a plain word, and cuts a long one", () => {
    expect(showKeyPath(["hooks", "a b", "", "a.b"])).toBe('hooks["a b"][""]["a.b"]');
    expect(showKeyPath(["hooks", "line\nbreak"])).toBe(String.raw`hooks["line\nbreak"]`);
    expect(showKeyPath(["hooks", "k".repeat(61)])).toBe(`hooks["${"k".repeat(60)}..."]`);
  });
});
