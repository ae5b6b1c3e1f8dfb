import { describe, expect, it } from "vitest";
import { payloadType } from "../../../../src/cli/transform/payload-type.ts";

describe("payloadType", () => {
  it("names the keys and the types of an example", () => {
    expect(payloadType([{ id: 1, name: "n", on: true, none: null, tags: ["a"], in: { deep: "d" } }])).toBe(
      `{
  readonly id: number;
  readonly name: string;
  readonly on: boolean;
  readonly none: null;
  readonly tags: readonly string[];
  readonly in: {
    readonly deep: string;
  };
}`,
    );
  });

  it("makes keys optional that only some examples have, and joins what differs", () => {
    expect(payloadType([{ a: 1, b: "x" }, { a: null }])).toBe(
      "{\n  readonly a: number | null;\n  readonly b?: string;\n}",
    );
    expect(payloadType([[1, "x"], [{ a: 1 }], []])).toBe("readonly ({\n  readonly a: number;\n} | number | string)[]");
    expect(payloadType([[[1]], [{}]])).toBe("readonly (object | readonly number[])[]");
    expect(payloadType([[]])).toBe("readonly unknown[]");
    expect(payloadType([])).toBe("unknown");
  });

  it("quotes keys that are no names, so that none can end a comment or a text", () => {
    expect(payloadType([{ "a-b": 1, '"*/': 2, __proto__: 3, "1": 4 }])).toBe(
      '{\n  readonly "1": number;\n  readonly "a-b": number;\n  readonly "\\"*\\/": number;\n}',
    );
  });

  it("is unknown below eight levels, and beyond sixty keys", () => {
    const nested = (levels: number): unknown => (levels === 0 ? { end: 1 } : { in: nested(levels - 1) });
    expect(payloadType([nested(7)])).toContain("readonly end: number");
    expect(payloadType([nested(8)])).toContain("readonly in: unknown;");
    const wide = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`k${at}`, at]));
    const type = payloadType([wide]);
    expect(type).toContain("readonly k59: number;\n  readonly [key: string]: unknown;\n}");
    expect(type).not.toContain("k60");
  });
});
