import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { DispatchBench, wakeSpec } from "../dispatch-bench.ts";

const CANCELED = { state: "canceled", reason: "canceled by the operator" } as const;

describe("wakes that their session has until a turn takes them", () => {
  let bench: DispatchBench;

  beforeEach(async () => {
    bench = await DispatchBench.open();
    bench.host.onEvent = async () => "waiting";
    bench.dispatcher.start();
  });
  afterEach(() => bench.close());

  const stateOf = async (runId: string | undefined): Promise<string> => (await bench.detail(runId!)).state;

  async function handOver(count: number): Promise<readonly string[]> {
    const runIds = await bench.acceptAndEnqueue(...Array.from({ length: count }, () => wakeSpec()));
    await vi.waitFor(() => expect(bench.host.heartbeats.length).toBeGreaterThan(0), 15_000);
    return runIds;
  }

  it("wait as queued, and are done when a turn has taken them", async () => {
    const [first, second] = await handOver(2);
    expect([await stateOf(first), await stateOf(second)]).toEqual(["queued", "queued"]);
    // They take no place of those that wait here.
    expect(bench.dispatcher.open).toBe(0);
    bench.host.taken([first!]);
    await bench.settledRuns(1);
    expect([await stateOf(first), await stateOf(second)]).toEqual(["done", "queued"]);
    bench.host.taken([second!, "an event of something else"]);
    await bench.settledRuns(2);
    await vi.waitFor(() => expect(bench.dispatcher.open).toBe(0), 15_000);
  });

  it("are taken back from their session when they are canceled", async () => {
    const [runId] = await handOver(1);
    await bench.store.settle(runId!, CANCELED);
    bench.dispatcher.withdraw({ runIds: [runId!], ...CANCELED });
    expect(bench.host.withdrawn).toEqual([runId]);
    expect(bench.dispatcher.open).toBe(0);
    bench.host.taken([runId!]);
    expect(await stateOf(runId)).toBe("canceled");
  });

  it("are handed over again by the next process, which asks for the turn again", async () => {
    const [runId] = await handOver(1);
    expect(await stateOf(runId)).toBe("queued");
    const open = [];
    for await (const run of bench.store.openRuns()) open.push(run.runId);
    expect(open).toEqual([runId]);
  });
});
