import { describe, expect, it } from "vitest";
import { readPointInTime } from "../../../src/api/selection.ts";

const NOW = Date.parse("2026-03-01T12:00:00Z");

describe("a point in time", () => {
  it.each([
    ["a day, in UTC", "2026-02-27", "2026-02-27T00:00:00.000Z"],
    ["a time of day with an offset", "2026-02-27 10:00+02:00", "2026-02-27T08:00:00.000Z"],
    ["seconds since 1970", "1772186400", "2026-02-27T10:00:00.000Z"],
    ["milliseconds since 1970", "1772186400000", "2026-02-27T10:00:00.000Z"],
    ["how long ago", "2h", "2026-03-01T10:00:00.000Z"],
  ])("is %s", (_, text, time) => {
    expect(new Date(readPointInTime("since", text, NOW)).toISOString()).toBe(time);
  });

  it.each(["yesterday", "2026-02-27T10:00:00", "177218640", ""])("is not %j", (text) => {
    expect(() => readPointInTime("since", text, NOW)).toThrow("since must be a time such as 2026-02-27");
  });
});
