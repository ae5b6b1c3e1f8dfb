import { describe, expect, it } from "vitest";

import { renderValue } from "../../../src/mapping/template.ts";

describe("renderValue", () => {
  it.each<[unknown, string]>([
    ["text", "text"],
    ["", ""],
    [12.5, "12.5"],
    [-0, "0"],
    [1e21, "1e+21"],
    [true, "true"],
    [false, "false"],
    [null, ""],
    [undefined, ""],
    [{ a: [1, "x", null], b: {} }, '{"a":[1,"x",null],"b":{}}'],
    [[], "[]"],
    [["a", { b: 1 }], '["a",{"b":1}]'],
  ])("prints %j as %j", (value, text) => {
    expect(renderValue(value)).toBe(text);
  });

  it("prints nothing for what JSON data cannot hold", () => {
    expect(renderValue(10n)).toBe("");
    expect(renderValue(Symbol("s"))).toBe("");
    expect(renderValue(() => "called")).toBe("");
    expect(renderValue({ deep: [{ big: 10n }] })).toBe("");
  });

  it("prints nothing for a cycle or an object too deep for the stack", () => {
    const cycle: { self?: unknown } = {};
    cycle.self = [cycle];
    expect(renderValue(cycle)).toBe("");

    let deep: unknown[] = [];
    for (let level = 0; level < 200_000; level++) deep = [deep];
    expect(renderValue(deep)).toBe("");
  });

  it("prints nothing for a getter that throws", () => {
    const hostile = {
      get boom(): unknown {
        throw new Error("no");
      },
    };
    expect(renderValue({ list: [hostile] })).toBe("");
  });

  it("never runs a toJSON that came with the value", () => {
    let calls = 0;
    const toJSON = () => {
      calls++;
      return "called";
    };
    class Custom {
      toJSON() {
        return toJSON();
      }
    }
    class CustomDate extends Date {
      override toJSON() {
        return toJSON();
      }
    }
    const date = Object.assign(new Date(0), { toJSON });
    const disguised = Object.assign(new Date(0), { toISOString: toJSON });
    const list = Object.assign([1], { toJSON });
    for (const value of [{ toJSON }, { a: [{ toJSON }] }, new Custom(), new CustomDate(), [date], [disguised], list]) {
      expect(renderValue(value)).toBe("");
    }
    expect(calls).toBe(0);
  });

  it("prints a toJSON that is data like any other key", () => {
    expect(renderValue({ toJSON: "text", n: [{ toJSON: null }] })).toBe('{"toJSON":"text","n":[{"toJSON":null}]}');
  });

  it("prints a date as JSON does", () => {
    expect(renderValue({ at: new Date(0) })).toBe('{"at":"1970-01-01T00:00:00.000Z"}');
  });
});
