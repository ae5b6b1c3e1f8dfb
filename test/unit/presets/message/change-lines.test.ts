import { describe, expect, it } from "vitest";
import { changeLines } from "../../../../src/presets/message/change-lines.ts";

describe("the lines about changes", () => {
  it("show the former and the present value of each attribute", () => {
    const previous = { cancel_at: null, quantity: 1, name: "", tags: ["a"], started_at: 1_795_176_000 };
    const now = { cancel_at: 1_797_768_000, quantity: 3, name: "x\ny", tags: [], unrelated: true };
    expect(changeLines(previous, now)).toEqual([
      "Changed cancel at: none, now 2026-12-20 12:00 UTC",
      "Changed quantity: 1, now 3",
      "Changed name: empty, now x y",
      'Changed tags: ["a"], now empty',
      "Changed started at: 2026-11-20 12:00 UTC, now none",
    ]);
  });

  it.each([undefined, null, "x", 3, ["a"]])("are none for %j", (previous) => {
    expect(changeLines(previous, {})).toEqual([]);
  });

  it("are ten at most, and count the rest", () => {
    const previous = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`key${at}`, at]));
    expect(changeLines(previous, previous)).toHaveLength(11);
    expect(changeLines(previous, previous).at(-1)).toBe("... and 990 more");
  });

  it("read own properties only", () => {
    expect(changeLines({ constructor: "a" }, {})).toEqual(["Changed constructor: a, now none"]);
  });
});
