import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { restoreSpec, storeSpec, textOf } from "../../../../src/storage/sqlite/stored-spec.ts";
import { agentSpec, wakeSpec } from "../../../conformance/store/new-delivery.ts";

describe("stored specs", () => {
  it("are restored exactly, whatever text they carry", () => {
    const texts = fc.oneof(fc.string({ unit: "binary" }), fc.string(), fc.constantFrom("\ud800", "a\udfffb", "\0", ""));
    fc.assert(
      fc.property(texts, texts, (text, name) => {
        for (const spec of [agentSpec({ message: text, name }), wakeSpec({ text, name })]) {
          expect(restoreSpec(storeSpec(spec))).toEqual(spec);
        }
      }),
    );
  });

  it("keep the text out of the JSON, unless UTF-8 cannot represent it", () => {
    const stored = storeSpec(agentSpec({ message: 'a "quoted" text' }));
    expect(stored.text).toBe('a "quoted" text');
    expect(stored.json).not.toContain("quoted");
    expect(storeSpec(wakeSpec({ text: "lone \ud800" }))).toMatchObject({ text: null });
  });

  it("have an empty text when theirs was removed from the JSON", () => {
    for (const spec of [agentSpec({ message: "lone \ud800" }), wakeSpec({ text: "lone \ud800" })]) {
      expect(textOf(restoreSpec(storeSpec(spec)))).toBe("lone \ud800");
      const { text, message, ...rest } = JSON.parse(storeSpec(spec).json) as Record<string, unknown>;
      expect([text, message]).toContain("lone \ud800");
      expect(textOf(restoreSpec({ text: null, json: JSON.stringify(rest) }))).toBe("");
    }
  });
});
