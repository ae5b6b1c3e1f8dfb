import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { StoreError } from "../../../src/storage/delivery-store.ts";
import { agentSpec, DispatchBench, failing, openRun, wakeSpec, PATIENT } from "./dispatch-bench.ts";
import { again, ScriptedRunner } from "./scripted-runner.ts";

const CANCELED = { state: "canceled", reason: "canceled by the operator" } as const;

describe("runs that somebody else has settled", () => {
  let runner: ScriptedRunner;
  let bench: DispatchBench;

  beforeEach(async () => {
    runner = new ScriptedRunner();
    bench = await DispatchBench.open({ agents: () => runner });
  });
  afterEach(async () => {
    runner.finish();
    await bench.close();
  });

  it("are forgotten while they wait, and their lane continues", async () => {
    bench.dispatcher.start();
    const runs = [1, 2, 3].map(() => openRun({ lane: "x" }));
    bench.dispatcher.enqueue(runs);
    bench.dispatcher.withdraw({ runIds: [runs[1]!.runId], ...CANCELED });
    expect(bench.dispatcher.open).toBe(2);
    expect(bench.settled).toEqual([{ runId: runs[1]!.runId, kind: "agent", ...CANCELED }]);
    runner.end(runs[0]!.runId);
    await expect.poll(() => runner.ids, PATIENT).toEqual([runs[0]!.runId, runs[2]!.runId]);
  });

  it("are aborted while they are in progress, and observers are notified once", async () => {
    bench.dispatcher.start();
    const [first, second] = [openRun({ lane: "x" }), openRun({ lane: "x" })];
    bench.dispatcher.enqueue([first, second]);
    bench.dispatcher.withdraw({ runIds: [first.runId], ...CANCELED });
    bench.dispatcher.withdraw({ runIds: [first.runId], ...CANCELED });
    expect(runner.stopped).toEqual([first.runId]);
    await expect.poll(() => runner.ids, PATIENT).toEqual([first.runId, second.runId]);
    expect(bench.settled).toHaveLength(1);
    expect(bench.dispatcher.open).toBe(1);
  });

  it("are not tried again, whatever their runner says", async () => {
    runner.onRun = async (_run, stop) => {
      await new Promise((resolve) => stop.addEventListener("abort", resolve));
      return again(bench.now(), { holdsLane: true, replied: false });
    };
    bench.dispatcher.start();
    const run = openRun();
    bench.dispatcher.enqueue([run]);
    bench.dispatcher.withdraw({ runIds: [run.runId], ...CANCELED });
    await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(0);
    expect(runner.begun).toHaveLength(1);
  });

  it("that are not in memory were held, and are reported", () => {
    bench.dispatcher.withdraw({ runIds: ["on hold"], ...CANCELED });
    expect(bench.settled).toEqual([{ runId: "on hold", kind: "agent", ...CANCELED }]);
  });

  it("wake no caller, in the queue or put aside", async () => {
    await bench.dispatcher.pause("mail", "a person wants to look");
    const queued = await bench.enqueueAs({}, wakeSpec({ text: "queued" }));
    const aside = await bench.enqueueAs(
      { mappingId: "mail" },
      wakeSpec({ text: "aside" }),
      wakeSpec({ text: "stays" }),
    );
    bench.dispatcher.withdraw({ runIds: queued, ...CANCELED });
    bench.dispatcher.start();
    await new Promise((resolve) => setTimeout(resolve, 30));
    bench.dispatcher.withdraw({ runIds: aside.slice(0, 1), ...CANCELED });
    await bench.dispatcher.resume("mail");
    await bench.settledRuns(3);
    expect(bench.host.events.map(({ idempotencyKey }) => idempotencyKey)).toEqual([aside[1]]);
    expect(bench.settled.map(({ kind, state }) => `${kind} ${state}`)).toEqual([
      "wake canceled",
      "wake canceled",
      "wake done",
    ]);
  });

  it("wake no caller when the store knows it first, and log nothing", async () => {
    const settled = { state: "canceled", reason: "canceled" } as const;
    const [gone, there] = await bench.acceptAs({}, wakeSpec(), wakeSpec());
    await bench.store.settle(gone!.runId, settled);
    bench.dispatcher.start();
    bench.dispatcher.enqueue([openRun({ runId: "run_nobody_knows", kind: "wake" }), gone!, there!]);
    await bench.settledRuns(1);
    await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(0);
    expect(bench.settled.map(({ runId }) => runId)).toEqual([there!.runId]);
    expect(bench.host.events).toHaveLength(1);
    expect(bench.logged).toEqual([]);
  });

  it("are not reported as done when they were canceled in the middle of it", async () => {
    const reached = new Promise<void>((resolve) => {
      bench.host.onEvent = async () => {
        resolve();
        await new Promise((later) => setTimeout(later, 30));
      };
    });
    bench.dispatcher.start();
    const runIds = await bench.enqueueAs({}, wakeSpec());
    await reached;
    bench.dispatcher.withdraw({ runIds, ...CANCELED });
    await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(0);
    expect(bench.settled.map(({ state }) => state)).toEqual(["canceled"]);
  });

  it("wakes that cannot be loaded stay on disk, and the log says so", async () => {
    const error = new StoreError("INVALID", "a defect");
    await bench.startWith({ agents: () => runner, store: failing(bench.store, "loadRun", { count: 1, error }) });
    const [runId] = await bench.enqueueAs({}, wakeSpec());
    await expect.poll(() => bench.logged, PATIENT).toEqual(["a batch of wakes could not be carried out"]);
    expect((await bench.detail(runId!)).state).toBe("queued");
  });

  it("wakes are loaded again while the store cannot read", async () => {
    const error = new StoreError("UNAVAILABLE", "the file is locked");
    await bench.startWith({ agents: () => runner, store: failing(bench.store, "loadRun", { count: 1, error }) });
    await bench.enqueueAs({}, wakeSpec());
    await bench.settledRuns(1);
    expect(bench.settled[0]!.state).toBe("done");
  });

  it("held runs are left to a person after a restart", async () => {
    const [runId] = await bench.accept(agentSpec());
    await bench.store.hold(runId!, "a person decides");
    await bench.restart({ agents: () => runner });
    await bench.dispatcher.recover();
    bench.dispatcher.start();
    expect(bench.dispatcher.open).toBe(0);
    expect(runner.ids).toEqual([]);
  });
});
