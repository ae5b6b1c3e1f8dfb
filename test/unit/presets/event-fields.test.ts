import { describe, expect, it } from "vitest";
import { batchEvent, batchId } from "../../../src/presets/event-fields.ts";

describe("the event of several", () => {
  it.each<[readonly string[], string | undefined]>([
    [[], undefined],
    [[""], undefined],
    [["a"], "a"],
    [["a", "a"], "a"],
    [["b", "", "a", "b"], "b+a"],
  ])("of %j is %j", (names, event) => {
    expect(batchEvent(names)).toBe(event);
  });

  it("names 20 at most", () => {
    expect(batchEvent(Array.from({ length: 30 }, (_, at) => `e${at}`))?.split("+")).toHaveLength(20);
  });
});

describe("the id of several", () => {
  it("is none when there is none, or one has none", () => {
    expect(batchId([])).toBeUndefined();
    expect(batchId([""])).toBeUndefined();
    expect(batchId(["a", ""])).toBeUndefined();
  });

  it("is the id of a single one, as long as no id is cut", () => {
    expect(batchId(["a"])).toBe("a");
    expect(batchId(["a".repeat(200)])).toBe("a".repeat(200));
    expect(batchId(["a".repeat(201)])).toMatch(/^sha256-[0-9a-f]{64}$/);
    expect(batchId(["a".repeat(201)])).not.toBe(batchId(["a".repeat(202)]));
  });

  it("cannot be made by other ids that read the same in a row", () => {
    expect(batchId(["ab", "c"])).not.toBe(batchId(["a", "bc"]));
    expect(batchId(["a", "b", "c"])).not.toBe(batchId(['a","b', "c"]));
    expect(batchId(["a", "b"])).toBe(batchId(["a", "b"]));
  });
});
