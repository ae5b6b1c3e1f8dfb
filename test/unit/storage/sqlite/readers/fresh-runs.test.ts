import { describe, expect, it } from "vitest";
import type { RunSpec } from "../../../../../src/core/run.ts";
import { FreshRuns } from "../../../../../src/storage/sqlite/readers/fresh-runs.ts";
import { deliveryId, runId } from "../../../../../src/storage/sqlite/public-id.ts";
import { agentSpec, wakeSpec } from "../../../../conformance/store/new-delivery.ts";

const TAG = "0123456789abcdef";
const runs = (...specs: RunSpec[]) => specs.map((spec) => ({ lane: "a", spec }));
const key = (seq: number, index = 0, tag = TAG) => ({ seq, tag, run: seq * 4096 + index });

describe("FreshRuns", () => {
  it("gives a run once, as it was accepted", () => {
    const fresh = new FreshRuns();
    const spec = agentSpec({ delivery: { unresolved: "later" } });
    fresh.add(7, TAG, runs(spec, wakeSpec()));
    expect(fresh.take(key(7))).toEqual({
      runId: runId(7 * 4096, TAG),
      deliveryId: deliveryId(7, TAG),
      lane: "a",
      state: "queued",
      spec,
      attempts: [],
      reply: null,
      steps: [],
      replyOutcome: "pending",
    });
    expect(fresh.take(key(7))).toBeUndefined();
    expect(fresh.take(key(7, 1))?.replyOutcome).toBe("none");
  });

  it("gives nothing to who does not know the tag", () => {
    const fresh = new FreshRuns();
    fresh.add(7, TAG, runs(wakeSpec()));
    expect(fresh.take(key(7, 0, "0000000000000000"))).toBeUndefined();
    expect(fresh.take(key(7))).toBeDefined();
  });

  it("forgets a run that changes", () => {
    const fresh = new FreshRuns();
    fresh.add(7, TAG, runs(wakeSpec()));
    fresh.forget(key(7));
    expect(fresh.take(key(7))).toBeUndefined();
  });

  it("keeps the newest 256 runs and no long text", () => {
    const fresh = new FreshRuns();
    for (let seq = 1; seq <= 300; seq++) fresh.add(seq, TAG, runs(wakeSpec()));
    expect(fresh.take(key(44))).toBeUndefined();
    expect(fresh.take(key(45))).toBeDefined();
    expect(fresh.take(key(300))).toBeDefined();
    const long = "x".repeat(16_385);
    fresh.add(301, TAG, runs(agentSpec({ message: long }), wakeSpec({ text: long })));
    expect(fresh.take(key(301))).toBeUndefined();
    expect(fresh.take(key(301, 1))).toBeUndefined();
  });

  it("keeps the first runs of a delivery that has more than there is room for", () => {
    const fresh = new FreshRuns();
    fresh.add(1, TAG, runs(...Array.from({ length: 1000 }, () => wakeSpec())));
    expect(fresh.take(key(1, 0))).toBeDefined();
    expect(fresh.take(key(1, 255))).toBeDefined();
    expect(fresh.take(key(1, 256))).toBeUndefined();
  });
});
