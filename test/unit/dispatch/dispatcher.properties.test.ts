import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DispatchBench, openRun, PATIENT } from "./dispatch-bench.ts";
import { again, ENDED, ScriptedRunner } from "./scripted-runner.ts";

/** How the tries of a run end, before the one that ends it. */
const tries = fc.array(fc.constantFrom("retry" as const, "delivery" as const), { maxLength: 3 });

const call = fc.record({
  lane: fc.constantFrom("a", "b", "c", ""),
  mappingId: fc.constantFrom("bounded", "urgent", "idle", null),
  tries,
  takesMs: fc.nat(3),
  isWithdrawn: fc.boolean(),
});

describe("the dispatcher, for any runs", () => {
  let bench: DispatchBench;

  beforeAll(async () => {
    bench = await DispatchBench.open();
    bench.rules.set("bounded", { concurrency: 2 }).set("urgent", { priority: "high" }).set("idle", { priority: "low" });
  });
  afterAll(() => bench.close());

  it("keeps the order of every lane and every bound, and loses nothing", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 25, size: "max" }), async (calls) => {
        const runner = new ScriptedRunner();
        const runs = calls.map(({ lane, mappingId }) => openRun({ lane, mappingId }));
        const laneOf = new Map(runs.map(({ runId, lane }) => [runId, lane]));
        const indexOf = new Map(runs.map(({ runId }, at) => [runId, at]));
        const bounded = new Set<string>();
        /** Runs whose agent is at it or will be again: nothing else of the lane may begin meanwhile. */
        const holders = new Map<string, string>();
        const faults: string[] = [];
        runner.onRun = async ({ runId, mappingId, replied }) => {
          const lane = laneOf.get(runId)!;
          const { tries, takesMs } = calls[indexOf.get(runId)!]!;
          const tried = runner.ids.filter((id) => id === runId).length;
          if (!replied && lane !== "") {
            const holder = holders.get(lane) ?? runId;
            if (holder !== runId) faults.push(`${runId} began while ${holder} held the lane`);
            holders.set(lane, runId);
          }
          if (mappingId === "bounded" && !replied) bounded.add(runId);
          if (bounded.size > 2) faults.push("the bound of a mapping was exceeded");
          await new Promise((resolve) => setTimeout(resolve, takesMs));
          bounded.delete(runId);
          const next = tries[tried - 1];
          const hasReplied = replied || next === "delivery";
          if (next === undefined || hasReplied) holders.delete(lane);
          if (next === undefined) return ENDED;
          return again(bench.now() + takesMs, { holdsLane: !hasReplied, replied: hasReplied });
        };
        await bench.startWith({ agents: () => runner });
        bench.dispatcher.enqueue(runs);
        const withdrawn = runs.filter(({ runId }, at) => calls[at]!.isWithdrawn && !runner.ids.includes(runId));
        const early = new Set(withdrawn.map(({ runId }) => runId));
        bench.dispatcher.withdraw({ runIds: [...early], state: "canceled", reason: "by the operator" });
        await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(0);
        expect(faults).toEqual([]);
        expect(runner.most).toBeLessThanOrEqual(bench.concurrency);
        const expected = runs.filter(({ runId }) => !early.has(runId));
        expect(new Set(runner.ids)).toEqual(new Set(expected.map(({ runId }) => runId)));
        for (const name of ["a", "b", "c"]) {
          const firsts = [
            ...new Set(runner.begun.filter(({ runId }) => laneOf.get(runId) === name).map(({ runId }) => runId)),
          ];
          expect(firsts).toEqual(expected.filter(({ lane }) => lane === name).map(({ runId }) => runId));
        }
      }),
      { numRuns: 40 },
    );
  });
});
