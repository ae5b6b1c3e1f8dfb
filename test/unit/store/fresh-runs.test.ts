import { describe, expect, it } from "vitest";
import { FreshRuns } from "../../../src/store/fresh-runs.ts";
import { agentSpec, wakeSpec } from "../../conformance/store/new-delivery.ts";

const run = (spec: Parameters<FreshRuns["add"]>[2][number]["spec"]) => ({ lane: "a", spec });

describe("FreshRuns", () => {
  it("gives a run once, as it was accepted", () => {
    const fresh = new FreshRuns();
    const spec = agentSpec({ delivery: { unresolved: "later" } });
    fresh.add("dlv", ["r0", "r1"], [run(spec), run(wakeSpec())]);
    expect(fresh.take("r0")).toEqual({
      runId: "r0",
      deliveryId: "dlv",
      lane: "a",
      state: "queued",
      spec,
      attempts: [],
      reply: null,
      steps: [],
      delivery: "pending",
    });
    expect(fresh.take("r0")).toBeUndefined();
    expect(fresh.take("r1")?.delivery).toBe("none");
  });

  it("forgets a run that changes", () => {
    const fresh = new FreshRuns();
    fresh.add("dlv", ["r0"], [run(wakeSpec())]);
    fresh.forget("r0");
    expect(fresh.take("r0")).toBeUndefined();
  });

  it("keeps the newest 256 runs and no long text", () => {
    const fresh = new FreshRuns();
    for (let index = 0; index < 300; index++) fresh.add("dlv", [`r${index}`], [run(wakeSpec())]);
    expect(fresh.take("r43")).toBeUndefined();
    expect(fresh.take("r44")).toBeDefined();
    expect(fresh.take("r299")).toBeDefined();
    const long = "x".repeat(16_385);
    fresh.add("dlv", ["long", "wake"], [run(agentSpec({ message: long })), run(wakeSpec({ text: long }))]);
    expect(fresh.take("long")).toBeUndefined();
    expect(fresh.take("wake")).toBeUndefined();
  });

  it("keeps the first runs of a delivery that has more than there is room for", () => {
    const fresh = new FreshRuns();
    const ids = Array.from({ length: 1000 }, (_, index) => `r${index}`);
    fresh.add(
      "dlv",
      ids,
      ids.map(() => run(wakeSpec())),
    );
    expect(fresh.take("r0")).toBeDefined();
    expect(fresh.take("r256")).toBeUndefined();
  });
});
