import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { again, ENDED, ScriptedRunner } from "./scripted-runner.ts";
import { agentSpec, DispatchBench, openRun, PATIENT } from "./dispatch-bench.ts";

const HOUR_MS = 3_600_000;

describe("a run that is tried again", () => {
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

  /** Has the first attempt postponed and every later one succeed. */
  function failOnce(runId: string, delayMs: number, how = { holdsLane: true, replied: false }): void {
    runner.onRun = async (run) =>
      run.runId === runId && runner.ids.filter((id) => id === runId).length === 1
        ? again(bench.now() + delayMs, how)
        : ENDED;
  }

  it("goes before everything else of its lane, and holds up no other lane", async () => {
    const [first, second] = [openRun({ lane: "x" }), openRun({ lane: "x" })];
    const other = openRun();
    failOnce(first.runId, 30);
    bench.dispatcher.start();
    bench.dispatcher.enqueue([first, second, other]);
    await expect.poll(() => runner.begun.length, PATIENT).toBe(4);
    expect(runner.ids).toEqual([first.runId, other.runId, first.runId, second.runId]);
    expect(runner.begun[2]).toMatchObject({ begun: true, replied: false, dueAt: null });
    expect(bench.dispatcher.open).toBe(0);
  });

  it("lets its lane continue when only the delivery of its reply is left", async () => {
    const [first, second] = [openRun({ lane: "x" }), openRun({ lane: "x" })];
    failOnce(first.runId, 30, { holdsLane: false, replied: true });
    bench.dispatcher.start();
    bench.dispatcher.enqueue([first, second]);
    await expect.poll(() => runner.begun.length, PATIENT).toBe(3);
    expect(runner.ids).toEqual([first.runId, second.runId, first.runId]);
    expect(runner.begun[2]).toMatchObject({ begun: true, replied: true, dueAt: null });
  });

  it("waits for none of its lane, and for no pause, when only the delivery of its reply is left", async () => {
    const [first, second, third] = [openRun(), openRun(), openRun()].map((run): typeof run => ({
      ...run,
      lane: "x",
      mappingId: "mail",
    }));
    const underWay = runner.onRun;
    runner.onRun = async (run, stop) => {
      if (run.runId !== first!.runId) return underWay(run, stop);
      return runner.begun.length === 1 ? again(bench.now() + 50, { holdsLane: false, replied: true }) : ENDED;
    };
    bench.dispatcher.start();
    bench.dispatcher.enqueue([first!, second!, third!]);
    await expect.poll(() => runner.begun.length, PATIENT).toBe(2);
    await bench.dispatcher.pause("mail", "a person wants to look");
    await expect.poll(() => runner.begun.length, PATIENT).toBe(3);
    expect(runner.ids).toEqual([first!.runId, second!.runId, first!.runId]);
    expect(bench.dispatcher.open).toBe(2);
    runner.end(second!.runId);
    await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(1);
    expect(runner.begun).toHaveLength(3);
    await bench.dispatcher.resume("mail");
    expect(runner.ids.at(-1)).toBe(third!.runId);
  });

  it("counts as open until it has ended", async () => {
    const run = openRun();
    failOnce(run.runId, 50);
    bench.dispatcher.start();
    bench.dispatcher.enqueue([run]);
    await expect.poll(() => runner.begun.length, PATIENT).toBe(1);
    expect(bench.dispatcher.open).toBe(1);
    await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(0);
    expect(runner.begun.length).toBe(2);
  });

  it("begins after the delay of its policy, although the clock was set back by an hour", async () => {
    const run = openRun();
    runner.onRun = async () => {
      if (runner.begun.length > 1) return ENDED;
      const dueAt = bench.now() + 50;
      bench.clockOffsetMs = -HOUR_MS;
      return again(dueAt, { holdsLane: true, replied: false });
    };
    bench.dispatcher.start();
    bench.dispatcher.enqueue([run]);
    await expect.poll(() => runner.begun.length, PATIENT).toBe(2);
  });

  it("does not begin once the dispatcher is stopped", async () => {
    const run = openRun();
    failOnce(run.runId, 20);
    bench.dispatcher.start();
    bench.dispatcher.enqueue([run]);
    // Microtasks alone, in which the 20 ms cannot pass.
    while (runner.underWay > 0) await Promise.resolve();
    await bench.dispatcher.stop(bench.now());
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(runner.begun.length).toBe(1);
  });

  describe("across a restart", () => {
    /** Leaves a run on disk that is to be tried again, and accepts another of its lane. */
    async function leave(delayMs: number): Promise<readonly string[]> {
      const [first] = await bench.accept(agentSpec());
      await bench.store.beginAttempt(first!, { number: 1, startedAt: bench.now() });
      const failure = { endedAt: bench.now(), status: "error", error: "overloaded", reply: null } as const;
      await bench.store.endAttempt(first!, failure);
      await bench.store.postpone(first!, { dueAt: bench.now() + delayMs, reason: "it is tried again" });
      const [second] = await bench.accept(agentSpec());
      return [first!, second!];
    }

    async function restart(): Promise<void> {
      await bench.restart({ agents: () => runner });
      runner.onRun = async () => ENDED;
      await bench.dispatcher.recover();
      bench.dispatcher.start();
    }

    it("still goes before everything else of its lane", async () => {
      const ids = await leave(200);
      await restart();
      expect(bench.dispatcher.open).toBe(2);
      await expect.poll(() => runner.begun.length, PATIENT).toBe(2);
      expect(runner.ids).toEqual(ids);
    });

    it("begins at once when its time came in between", async () => {
      const ids = await leave(-1_000);
      await restart();
      await expect.poll(() => runner.begun.length, PATIENT).toBe(2);
      expect(runner.ids).toEqual(ids);
    });

    it("waits no longer than its policy allows, although the clock was set back by an hour", async () => {
      const ids = await leave(50);
      bench.clockOffsetMs = -HOUR_MS;
      await restart();
      await expect.poll(() => runner.begun.length, PATIENT).toBe(2);
      expect(runner.ids).toEqual(ids);
    });

    it("gives up its lane when it is canceled", async () => {
      const [first, second] = await leave(10_000);
      bench.rules.set(null, { retry: { runs: slow, deliveries: slow } });
      await restart();
      expect(runner.ids).toEqual([]);
      bench.dispatcher.withdraw({ runIds: [first!], state: "canceled", reason: "by the operator" });
      await expect.poll(() => runner.begun.length, PATIENT).toBe(1);
      expect(runner.ids).toEqual([second]);
      expect(bench.dispatcher.open).toBe(0);
    });

    /** Leaves a run on disk whose reply is to be delivered, and accepts another of its lane. */
    async function leaveReplied(delayMs: number): Promise<readonly string[]> {
      const [first] = await bench.accept(agentSpec());
      await bench.store.beginAttempt(first!, { number: 1, startedAt: bench.now() });
      await bench.store.endAttempt(first!, { endedAt: bench.now(), status: "ok", error: null, reply: "Done." });
      await bench.store.postpone(first!, { dueAt: bench.now() + delayMs, reason: "the channel is down" });
      const [second] = await bench.accept(agentSpec());
      return [first!, second!];
    }

    it("whose reply is left to be delivered waits for no pause of the next in its lane", async () => {
      const [first, second] = await leaveReplied(20);
      await bench.dispatcher.pause("*", "a person wants to look");
      await restart();
      await expect.poll(() => runner.ids, PATIENT).toEqual([first]);
      await bench.dispatcher.resume("*");
      await expect.poll(() => runner.ids, PATIENT).toEqual([first, second]);
    });

    it("whose reply is left to be delivered waits beside its lane", async () => {
      const [first, second] = await leaveReplied(100);
      await restart();
      await expect.poll(() => runner.begun.length, PATIENT).toBe(2);
      expect(runner.ids).toEqual([second, first]);
      expect(runner.begun[1]).toMatchObject({ replied: true, dueAt: null });
    });
  });
});

const slow = { attempts: 3, firstDelayMs: 10_000, maxDelayMs: 60_000 };
