import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { MappingConfig } from "../../../../src/config/mapping/schema.ts";
import { normalizeMapping } from "../../../../src/config/mapping/normalize.ts";
import { Findings } from "../../../../src/config/errors.ts";
import { findShadows } from "../../../../src/config/mapping/rules.ts";

type Match = readonly [path: string, source: string];

const mappingsOf = (matches: readonly Match[]): MappingConfig[] =>
  matches.map(([path, source], at) => normalizeMapping({ match: { path, source } }, at, new Findings()));

const shadowsOf = (...matches: readonly Match[]): (number | undefined)[] => findShadows(mappingsOf(matches));

describe("findShadows", () => {
  it.each<[string, Match, Match]>([
    ["the same path and no source", ["a", ""], ["a", "x"]],
    ["the same path and source", ["a", "x"], ["a", "x"]],
    ["no path and the same source", ["", "x"], ["a", "x"]],
    ["neither path nor source", ["", ""], ["a", "x"]],
    ["neither, like the later one", ["", ""], ["", ""]],
    ["the same path, written otherwise", ["/a/", ""], ["a", ""]],
  ])("finds an earlier mapping with %s", (_case, earlier, later) => {
    expect(shadowsOf(earlier, later)).toEqual([undefined, 0]);
  });

  it.each<[string, Match, Match]>([
    ["another path", ["a", ""], ["b", ""]],
    ["another source", ["a", "x"], ["a", "y"]],
    ["a narrower match", ["a", "x"], ["a", ""]],
    ["a path where the later one has none", ["a", ""], ["", ""]],
    ["a source where the later one has none", ["", "x"], ["a", ""]],
    ["a path in another case", ["A", ""], ["a", ""]],
  ])("lets an earlier mapping with %s stand beside", (_case, earlier, later) => {
    expect(shadowsOf(earlier, later)).toEqual([undefined, undefined]);
  });

  it("names the earliest of several, and never one that is shadowed itself", () => {
    expect(shadowsOf(["", "x"], ["a", ""], ["a", "x"], ["a", "y"])).toEqual([undefined, undefined, 0, 1]);
  });

  it("passes over a hole", () => {
    const [first, second] = mappingsOf([
      ["a", ""],
      ["a", ""],
    ]);
    expect(findShadows([undefined, first, undefined, second])).toEqual([undefined, undefined, undefined, 1]);
  });

  it("agrees with the definition: an earlier one has no path or the same, and no source or the same", () => {
    const match = fc.tuple(fc.constantFrom("", "a", "b"), fc.constantFrom("", "x", "y"));
    fc.assert(
      fc.property(fc.array(match, { maxLength: 12 }), (matches) => {
        const expected = matches.map(([path, source], at) => {
          const by = matches.findIndex(([p, s]) => (p === "" || p === path) && (s === "" || s === source));
          return by < at ? by : undefined;
        });
        expect(shadowsOf(...matches)).toEqual(expected);
      }),
    );
  });
});
