import { describe, expect, it } from "vitest";
import { encodeResult } from "../../../../../src/transform/sandbox/worker/encode-result.ts";

const encode = (value: unknown, maxResultBytes = 100): unknown =>
  encodeResult(value, { maxResultBytes, describe: (error) => `threw ${String(error)}` });

describe("encodeResult", () => {
  it("writes what JSON can say", () => {
    expect(encode({ message: "ü" })).toEqual({ ok: true, json: '{"message":"ü"}' });
    expect(encode([null, { deliver: false }])).toEqual({ ok: true, json: '[null,{"deliver":false}]' });
    for (const nothing of [undefined, Number.NaN, 0n]) expect(encode(nothing)).toEqual({ ok: true, json: undefined });
    for (const falsy of [false, 0, -0]) expect(encode(falsy)).toEqual({ ok: true, json: String(falsy) });
    expect(encode(null)).toEqual({ ok: true, json: "null" });
    expect(encode("")).toEqual({ ok: true, json: '""' });
  });

  it("counts bytes, not characters, and allows exactly the limit", () => {
    expect(encode("üü", 6)).toEqual({ ok: true, json: '"üü"' });
    const reason = "returned 8 bytes; hooks.transforms.maxResultBytes allows 7";
    expect(encode("üüü", 7)).toEqual({ ok: false, reason });
  });

  it.each([
    [() => 1, "returned a function;"],
    [Symbol("s"), "returned a symbol;"],
    [-Infinity, "returned -Infinity;"],
    [[undefined], "returned undefined in the place of an action at [0];"],
    [[null, Number.NaN], "returned NaN in the place of an action at [1];"],
    [{ toJSON: () => undefined }, "returned what has no JSON;"],
    [[null, Promise.resolve({})], "returned a promise in the place of an action at [1];"],
    [(function* () {})(), "returned a generator;"],
    [(async function* () {})(), "returned a generator;"],
  ])(
    "refuses what JSON would make a null of, or an empty object that means the mapping's own action: %#",
    (value, reason) => {
      const message = `${reason} it has to return an object, an array of objects, null or undefined`;
      expect(encode(value)).toEqual({ ok: false, reason: message });
    },
  );

  it("reports what reading the result threw", () => {
    const value = {
      get field(): never {
        throw new Error("gotten");
      },
    };
    const reason = "returned what cannot be written as JSON: threw Error: gotten";
    expect(encode(value)).toEqual({ ok: false, reason });
  });
});
