import { describe, expect, it } from "vitest";
import { read, refusalsOf } from "./hooks-context.ts";

const DAY_MS = 86_400_000;
const retention = (written: object): unknown => read({ retention: written }).config.retention;
const refuse = (written: object): string[] => refusalsOf({ retention: written });

describe("hooks.retention", () => {
  it("keeps requests as long as their deliveries by default", () => {
    expect(retention({})).toEqual({ deliveriesMs: 30 * DAY_MS, payloadsMs: 30 * DAY_MS, maxBytes: undefined });
    expect(retention({ deliveries: "7d" })).toMatchObject({ deliveriesMs: 7 * DAY_MS, payloadsMs: 7 * DAY_MS });
    expect(retention({ deliveries: "90d" })).toMatchObject({ deliveriesMs: 90 * DAY_MS, payloadsMs: 30 * DAY_MS });
  });

  it("takes durations and a size", () => {
    expect(retention({ deliveries: 3_600, payloads: "10m", maxBytes: "2gb" })).toEqual({
      deliveriesMs: 3_600_000,
      payloadsMs: 600_000,
      maxBytes: 2_147_483_648,
    });
  });

  it.each([
    [{ deliveries: "1d", payloads: "2d" }, "payloads: must not be more than deliveries"],
    [{ payloads: "31d" }, "payloads: must not be more than deliveries"],
    [{ deliveries: "600w" }, "deliveries: must be between 1 and 315360000 seconds"],
    [{ deliveries: 0 }, "deliveries: 0 is less than 1"],
    [{ maxBytes: "1000kb" }, "maxBytes: must be between 1048576 and 1099511627776 bytes"],
    [{ maxBytes: 5 }, "maxBytes: 5 is less than 1048576"],
    [{ days: 5 }, "days: unknown key; known are deliveries, payloads, maxBytes"],
  ])("refuses %j", (written, line) => {
    expect(refuse(written)).toEqual([`hooks.retention.${line}`]);
  });
});
