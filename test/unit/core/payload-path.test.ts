import { describe, expect, it } from "vitest";

import { compilePath, lookup } from "../../../src/core/payload-path.ts";

describe("compilePath", () => {
  it.each<[string, (string | number)[]]>([
    ["a", ["a"]],
    ["a.b.c", ["a", "b", "c"]],
    ["messages[0].from", ["messages", 0, "from"]],
    ["[2][10]", [2, 10]],
    ["a[007]", ["a", 7]],
    ["a.0.b", ["a", "0", "b"]],
    ["o[k]", ["o", "k"]],
    ['o["k"]', ["o", '"k"']],
    ["a[-1]", ["a", "-1"]],
    ["a[*]", ["a", "*"]],
    ["a[0", ["a", "0"]],
    ["a[ 1 ]", ["a", " 1 "]],
    ["a[]b]", ["a", "b"]],
    ["..a...b.", ["a", "b"]],
    ["with space.x-y", ["with space", "x-y"]],
    ["", []],
    [". []", [" "]],
    [".[].", []],
  ])("reads %j as %j", (expression, segments) => {
    expect(compilePath(expression)).toEqual(segments);
  });
});

describe("lookup", () => {
  const root = { list: [{ id: 1 }, "two"], text: "abc", o: { k: "v", "0": "zero" }, nil: null };
  const get = (expression: string, from: unknown = root) => lookup(from, compilePath(expression));

  it("follows keys and indexes", () => {
    expect(get("list[0].id")).toBe(1);
    expect(get("list[1]")).toBe("two");
    expect(get("o.k")).toBe("v");
  });

  it("takes a number between dots as a key, which arrays have too", () => {
    expect(get("list.0.id")).toBe(1);
    expect(get("o.0")).toBe("zero");
  });

  it("takes an index in brackets for arrays only", () => {
    expect(get("o[0]")).toBeUndefined();
  });

  it("answers the root to the empty path", () => {
    expect(lookup(root, [])).toBe(root);
    expect(lookup(7, [])).toBe(7);
  });

  it.each(["missing", "missing.more", "list[2]", "list[-1]", "list[99999999999999999999]", "nil.x", "text.0.x"])(
    "answers undefined to %s",
    (expression) => {
      expect(get(expression)).toBeUndefined();
    },
  );

  it("does not enter strings, numbers and functions", () => {
    expect(get("text.length")).toBeUndefined();
    expect(get("text[0]")).toBeUndefined();
    expect(get("length", 5)).toBeUndefined();
    expect(get("name", function named() {})).toBeUndefined();
  });

  it("reaches own properties only, among which is an array's length", () => {
    expect(get("list.length")).toBe(2);
    expect(get("toString")).toBeUndefined();
    expect(get("o.hasOwnProperty")).toBeUndefined();
    expect(get("list.map")).toBeUndefined();
    expect(get("x", Object.create({ x: "inherited" }))).toBeUndefined();
  });

  it("does not see what an array inherits under an index", () => {
    const list: unknown = Object.setPrototypeOf([], { 0: "inherited" });
    expect(Array.isArray(list)).toBe(true);
    expect(lookup(list, [0])).toBeUndefined();
  });

  it.each(["__proto__", "prototype", "constructor"])("leads nowhere through %s, even as an own key", (key) => {
    const own: unknown = JSON.parse(`{ "${key}": { "x": 1 }, "o": { "${key}": 2 } }`);
    for (const expression of [key, `${key}.x`, `o.${key}`, `o[${key}]`]) {
      expect(get(expression, own)).toBeUndefined();
    }
  });

  it("finds keys that only look like the forbidden ones", () => {
    const alike = { __proto_: 1, prototypE: 2, Constructor: 3, constructo: 4, abcdefghijk: 5, abcdefghi: 6 };
    for (const [key, value] of Object.entries(alike)) {
      expect(lookup(alike, [key])).toBe(value);
    }
  });

  it("takes a getter or a proxy that throws as missing", () => {
    const hostile = {
      get boom(): unknown {
        throw new Error("no");
      },
      proxy: new Proxy(
        {},
        {
          getOwnPropertyDescriptor() {
            throw new Error("no");
          },
        },
      ),
    };
    expect(get("boom", hostile)).toBeUndefined();
    expect(get("proxy.x", hostile)).toBeUndefined();
  });

  it("works on objects without a prototype", () => {
    const bare = Object.assign(Object.create(null), { a: { b: 1 } }) as unknown;
    expect(get("a.b", bare)).toBe(1);
  });
});
