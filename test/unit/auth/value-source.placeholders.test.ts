import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { splitPlaceholders } from "../../../src/auth/value-source.ts";

const part = (name: string, argument = "") => ({ name, argument });

describe("splitPlaceholders", () => {
  it.each<[string, ReturnType<typeof splitPlaceholders>]>([
    ["", []],
    ["text", ["text"]],
    ["{body}", [part("body")]],
    ["v0:{timestamp}:{body}", ["v0:", part("timestamp"), ":", part("body")]],
    ["{a}{b}c", [part("a"), part("b"), "c"]],
    ["{header:X-Id}", [part("header", "X-Id")]],
    ["{body:a.b[0].c d}", [part("body", "a.b[0].c d")]],
    ["{body:a:b}", [part("body", "a:b")]],
    ["{sha256}", [part("sha256")]],
    ["{{a}}", ["{", part("a"), "}"]],
  ])("takes %j apart", (text, parts) => {
    expect(splitPlaceholders(text)).toEqual(parts);
  });

  it.each(["{}", "{a", "a}", "{ a }", "{a-b}", "{a:}", "{:a}", '{"a": 1}'])("leaves %j as it is", (text) => {
    expect(splitPlaceholders(text)).toEqual([text]);
  });

  it("loses nothing of a text", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("{", "}", ":", "a", "-", " ") }), (text) => {
        const parts = splitPlaceholders(text).map((part) => {
          if (typeof part === "string") return part;
          return part.argument === "" ? `{${part.name}}` : `{${part.name}:${part.argument}}`;
        });
        expect(parts.join("")).toBe(text);
      }),
    );
  });
});
