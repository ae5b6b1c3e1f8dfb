import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { MappingInput } from "../../../src/config/hooks.ts";
import type { CompiledMapping } from "../../../src/mapping/compile-mapping.ts";
import { MappingIndex } from "../../../src/mapping/index-mappings.ts";
import { mappingsOf } from "./mappings.ts";

// Few names, so that mappings overlap and requests hit them.
const path = fc.constantFrom("", "a", "b", "a/b", "__proto__", "/a/");
const source = fc.constantFrom("", "x", "y", "toString", "__proto__");
const mapping: fc.Arbitrary<MappingInput> = fc.record(
  {
    match: fc.record({ path, source }, { requiredKeys: [] }),
    maxBodyBytes: fc.constantFrom(1, 50, 1_000),
    accept: fc.subarray(["json", "form", "text"] as const, { minLength: 1 }).map((formats) => [...formats]),
  },
  { requiredKeys: [] },
);
const mappings = fc.array(mapping, { maxLength: 12 });
const sentPath = fc.oneof(path, fc.constantFrom("c", "A", "//b//", "a/", "constructor"));
const payload = fc.oneof(
  fc.record({ source: fc.oneof(source, fc.constantFrom("z", "X", 1, null, true)) }, { requiredKeys: [] }),
  fc.constantFrom<unknown>(null, [], ["x"], "x", 7),
);

const DEFAULT_BYTES = 100;
const bare = (text: string): string => text.replaceAll(/^\/+|\/+$/g, "");

/** The rule itself: one mapping after the other, the first that matches. */
function matches({ config: { match } }: CompiledMapping, sent: string, payload: unknown): boolean {
  const from = typeof payload === "object" && payload !== null && "source" in payload ? payload.source : undefined;
  return (!match.path || match.path === bare(sent)) && (!match.source || match.source === from);
}

describe("the mapping index, for any mappings and requests", () => {
  it("agrees with a search from the first mapping to the last", () => {
    fc.assert(
      fc.property(mappings, sentPath, payload, (inputs, sent, payload) => {
        const compiled = mappingsOf(...inputs);
        const index = new MappingIndex(compiled, { maxBodyBytes: DEFAULT_BYTES });
        expect(index.resolve(sent, payload)).toBe(compiled.find((each) => matches(each, sent, payload)));
      }),
      { numRuns: 3_000 },
    );
  });

  it("knows rules for a body exactly when some payload finds an owner, and they cover that owner's", () => {
    fc.assert(
      fc.property(mappings, sentPath, payload, (inputs, sent, payload) => {
        const compiled = mappingsOf(...inputs);
        const index = new MappingIndex(compiled, { maxBodyBytes: DEFAULT_BYTES });
        const possible = compiled.filter(({ config }) => !config.match.path || config.match.path === bare(sent));
        const rules = index.bodyRules(sent);
        expect(rules !== undefined).toBe(possible.length > 0);
        const limits = possible.map(({ config }) => config.maxBodyBytes ?? DEFAULT_BYTES);
        expect(rules?.maxBodyBytes ?? -Infinity).toBe(Math.max(...limits));
        expect(new Set(rules?.accept)).toEqual(new Set(possible.flatMap(({ config }) => config.accept)));
        const owner = index.resolve(sent, payload);
        if (owner) expect(rules!.maxBodyBytes).toBeGreaterThanOrEqual(index.rulesOf(owner).maxBodyBytes);
      }),
      { numRuns: 1_000 },
    );
  });
});
