import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { AgentRunResult } from "../../../../src/core/host.ts";
import { StoreError } from "../../../../src/storage/delivery-store.ts";
import type { DeliveryStore } from "../../../../src/storage/delivery-store.ts";
import { RunnerBench } from "../runner-bench.ts";

type Write = keyof Pick<DeliveryStore, "beginAttempt" | "endAttempt" | "postpone">;

const OVERLOADED: AgentRunResult = { status: "error", reply: "", error: "the model is overloaded", retryable: true };

describe("a run two of whose writes the disk does not take at first", () => {
  let bench: RunnerBench;

  beforeAll(async () => {
    bench = await RunnerBench.open();
  });
  afterEach(() => {
    vi.restoreAllMocks();
    return bench.reset();
  });
  afterAll(() => bench.close());

  const full = new StoreError("UNAVAILABLE", "the disk is full");

  /** Refuses each of two writes once; gives the calls of both. */
  function refuseOnce(first: Write, second: Write): readonly string[] {
    const calls: string[] = [];
    for (const name of [first, second]) {
      const write = bench.store[name].bind(bench.store) as (...args: unknown[]) => Promise<void>;
      vi.spyOn(bench.store, name).mockImplementation((...args: unknown[]) => {
        const isFirst = !calls.includes(name);
        calls.push(name);
        return isFirst ? Promise.reject(full) : write(...args);
      });
    }
    return calls;
  }

  it("has the end of its attempt and what follows from it written together", async () => {
    const results: AgentRunResult[] = [OVERLOADED, { status: "ok", reply: "At last." }];
    bench.host.onRun = async () => results.shift()!;
    const runId = await bench.accept();
    const calls = refuseOnce("endAttempt", "postpone");
    // The first one is for the delay until the next attempt.
    vi.spyOn(Math, "random").mockReturnValueOnce(0).mockReturnValueOnce(1).mockReturnValueOnce(0);
    expect(await bench.carryOut(runId)).toMatchObject({ kind: "postponed" });
    expect(calls).toEqual(["endAttempt", "postpone", "endAttempt", "postpone"]);
    await bench.finish(runId);
    expect(await bench.detail(runId)).toMatchObject({
      state: "done",
      attempts: [{ status: "error" }, { status: "ok" }],
    });
  });

  it("by mode deliver is passed on in one attempt all the same", async () => {
    const calls = refuseOnce("beginAttempt", "endAttempt");
    vi.spyOn(Math, "random").mockReturnValueOnce(1).mockReturnValueOnce(0);
    const runId = await bench.run({ mode: "deliver", message: "The build is red." });
    expect(calls).toEqual(["beginAttempt", "endAttempt", "beginAttempt", "endAttempt"]);
    expect(bench.host.sent).toHaveLength(1);
    expect(await bench.detail(runId)).toMatchObject({ state: "done", attempts: [{ number: 1, status: "ok" }] });
  });
});
