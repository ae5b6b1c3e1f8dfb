import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { parseForm } from "../../../src/http/parse-form.ts";

describe("parseForm", () => {
  it.each<[string, Record<string, string>]>([
    ["", {}],
    ["a=1&b=2", { a: "1", b: "2" }],
    ["a=1&a=2", { a: "2" }],
    ["a&b=&=c&&", { a: "", b: "", "": "c" }],
    ["a=b=c", { a: "b=c" }],
    ["two+words=a+b%2B", { "two words": "a b+" }],
    ["n=%C3%A9%e2%82%AC", { n: "é€" }],
    ["n=%zz%4%", { n: "%zz%4%" }],
    ["n=%g0%0g%0:%`0", { n: "%g0%0g%0:%`0" }],
    ["n=%41%4", { n: "A%4" }],
    ["n=%ff", { n: "\uFFFD" }],
    ["?a=1", { "?a": "1" }],
    ["a[b]=1", { "a[b]": "1" }],
    ["payload=%7B%22x%22%3A1%7D", { payload: '{"x":1}' }],
  ])("reads %j", (text, fields) => {
    expect(parseForm(text)).toEqual(fields);
  });

  it("drops a field named __proto__, however it is written", () => {
    const fields = parseForm("__proto__=x&%5f_proto__=y&toString=z");
    expect(Object.entries(fields)).toEqual([["toString", "z"]]);
    expect(Object.getPrototypeOf(fields)).toBe(Object.prototype);
  });

  it("agrees with URLSearchParams, whose pairs are the standard's", () => {
    // ASCII only: Node's URLSearchParams cuts other characters to a byte when a bad escape is near them.
    const escapes = fc.constantFrom("%", "%2", "%20", "%C3%A9", "%ff", "%F0%9F%98%80", "%e2%82", "%%41");
    const piece = fc.oneof(
      escapes,
      fc.constantFrom("&", "=", "+", "?", "a", "__proto__"),
      fc.string({ unit: "grapheme-ascii", maxLength: 4 }),
    );
    const text = fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(text, (text) => {
        const expected = [...new URLSearchParams(`&${text}`)].filter(([name]) => name !== "__proto__");
        expect(new Map(Object.entries(parseForm(text)))).toEqual(new Map(expected));
      }),
      { numRuns: 2000 },
    );
  });

  it("gives back any fields that were encoded", () => {
    const fields = fc.dictionary(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }));
    fc.assert(
      fc.property(fields, (fields) => {
        fc.pre(!Object.hasOwn(fields, "__proto__"));
        expect(Object.entries(parseForm(new URLSearchParams(fields).toString()))).toEqual(Object.entries(fields));
      }),
    );
  });

  it("keeps characters that were not encoded beside bad escapes", () => {
    expect(parseForm("né%ff=%zz€")).toEqual({ "né\uFFFD": "%zz€" });
  });
});
