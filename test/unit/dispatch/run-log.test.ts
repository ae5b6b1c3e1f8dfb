import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { agentSpec, DispatchBench, PATIENT, wakeSpec } from "./dispatch-bench.ts";

describe("the line of a run", () => {
  let bench: DispatchBench;
  beforeEach(async () => {
    bench = await DispatchBench.open();
  });
  afterEach(() => bench.close());

  const lines = () => bench.lines.filter(({ message }) => message === "run");
  const any = { id: expect.any(String) as string, count: expect.any(Number) as number };

  it("says how an agent run ended, of which mapping and delivery, at which attempt and how long that took", async () => {
    bench.dispatcher.start();
    const [runId] = await bench.enqueueAs({ mappingId: "social" }, agentSpec());
    await bench.settledRuns(1);
    expect(lines()).toEqual([
      {
        level: "info",
        fields: { runId, deliveryId: any.id, mapping: "social", attempt: 1, state: "done", ms: any.count },
        message: "run",
      },
    ]);
  });

  it("warns of a run that failed, with the attempt that was the last one and the reason", async () => {
    bench.host.onRun = async () => ({ status: "error", error: "the model is down", retryable: true, reply: "" });
    bench.dispatcher.start();
    const [runId] = await bench.acceptAndEnqueue(agentSpec());
    await bench.settledRuns(1);
    expect(lines()).toMatchObject([{ level: "warn", fields: { runId, attempt: 3, state: "failed", ms: any.count } }]);
    expect(lines()[0]?.fields).toMatchObject({ reason: expect.stringContaining("the model is down") as string });
  });

  it("is there for each wake of a batch", async () => {
    const runIds = [...(await bench.accept(wakeSpec())), ...(await bench.accept(wakeSpec()))];
    await bench.dispatcher.recover();
    bench.dispatcher.start();
    await bench.settledRuns(2);
    const fields = { deliveryId: any.id, attempt: 1, state: "done", ms: any.count };
    expect(lines().map((line) => line.fields)).toEqual(runIds.map((runId) => ({ runId, ...fields })));
  });

  it("is there for a run that was canceled, and for one that waited too long", async () => {
    const [canceled] = await bench.enqueueAs({ mappingId: "social" }, agentSpec());
    bench.dispatcher.withdraw({ runIds: [canceled!], state: "canceled", reason: "canceled by the operator" });
    const [late] = await bench.enqueueAs({ mappingId: "social", expiresAt: bench.now() - 1 }, agentSpec());
    bench.dispatcher.start();
    await bench.settledRuns(2);
    expect(lines()).toMatchObject([
      { level: "info", fields: { runId: canceled, mapping: "social", state: "canceled" } },
      { level: "info", fields: { runId: late, mapping: "social", state: "skipped" } },
    ]);
  });
});

describe("the line after a restart", () => {
  let bench: DispatchBench;
  beforeEach(async () => {
    bench = await DispatchBench.open({ concurrency: () => 3 });
  });
  afterEach(() => bench.close());

  const recovered = () => bench.lines.filter(({ message }) => message === "interrupted runs recovered");

  it("says how many interrupted runs run again, and how many are held", async () => {
    bench.host.onRun = () => new Promise(() => {});
    bench.dispatcher.start();
    const specs = (["rerun", "rerun", "hold"] as const).map((interrupted, at) =>
      agentSpec({ interrupted, sessionKey: `agent:main:hook:${at}` }),
    );
    await bench.acceptAndEnqueue(...specs);
    await expect.poll(() => bench.host.runs, PATIENT).toHaveLength(3);
    await bench.restart();
    await bench.dispatcher.recover();
    expect(recovered()).toEqual([
      { level: "info", fields: { rerun: 2, held: 1 }, message: "interrupted runs recovered" },
    ]);
  });

  it("is absent when nothing was interrupted", async () => {
    await bench.accept(agentSpec(), wakeSpec());
    await bench.restart();
    await bench.dispatcher.recover();
    expect(recovered()).toEqual([]);
  });
});
