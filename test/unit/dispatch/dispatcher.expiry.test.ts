import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { StoreError } from "../../../src/storage/delivery-store.ts";
import { agentSpec, DispatchBench, failing, stopClocks, wakeSpec, PATIENT } from "./dispatch-bench.ts";
import { again, ENDED, refused, ScriptedRunner } from "./scripted-runner.ts";

const HOUR_MS = 3_600_000;
const REASON = "it waited longer than its mapping's maxAgeSeconds before it could begin";

describe("a run with a maximum age", () => {
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

  const within = (ageMs: number): { expiresAt: number; mappingId: string } => ({
    expiresAt: bench.now() + ageMs,
    mappingId: "mail",
  });

  it("is dropped with a reason when its lane is blocked for longer, and observers are notified", async () => {
    bench.dispatcher.start();
    const [first] = await bench.acceptAndEnqueue(agentSpec());
    const [dropped] = await bench.enqueueAs(within(30), agentSpec());
    const [third] = await bench.acceptAndEnqueue(agentSpec());
    await bench.settledRuns(1);
    expect(bench.settled).toEqual([{ runId: dropped, kind: "agent", state: "skipped", reason: REASON }]);
    expect(await bench.detail(dropped!)).toMatchObject({ state: "skipped", reason: REASON });
    expect(bench.dispatcher.open).toBe(2);
    runner.finish();
    await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(0);
    expect(runner.ids).toEqual([first, third]);
  });

  it("is dropped when its mapping is paused for longer, a wake as well", async () => {
    bench.dispatcher.start();
    await bench.dispatcher.pause("mail", "a person wants to look");
    await bench.enqueueAs(within(40), agentSpec(), wakeSpec());
    await bench.settledRuns(2);
    expect(bench.settled.map(({ kind, state }) => `${kind} ${state}`).toSorted()).toEqual([
      "agent skipped",
      "wake skipped",
    ]);
    expect(bench.dispatcher.open).toBe(0);
    expect(bench.host.events).toEqual([]);
  });

  it("begins when its turn comes in time", async () => {
    bench.dispatcher.start();
    const [run] = await bench.enqueueAs(within(60_000), agentSpec());
    const [wake] = await bench.enqueueAs(within(60_000), wakeSpec());
    await bench.settledRuns(1);
    expect(runner.ids).toEqual([run]);
    expect(bench.settled.map(({ runId, state }) => `${runId} ${state}`)).toEqual([`${wake} done`]);
  });

  it("is not dropped any more once an attempt was made", async () => {
    const goOn = stopClocks();
    runner.onRun = async () => {
      goOn();
      return runner.begun.length === 1 ? again(bench.now() + 80, { holdsLane: true, replied: false }) : ENDED;
    };
    bench.dispatcher.start();
    const [run] = await bench.acceptAs({ mappingId: "mail" }, agentSpec());
    bench.dispatcher.enqueue([{ ...run!, ...within(20) }]);
    await expect.poll(() => runner.begun.length, PATIENT).toBe(2);
    expect(bench.settled).toEqual([]);
  });

  describe("that the host would not begin", () => {
    const long = { attempts: 3, firstDelayMs: 60_000, maxDelayMs: 60_000 };

    beforeEach(() => {
      bench.rules.set("mail", { retry: { runs: long, deliveries: long } });
      bench.dispatcher.start();
    });

    /** Enqueues a run with a maximum age, and one that comes after it in its lane. */
    async function enqueueTwo(ageMs: number): Promise<readonly string[]> {
      const [first] = await bench.acceptAs({}, agentSpec());
      const [second] = await bench.acceptAs({}, agentSpec());
      bench.dispatcher.enqueue([{ ...first!, ...within(ageMs) }, second!]);
      return [first!.runId, second!.runId];
    }

    it("is dropped when that lasts too long, and its lane continues", async () => {
      const goOn = stopClocks();
      runner.onRun = async () => {
        goOn();
        return runner.begun.length === 1 ? refused(bench.now() + 60_000) : ENDED;
      };
      const [dropped, next] = await enqueueTwo(30);
      await bench.settledRuns(1);
      expect(bench.settled).toEqual([{ runId: dropped, kind: "agent", state: "skipped", reason: REASON }]);
      await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(0);
      expect(runner.ids).toEqual([dropped, next]);
    });

    it("is dropped when it has been refused for longer by then", async () => {
      const goOn = stopClocks();
      runner.onRun = async () => {
        goOn();
        if (runner.begun.length > 1) return ENDED;
        await new Promise((resolve) => setTimeout(resolve, 40));
        return refused(bench.now());
      };
      const [dropped, next] = await enqueueTwo(20);
      await bench.settledRuns(1);
      expect(bench.settled).toMatchObject([{ runId: dropped, state: "skipped" }]);
      await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(0);
      expect(runner.ids).toEqual([dropped, next]);
    });

    it("is dropped although the gateway restarted meanwhile", async () => {
      const [run] = await bench.acceptAs(within(500), agentSpec());
      const { runId } = run!;
      await bench.store.beginAttempt(runId, { number: 1, startedAt: bench.now() });
      await bench.store.endAttempt(runId, { endedAt: bench.now(), status: "aborted", error: "busy", reply: null });
      await bench.store.postpone(runId, { dueAt: bench.now() + 60_000, reason: "the host is busy" });
      const [next] = await bench.accept(agentSpec());
      await bench.restart({ agents: () => runner });
      await bench.dispatcher.recover();
      bench.dispatcher.start();
      await bench.settledRuns(1);
      expect(bench.settled).toMatchObject([{ runId, state: "skipped", reason: REASON }]);
      await expect.poll(() => runner.ids, PATIENT).toEqual([next]);
    });

    it("is not dropped once the host has begun it after all", async () => {
      const goOn = stopClocks();
      const outcomes = [
        () => refused(bench.now()),
        () => {
          goOn();
          return again(bench.now() + 80, { holdsLane: true, replied: false });
        },
      ];
      runner.onRun = async () => outcomes.shift()?.() ?? ENDED;
      const [run, next] = await enqueueTwo(20);
      await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(0);
      expect(bench.settled).toEqual([]);
      expect(runner.ids).toEqual([run, run, run, next]);
    });
  });

  it("waits as long as it may although the clock is set forward by an hour", async () => {
    bench.dispatcher.start();
    const [first] = await bench.acceptAndEnqueue(agentSpec());
    const [second] = await bench.enqueueAs(within(60_000), agentSpec());
    bench.clockOffsetMs = HOUR_MS;
    runner.end(first!);
    await expect.poll(() => runner.begun.length, PATIENT).toBe(2);
    expect(runner.ids).toEqual([first, second]);
  });

  it("is dropped at the start when it waited too long in a process that is gone", async () => {
    const [overdue] = await bench.acceptAs(within(-1), agentSpec({ sessionKey: "agent:main:hook:b" }));
    const [wake] = await bench.acceptAs(within(-1), wakeSpec());
    const [begun] = await bench.acceptAs(within(-1), agentSpec());
    await bench.store.beginAttempt(begun!.runId, { number: 1, startedAt: bench.now() });
    await bench.restart({ agents: () => runner });
    await bench.dispatcher.recover();
    bench.dispatcher.start();
    await bench.settledRuns(2);
    expect(bench.settled.map(({ runId }) => runId).toSorted()).toEqual([overdue!.runId, wake!.runId].toSorted());
    expect(bench.settled.map(({ state }) => state)).toEqual(["skipped", "skipped"]);
    expect(runner.ids).toEqual([begun!.runId]);
  });

  it("is dropped by the hundreds without keeping anything else from its turn", async () => {
    const specs = Array.from({ length: 400 }, (_, at) => agentSpec({ sessionKey: `agent:main:hook:${at}` }));
    const overdue = await bench.acceptAs(within(-1), ...specs);
    const [fresh] = await bench.acceptAs({}, agentSpec({ sessionKey: "agent:main:hook:fresh" }));
    bench.dispatcher.start();
    bench.dispatcher.enqueue([...overdue, fresh!]);
    await bench.settledRuns(400);
    await expect.poll(() => runner.ids, PATIENT).toEqual([fresh!.runId]);
    expect(bench.dispatcher.open).toBe(1);
  });

  it("is reported once when it is canceled while it is being dropped", async () => {
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    vi.spyOn(bench.store, "settleAll").mockImplementationOnce(async () => {
      asked.resolve();
      await answer.promise;
      throw new StoreError("UNAVAILABLE", "full");
    });
    bench.dispatcher.start();
    const [run] = await bench.enqueueAs(within(-1), agentSpec());
    await asked.promise;
    bench.dispatcher.withdraw({ runIds: [run!], state: "canceled", reason: "by the operator" });
    answer.resolve();
    await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(0);
    expect(bench.settled.map(({ state }) => state)).toEqual(["canceled"]);
  });

  it("is dropped although another that is dropped with it was canceled and removed", async () => {
    const [gone] = await bench.acceptAs(within(-1), wakeSpec());
    const [left] = await bench.acceptAs(within(-1), wakeSpec());
    const { deliveryId } = await bench.store.loadRun(gone!.runId);
    await bench.store.settle(gone!.runId, { state: "canceled", reason: "by the operator" });
    expect(await bench.store.remove([deliveryId], bench.now())).toMatchObject({ removed: 1 });
    bench.dispatcher.start();
    bench.dispatcher.enqueue([gone!, left!]);
    await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(0);
    expect(bench.settled).toEqual([{ runId: left!.runId, kind: "wake", state: "skipped", reason: REASON }]);
    expect((await bench.detail(left!.runId)).state).toBe("skipped");
    expect(bench.logged).toEqual([]);
  });

  it("stays on disk when the store refuses permanently, and the log says so", async () => {
    const error = new StoreError("INVALID", "a defect");
    await bench.startWith({ agents: () => runner, store: failing(bench.store, "settleAll", { count: 1, error }) });
    await bench.enqueueAs(within(-1), agentSpec());
    await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(0);
    expect(bench.logged).toEqual(["runs that waited too long could not be settled"]);
    expect(bench.settled).toEqual([]);
  });
});
