import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { fullJitter } from "../../../../src/dispatch/run/full-jitter.ts";

const POLICY = { attempts: 9, firstDelayMs: 30_000, maxDelayMs: 900_000 };

describe("the delay before something is tried again", () => {
  it("is drawn from all of a bound that doubles with each failure, up to the policy's", () => {
    const random = vi.spyOn(Math, "random").mockReturnValue(1);
    const failures = [1, 2, 3, 4, 5, 6, 7, 2_000];
    expect(failures.map((count) => fullJitter(POLICY, count))).toEqual([
      30_000, 60_000, 120_000, 240_000, 480_000, 900_000, 900_000, 900_000,
    ]);
    random.mockReturnValue(0.5);
    expect(fullJitter(POLICY, 1)).toBe(15_000);
    random.mockReturnValue(0);
    expect(failures.map((count) => fullJitter(POLICY, count))).toEqual(failures.map(() => 0));
  });

  it("is a whole number of milliseconds within the bounds, whatever the policy", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3_600_000 }),
        fc.integer({ min: 1, max: 86_400_000 }),
        fc.integer({ min: 1, max: 10_000 }),
        (firstDelayMs, maxDelayMs, failures) => {
          const delayMs = fullJitter({ firstDelayMs, maxDelayMs }, failures);
          expect(Number.isInteger(delayMs)).toBe(true);
          expect(delayMs).toBeGreaterThanOrEqual(0);
          expect(delayMs).toBeLessThanOrEqual(maxDelayMs);
        },
      ),
    );
  });
});
