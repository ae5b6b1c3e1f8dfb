import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { flatLine } from "../../../../src/hosts/embedded/flat-line.ts";

const START = '{"level":"info","time":"2026-11-25T00:00:00.000Z"';
const OWN = new Set(["level", "time", "msg", "__proto__"]);

function lineOf(fields: Readonly<Record<string, unknown>>, message = "request"): string | undefined {
  return flatLine(START, fields, { message, secretKeys: new Set(["token"]) });
}

describe("a log line of plain fields", () => {
  it("is the JSON of its fields, whatever is in their texts and names", () => {
    const text = fc.string({ unit: "binary" });
    const value = fc.oneof(text, fc.double(), fc.integer(), fc.boolean(), fc.constant(null), fc.constant(undefined));
    fc.assert(
      fc.property(fc.dictionary(text, value), text, (fields, message) => {
        const named = Object.fromEntries(Object.entries(fields).filter(([name]) => !OWN.has(name)));
        const line = lineOf(named, message)!;
        expect(line.endsWith("\n")).toBe(true);
        expect(line.trimEnd()).not.toMatch(/[\n\r]/);
        const expected = { level: "info", time: "2026-11-25T00:00:00.000Z", ...named, msg: message };
        expect(JSON.parse(line)).toEqual(JSON.parse(JSON.stringify(expected)));
      }),
      { numRuns: 50 },
    );
  });

  it("has no secret, and is not made of what could hold one", () => {
    expect(lineOf({ token: "a-secret", id: 1 })).toBe(`${START},"token":"[redacted]","id":1,"msg":"request"}\n`);
    expect(lineOf({ token: { value: "a-secret" } })).not.toContain("a-secret");
    for (const value of [{}, [], new Error("x"), () => 1, 1n, Symbol("s")]) expect(lineOf({ value })).toBeUndefined();
  });

  it("has no fields that are inherited", () => {
    const fields = Object.assign(Object.create({ inherited: 1 }) as Record<string, unknown>, { own: 2 });
    expect(lineOf(fields)).toBe(`${START},"own":2,"msg":"request"}\n`);
  });
});
