import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readTimestamp, refuseTimestamp, writeTimestamp } from "../../../../src/auth/signatures/signed-time.ts";
import type { TimestampRule } from "../../../../src/config/auth/schema.ts";

const UNITS = ["seconds", "milliseconds", "iso8601"] as const;

describe("readTime", () => {
  it.each([
    ["1700000000", "seconds", 1_700_000_000_000],
    ["0", "seconds", 0],
    ["01", "seconds", 1_000],
    ["9999999999999999", "seconds", 1e19],
    ["1700000000123", "milliseconds", 1_700_000_000_123],
    ["2023-11-14T22:13:20Z", "iso8601", 1_700_000_000_000],
    ["2023-11-14T22:13:20.123Z", "iso8601", 1_700_000_000_123],
    ["2023-11-14T22:13:20.123456789Z", "iso8601", 1_700_000_000_123],
    ["2023-11-15T00:13:20+02:00", "iso8601", 1_700_000_000_000],
    ["2023-11-14T17:13:20-05:00", "iso8601", 1_700_000_000_000],
    ["2024-02-29T00:00:00Z", "iso8601", Date.UTC(2024, 1, 29)],
    ["2024-02-29T23:59:59Z", "iso8601", Date.UTC(2024, 1, 29, 23, 59, 59)],
  ] as const)("reads %j in %s", (text, unit, time) => {
    expect(readTimestamp(text, unit)).toBe(time);
  });

  const malformed = [
    "",
    " 1",
    "1 ",
    "+1",
    "-1",
    "1.5",
    "1e3",
    "0x1",
    "1,1",
    "1, 1",
    "17000000000000000",
    "١",
    "1\n",
    "now",
    "NaN",
    "2023-11-14T22:13:20Z",
  ];

  it.each(malformed)("reads no seconds and no milliseconds from %j", (text) => {
    expect(readTimestamp(text, "seconds")).toBeUndefined();
    expect(readTimestamp(text, "milliseconds")).toBeUndefined();
  });

  it.each([
    "",
    "1700000000",
    "2023-11-14",
    "2023-11-14T22:13:20",
    "2023-11-14 22:13:20Z",
    "2023-11-14t22:13:20z",
    "2023-11-14T22:13Z",
    "2023-11-14T24:00:00Z",
    "2023-11-14T22:60:00Z",
    "2023-11-14T22:13:60Z",
    "2023-11-14T22:13:20.Z",
    "2023-11-14T22:13:20.1234567890Z",
    "2023-11-14T22:13:20+0200",
    "2023-11-14T22:13:20+24:00",
    "2023-11-14T22:13:20+02:60",
    "2023-02-29T00:00:00Z",
    "2023-02-31T00:00:00Z",
    "2023-13-01T00:00:00Z",
    "2023-00-01T00:00:00Z",
    "2023-01-00T00:00:00Z",
    "2023-01-32T00:00:00Z",
    "x2023-11-14T22:13:20Z",
    "2023-11-14T22:13:20Zx",
    "+002023-11-14T22:13:20Z",
    "Tue, 14 Nov 2023 22:13:20 GMT",
  ])("reads no ISO 8601 from %j", (text) => {
    expect(readTimestamp(text, "iso8601")).toBeUndefined();
  });

  it("reads what writeTime wrote", () => {
    fc.assert(
      fc.property(fc.nat({ max: 253_402_300_799_999 }), fc.constantFrom(...UNITS), (time, unit) => {
        const expected = unit === "seconds" ? Math.floor(time / 1_000) * 1_000 : time;
        expect(readTimestamp(writeTimestamp(time, unit), unit)).toBe(expected);
      }),
    );
  });
});

describe("refuseTime", () => {
  const rule = (unit: TimestampRule["unit"]): TimestampRule => ({
    from: "header:t",
    unit,
    toleranceSeconds: 300,
    futureSeconds: 60,
  });
  const time = 1_700_000_000_000;

  it.each([
    [0, undefined],
    [300_000, undefined],
    [300_999, undefined],
    [301_000, "timestamp is 301 seconds old"],
    [412_000, "timestamp is 412 seconds old"],
    [-60_000, undefined],
    [-60_001, "timestamp is 61 seconds in the future"],
    [-61_000, "timestamp is 61 seconds in the future"],
  ])("of whole seconds %i ms ago is %s", (age, reason) => {
    expect(refuseTimestamp(time, time + age, rule("seconds"))).toBe(reason);
  });

  it.each([
    [300_000, undefined],
    [300_001, "timestamp is 301 seconds old"],
    [-60_000, undefined],
    [-60_001, "timestamp is 61 seconds in the future"],
  ])("of milliseconds and ISO 8601 %i ms ago is %s", (age, reason) => {
    expect(refuseTimestamp(time, time + age, rule("milliseconds"))).toBe(reason);
    expect(refuseTimestamp(time, time + age, rule("iso8601"))).toBe(reason);
  });
});
