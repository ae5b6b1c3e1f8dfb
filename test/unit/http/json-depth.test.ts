import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { exceedsDepth } from "../../../src/http/json-depth.ts";

const exceeds = (text: string, maxDepth: number) => exceedsDepth(text, Buffer.from(text), maxDepth);

describe("exceedsDepth", () => {
  it.each<[string, number]>([
    ["{}", 1],
    ["[]", 1],
    ['{"a":[]}', 2],
    ["[[],[],[[]]]", 3],
    ['[{"a":{"b":[1]}},[]]', 4],
    ['["[[[[", "]]]]", "{{{"]', 1],
    ['["\\"[[[", [ "\\\\" ], "\\\\\\"[["]', 2],
    ['{"[{[{":"}}}]]"}', 1],
    ['["é[ü{€[", [1]]', 2],
    ["1", 0],
    ['"[[["', 0],
  ])("takes %s to be %j deep", (text, depth) => {
    expect(exceeds(text, depth)).toBe(false);
    if (depth > 0) expect(exceeds(text, depth - 1)).toBe(true);
  });

  it("accepts 64 levels, refuses 65, and answers to 100,000", () => {
    const nest = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
    expect(exceeds(nest(64), 64)).toBe(false);
    expect(exceeds(nest(65), 64)).toBe(true);
    expect(exceeds(`{"a":${"[{}]".repeat(0)}${nest(63)}}`, 64)).toBe(false);
    expect(exceeds(`{"a":${nest(64)}}`, 64)).toBe(true);
    expect(exceeds(nest(100_000), 64)).toBe(true);
  });

  it("does not take many brackets side by side for depth", () => {
    expect(exceeds(`[${"[],{},".repeat(10_000)}1]`, 2)).toBe(false);
  });

  it("counts what it sees of an unterminated text", () => {
    expect(exceeds("[[[", 2)).toBe(true);
    expect(exceeds('["[[[[', 1)).toBe(false);
    expect(exceeds('["[[[[\\', 1)).toBe(false);
    expect(exceeds("]]]]][[[[", 3)).toBe(false);
  });

  it("agrees with the depth of any JSON value", () => {
    const text = fc.string({ unit: fc.constantFrom("[", "]", "{", "}", '"', "\\", "a", "é") });
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 8, depthSize: "large", withCrossShrink: true },
        text,
        fc.integer(),
        fc.array(tie("tree"), { maxLength: 3 }),
        fc.dictionary(text, tie("tree"), { maxKeys: 3 }),
      ),
    }));
    fc.assert(
      fc.property(tree, fc.constantFrom(undefined, 2), (value, indent) => {
        const json = JSON.stringify(value, null, indent);
        const depth = depthOf(value);
        expect(exceeds(json, depth)).toBe(false);
        if (depth > 0) expect(exceeds(json, depth - 1)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}
