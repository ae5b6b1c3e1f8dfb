import { describe, expect, it } from "vitest";
import { timeText } from "../../../../src/presets/message/value-text.ts";

describe("timeText", () => {
  it.each([
    [1_795_176_000, "2026-11-20 12:00 UTC"],
    [1_795_176_000_123, "2026-11-20 12:00 UTC"],
    ["2026-11-20T12:00:00Z", "2026-11-20 12:00 UTC"],
    ["2026-11-20T14:00:00.000+02:00", "2026-11-20 12:00 UTC"],
    ["2026-11-20T12:00:00.1234567Z", "2026-11-20 12:00 UTC"],
    ["2026-11-20T14:00:00+0200", "2026-11-20 12:00 UTC"],
    ["2026-11-20 12:00:00 UTC", "2026-11-20 12:00 UTC"],
    // Without a zone it may be that of any place, and not that of this machine.
    ["2026-11-20T12:00:00", "2026-11-20T12:00:00"],
    ["2026-11-20 12:00:00.000", "2026-11-20 12:00:00.000"],
    ["2026-11-20", "2026-11-20"],
    ["2026-11-20T99:99", "2026-11-20T99:99"],
    ["next  week\n", "next week"],
  ])("writes %j as %s", (value, text) => {
    expect(timeText(value)).toBe(text);
  });

  it.each([[undefined], [null], [0], [-1], [Number.NaN], [1e300], [{}], [true], [" "]])(
    "says nothing of %j",
    (value) => {
      expect(timeText(value)).toBe("");
    },
  );
});
