import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { RunSpec } from "../../../src/core/run.ts";
import type { StoredRun } from "../../../src/storage/delivery-store.ts";
import { StoreError } from "../../../src/storage/delivery-store.ts";
import { agentSpec, DispatchBench, failing, wakeSpec, PATIENT } from "./dispatch-bench.ts";
import { ENDED, ScriptedRunner } from "./scripted-runner.ts";

const HOUR_MS = 3_600_000;
const KEY = new Uint8Array(32).fill(7);

describe("a run that coalesces calls", () => {
  let runner: ScriptedRunner;
  let bench: DispatchBench;
  /** What the store gave each run that was begun. */
  let loaded: StoredRun[];

  beforeEach(async () => {
    runner = new ScriptedRunner();
    loaded = [];
    runner.onRun = async ({ runId }) => {
      loaded.push(await bench.store.loadRun(runId));
      return ENDED;
    };
    bench = await DispatchBench.open({ agents: () => runner });
  });
  afterEach(async () => {
    runner.finish();
    await bench.close();
  });

  /** A call as the accept stage takes it to the store and to the dispatcher. */
  async function call(spec: RunSpec, windowMs = 400, maxWaitMs = 60_000): Promise<string> {
    const outcome = await bench.store.accept({
      receivedAt: bench.now(),
      route: "agent",
      mappingId: "mail",
      name: "Test",
      headers: {},
      query: {},
      body: new Uint8Array(),
      runs: [{ lane: spec.sessionKey, spec }],
      coalesce: { key: KEY, windowMs, maxWaitMs },
    });
    if (outcome.kind === "coalesced") {
      bench.dispatcher.postpone(outcome.runId, outcome.dueAt);
      return outcome.runId;
    }
    if (outcome.kind !== "accepted") throw new Error(outcome.kind);
    const runId = outcome.runIds[0]!;
    const { kind, sessionKey: lane } = spec;
    const state = { state: "queued", expiresAt: null, begun: false, replied: false } as const;
    bench.dispatcher.enqueue([{ runId, mappingId: "mail", lane, kind, dueAt: outcome.dueAt ?? null, ...state }]);
    return runId;
  }

  /** One that joins a long window and leaves a short one: however long the calls took, none came too late. */
  async function lastCall(spec: RunSpec): Promise<string> {
    bench.rules.set("mail", { coalesceMs: 100 });
    return call(spec, 60_000);
  }

  const spec = (message: string): RunSpec => agentSpec({ message, coalesce: "list" });

  it("begins once, when its window has passed, and stands for all calls until then", async () => {
    bench.dispatcher.start();
    const ids = [await call(spec("one"), 60_000), await call(spec("two"), 60_000), await lastCall(spec("three"))];
    expect(new Set(ids).size).toBe(1);
    expect(runner.ids).toEqual([]);
    expect(bench.dispatcher.open).toBe(1);
    await expect.poll(() => loaded.length, PATIENT).toBe(1);
    expect(loaded[0]!.coalesced).toMatchObject({ count: 3, texts: ["one", "two", "three"] });
    expect(runner.begun[0]).toMatchObject({ runId: ids[0], dueAt: null, begun: false });
  });

  it("no longer coalesces once it was due, although it waits for its turn", async () => {
    const stop = vi.spyOn(bench.store, "stopCoalescing");
    bench.rules.set("mail", { concurrency: 1 });
    let freed = (): void => {};
    const held = new Promise<void>((resolve) => (freed = resolve));
    runner.onRun = async ({ runId }) => {
      if (runner.begun.length === 1) await held;
      loaded.push(await bench.store.loadRun(runId));
      return ENDED;
    };
    bench.dispatcher.start();
    await bench.enqueueAs({ mappingId: "mail" }, agentSpec({ sessionKey: "agent:main:hook:first" }));
    const coalescing = await call(spec("one"), 20);
    await expect.poll(() => stop.mock.calls, PATIENT).toEqual([[coalescing]]);
    const later = await call(spec("two"), 20);
    expect(later).not.toBe(coalescing);
    bench.dispatcher.postpone(coalescing, bench.now() + 60_000);
    bench.dispatcher.postpone("run_nobody_knows", bench.now());
    freed();
    await expect.poll(() => loaded.length, PATIENT).toBe(3);
    expect(runner.ids.slice(1)).toEqual([coalescing, later]);
    expect(loaded[1]!.coalesced?.count ?? 1).toBe(1);
  });

  it("is taken up again after a restart, with what was coalesced before", async () => {
    await call(spec("one"), 60_000);
    await call(spec("two"), 60_000);
    await bench.restart({ agents: () => runner });
    await bench.dispatcher.recover();
    bench.dispatcher.start();
    expect(bench.dispatcher.open).toBe(1);
    await lastCall(spec("three"));
    await expect.poll(() => loaded.length, PATIENT).toBe(1);
    expect(loaded[0]!.coalesced?.count).toBe(3);
  });

  it("has its place in its lane after a restart when it was due before, and keeps coalescing when it was not", async () => {
    const due = await call(spec("one"), 60_000);
    const later = (await bench.accept(agentSpec()))[0]!;
    await bench.store.stopCoalescing(due);
    const coalescing = await call(spec("two"), 60_000);
    expect(new Set([due, coalescing]).size).toBe(2);
    await bench.restart({ agents: () => runner });
    await bench.dispatcher.recover();
    bench.dispatcher.start();
    await expect.poll(() => runner.ids, PATIENT).toEqual([due, later]);
    expect(bench.dispatcher.open).toBe(1);
    bench.rules.set("mail", { coalesceMs: 20 });
    expect(await call(spec("three"))).toBe(coalescing);
    await expect.poll(() => loaded.length, PATIENT).toBe(3);
    expect(loaded[2]!.coalesced?.count).toBe(2);
  });

  it("is due by the time that has passed, although the clock was set forward or back by an hour", async () => {
    bench.dispatcher.start();
    await call(spec("one"));
    bench.clockOffsetMs = -HOUR_MS;
    await expect.poll(() => loaded.length, PATIENT).toBe(1);
    const again = await call(spec("two"));
    bench.clockOffsetMs = HOUR_MS;
    await expect.poll(() => loaded.length, PATIENT).toBe(2);
    expect(runner.ids[1]).toBe(again);
  });

  it("waits no longer than its window after a restart, although the clock was set back by an hour", async () => {
    bench.rules.set("mail", { coalesceMs: 50 });
    await call(spec("one"), 50);
    bench.clockOffsetMs = -HOUR_MS;
    await bench.restart({ agents: () => runner });
    await bench.dispatcher.recover();
    bench.dispatcher.start();
    await expect.poll(() => loaded.length, PATIENT).toBe(1);
  });

  it("wakes the main session once, with what all calls said", async () => {
    bench.dispatcher.start();
    await call(wakeSpec({ text: "first text", coalesce: "list" }), 60_000);
    const runId = await lastCall(wakeSpec({ text: "second text", coalesce: "list" }));
    await bench.settledRuns(1);
    expect(bench.host.events).toHaveLength(1);
    expect(bench.host.events[0]!.idempotencyKey).toBe(runId);
    expect(bench.host.events[0]!.text).toContain("first text");
    expect(bench.host.events[0]!.text).toContain("second text");
  });

  it("is forgotten when it is canceled before it is due", async () => {
    bench.dispatcher.start();
    const runId = await call(spec("one"), 10_000);
    bench.dispatcher.withdraw({ runIds: [runId], state: "canceled", reason: "by the operator" });
    expect(bench.dispatcher.open).toBe(0);
    expect(bench.settled).toEqual([{ runId, kind: "agent", state: "canceled", reason: "by the operator" }]);
    bench.dispatcher.postpone(runId, bench.now());
  });

  it("is forgotten when it is canceled while it stops coalescing", async () => {
    let reached = (): void => {};
    const reachedStop = new Promise<void>((resolve) => (reached = resolve));
    const store = new Proxy(bench.store, {
      get: (target, name) => {
        if (name !== "stopCoalescing") return Reflect.get(target, name, target).bind?.(target);
        return async (runId: string) => {
          reached();
          await new Promise((resolve) => setTimeout(resolve, 30));
          await target.stopCoalescing(runId);
        };
      },
    });
    await bench.startWith({ agents: () => runner, store });
    const runId = await call(spec("one"), 10);
    await reachedStop;
    bench.dispatcher.withdraw({ runIds: [runId], state: "canceled", reason: "by the operator" });
    await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(0);
    expect(runner.ids).toEqual([]);
    expect(bench.settled).toHaveLength(1);
  });

  it("stops coalescing as soon as the store can write again", async () => {
    const error = new StoreError("UNAVAILABLE", "the disk is full");
    await bench.startWith({ agents: () => runner, store: failing(bench.store, "stopCoalescing", { count: 1, error }) });
    await call(spec("one"), 10);
    await expect.poll(() => loaded.length, PATIENT).toBe(1);
  });

  it("stays on disk when the store refuses permanently, and the log says so", async () => {
    const error = new StoreError("INVALID", "a defect");
    await bench.startWith({ agents: () => runner, store: failing(bench.store, "stopCoalescing", { count: 1, error }) });
    await call(spec("one"), 10);
    await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(0);
    expect(bench.logged).toEqual(["a run that was due could not be taken up"]);
    expect(runner.ids).toEqual([]);
  });
});
