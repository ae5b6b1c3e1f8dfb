import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { AgentSpec } from "../../../../src/core/run.ts";
import { agentSpec } from "../dispatch-bench.ts";
import { RunnerBench, SECRET } from "../runner-bench.ts";

describe("what the last commit of a run has", () => {
  let bench: RunnerBench;

  beforeAll(async () => {
    bench = await RunnerBench.open();
    bench.callbacks = { hosts: ["ci.example.com"], secret: Buffer.alloc(32, 1).toString("base64") };
  });
  afterEach(() => {
    vi.restoreAllMocks();
    return bench.reset();
  });
  afterAll(() => bench.close());

  /** Steps that are written when the run is settled, and not before. */
  async function lastCommit(spec: Partial<AgentSpec>): Promise<readonly string[]> {
    const { store } = bench;
    const writes: string[] = [];
    const open = new Set<string>();
    const [recordStep, settle] = [store.recordStep.bind(store), store.settle.bind(store)];
    vi.spyOn(store, "recordStep").mockImplementation(async (id, step, done) => {
      open.add(step);
      await recordStep(id, step, done);
      open.delete(step);
    });
    vi.spyOn(store, "settle").mockImplementation((id, settled) => {
      writes.push(...open);
      return settle(id, settled);
    });
    const runId = await bench.run(spec);
    expect((await store.loadRun(runId)).steps).toContain("summarized");
    return writes;
  }

  it("is its reply and its heartbeat, after a summary that was recorded before the reply was sent", async () => {
    expect(await lastCommit({})).toEqual(["delivered", "heartbeat"]);
  });

  it("is its summary too, where nothing comes between", async () => {
    const spec = { delivery: undefined, wakeMode: "next-heartbeat" } as const;
    expect(await lastCommit(spec)).toEqual(["summarized", "delivered"]);
  });

  it("is not the summary of a run that failed: its agent would be asked again", async () => {
    bench.answers({ status: "error", reply: "", error: "the model refused" });
    expect(await lastCommit({ delivery: undefined })).toEqual(["delivered", "heartbeat"]);
  });

  it("is nothing that comes before a callback", async () => {
    bench.fetch = async () => ({ status: 204, headers: {}, body: Buffer.alloc(0) });
    expect(await lastCommit({ delivery: undefined, callbackUrl: "https://ci.example.com/" })).toEqual(["heartbeat"]);
  });

  it("never comes for a run whose reply is held: its summary is recorded", async () => {
    bench.answers({ status: "ok", reply: SECRET });
    expect(await lastCommit({ delivery: undefined })).toEqual([]);
  });

  it("never comes for one that is canceled while it is summed up: its summary is recorded", async () => {
    const stop = new AbortController();
    const { sessions } = bench.host;
    const enqueue = sessions.enqueueSystemEvent.bind(sessions);
    vi.spyOn(sessions, "enqueueSystemEvent").mockImplementation(async (event) => {
      stop.abort();
      await enqueue(event);
    });
    const runId = await bench.accept(agentSpec({ delivery: undefined }));
    await bench.carryOut(runId, stop.signal);
    expect((await bench.store.loadRun(runId)).steps).toEqual(["summarized"]);
  });
});
