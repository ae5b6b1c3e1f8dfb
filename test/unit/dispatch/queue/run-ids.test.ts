import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RunIds } from "../../../../src/dispatch/queue/run-ids.ts";

describe("the ids of runs that wait", () => {
  it("are found by place and by id, whatever was added and removed before", () => {
    const step = fc.record({ place: fc.integer({ min: 1, max: 3_000 }), isRemoved: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 2_000, size: "max" }), (steps) => {
        const ids = new RunIds();
        const expected = new Map<number, string>();
        for (const [at, { place, isRemoved }] of steps.entries()) {
          if (isRemoved || expected.has(place)) {
            ids.delete(place);
            expected.delete(place);
          } else {
            const runId = `run_${"0123456789abcdef".repeat(2)}_${at}`;
            ids.set(place, runId);
            expected.set(place, runId);
          }
        }
        expect(ids.size).toBe(expected.size);
        for (const { place } of steps) {
          const runId = expected.get(place);
          expect(ids.at(place)).toBe(runId);
          if (runId !== undefined) expect(ids.find(runId)).toBe(place);
        }
        expect(ids.find("run_of_none")).toBeUndefined();
      }),
      { numRuns: 30 },
    );
  });

  it("have room up to 47 bytes, one for each character", () => {
    const ids = new RunIds();
    for (const [at, runId] of ["r", "r".repeat(47), "rün"].entries()) {
      expect(RunIds.fits(runId)).toBe(true);
      ids.set(at + 1, runId);
      expect(ids.at(at + 1)).toBe(runId);
    }
    for (const runId of ["", "r".repeat(48), "r→n"]) expect(RunIds.fits(runId)).toBe(false);
  });
});
