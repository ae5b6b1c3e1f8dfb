import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { DispatchBench, openRun, PATIENT, stopClocks, wakeSpec } from "./dispatch-bench.ts";
import { ENDED, ScriptedRunner } from "./scripted-runner.ts";

describe("the order in which runs begin", () => {
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

  const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

  it("runs without a lane wait for no other run", async () => {
    bench.dispatcher.start();
    bench.dispatcher.enqueue([openRun({ lane: "" }), openRun({ lane: "" }), openRun({ lane: "" })]);
    expect(runner.underWay).toBe(3);
    runner.finish();
    await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(0);
  });

  it("a long queue keeps the order of each lane, also when runs are withdrawn from its midst", async () => {
    const runs = Array.from({ length: 3_000 }, (_, at) =>
      // Some ids are longer than those of this gateway's own stores.
      openRun({
        lane: `lane ${at % 40}`,
        mappingId: `m${at % 3}`,
        ...(at % 7 === 0 && { runId: `${at}`.padEnd(80, "x") }),
      }),
    );
    bench.dispatcher.enqueue(runs);
    expect(bench.dispatcher.open).toBe(3_000);
    const withdrawn = new Set(runs.filter((_, at) => at % 5 === 0).map(({ runId }) => runId));
    bench.dispatcher.withdraw({ runIds: [...withdrawn, "of-no-run"], state: "canceled", reason: "by the operator" });
    expect(bench.dispatcher.open).toBe(2_400);
    runner.onRun = async () => ENDED;
    bench.dispatcher.start();
    await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(0);
    const at = new Map(runs.map(({ runId }, index) => [runId, index]));
    const left = runs.filter(({ runId }) => !withdrawn.has(runId));
    for (let lane = 0; lane < 40; lane++) {
      const begun = runner.ids.filter((runId) => at.get(runId)! % 40 === lane);
      expect(begun).toEqual(left.filter((run) => run.lane === `lane ${lane}`).map(({ runId }) => runId));
    }
  });

  it("a mapping's own bound holds back its runs, and those of others continue", async () => {
    bench.rules.set("mail", { concurrency: 2 });
    bench.dispatcher.start();
    const mails = Array.from({ length: 5 }, () => openRun({ mappingId: "mail" }));
    const other = openRun({ mappingId: "other" });
    bench.dispatcher.enqueue([...mails, other]);
    expect(runner.ids).toEqual([mails[0]!.runId, other.runId, mails[1]!.runId]);
    runner.end(mails[1]!.runId);
    await settle();
    expect(runner.ids.slice(3)).toEqual([mails[2]!.runId]);
    runner.finish();
    await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(0);
    expect(runner.ids).toHaveLength(6);
  });

  it("a run that has replied already takes no place of its mapping", () => {
    bench.rules.set("mail", { concurrency: 1 });
    bench.dispatcher.start();
    bench.dispatcher.enqueue([
      openRun({ mappingId: "mail" }),
      openRun({ mappingId: "mail", begun: true, replied: true }),
    ]);
    expect(runner.underWay).toBe(2);
  });

  it("a bound that another configuration raises, or drops, takes effect at once", () => {
    bench.rules.set("mail", { concurrency: 1 });
    bench.dispatcher.start();
    bench.dispatcher.enqueue([1, 2, 3, 4].map(() => openRun({ mappingId: "mail" })));
    expect(runner.underWay).toBe(1);
    bench.rules.set("mail", { concurrency: 2 });
    bench.dispatcher.configure();
    expect(runner.underWay).toBe(2);
    bench.rules.delete("mail");
    bench.concurrency = 10;
    bench.dispatcher.configure();
    expect(runner.underWay).toBe(4);
  });

  it("a higher priority goes first, and a lower one is not starved", async () => {
    bench.concurrency = 1;
    bench.rules.set("urgent", { priority: "high" }).set("idle", { priority: "low" });
    runner.onRun = async () => ENDED;
    const urgent = Array.from({ length: 20 }, () => openRun({ mappingId: "urgent" }));
    const idle = openRun({ mappingId: "idle" });
    bench.dispatcher.enqueue([idle, ...urgent]);
    bench.dispatcher.start();
    await expect.poll(() => runner.begun.length, PATIENT).toBe(21);
    expect(runner.ids.indexOf(idle.runId)).toBe(7);
  });

  it("nothing begins before the start, when no configuration is active yet", async () => {
    bench.dispatcher.enqueue([openRun({ mappingId: "mail" })]);
    bench.dispatcher.configure();
    await settle();
    expect(runner.ids).toEqual([]);
    expect(bench.dispatcher.open).toBe(1);
    bench.dispatcher.start();
    expect(runner.underWay).toBe(1);
  });

  it("runs leave room for the owner's own conversations, and fill it when these have ended", async () => {
    let turns = 2;
    bench.host.agents.ownerTurns = () => turns;
    bench.concurrency = 3;
    bench.dispatcher.start();
    bench.dispatcher.enqueue([1, 2, 3].map(() => openRun()));
    expect(runner.underWay).toBe(1);
    turns = 0;
    await expect.poll(() => runner.underWay, PATIENT).toBe(3);
  });

  it("the owner's conversations never leave the runs without any room", () => {
    bench.host.agents.ownerTurns = () => 50;
    bench.dispatcher.start();
    bench.dispatcher.enqueue([openRun(), openRun()]);
    expect(runner.underWay).toBe(1);
  });

  it("the pace while calls are coming in holds although the owner is talking", async () => {
    bench.busy = true;
    bench.concurrency = 20;
    bench.host.agents.ownerTurns = () => 1;
    runner.onRun = async () => ENDED;
    bench.dispatcher.start();
    const goOn = stopClocks();
    bench.dispatcher.enqueue(Array.from({ length: 10 }, () => openRun()));
    expect(runner.begun.length).toBe(1);
    goOn();
    await expect.poll(() => runner.begun.length, PATIENT).toBe(10);
  });

  it("a run that cannot be carried out stays on disk, and its lane continues", async () => {
    runner.onRun = async () => Promise.reject(new Error("a defect"));
    bench.dispatcher.start();
    bench.dispatcher.enqueue([openRun({ lane: "x" }), openRun({ lane: "x" })]);
    await expect.poll(() => runner.begun.length, PATIENT).toBe(2);
    expect(bench.logged).toEqual(["a run could not be carried out", "a run could not be carried out"]);
    expect(bench.dispatcher.open).toBe(0);
  });

  it("counts what is being accepted as open, and keeps room for it", () => {
    expect(bench.dispatcher.reserve(2, 3)).toBe(true);
    bench.dispatcher.enqueue([openRun()]);
    expect(bench.dispatcher.reserve(1, 3)).toBe(false);
    bench.dispatcher.release(2);
    expect(bench.dispatcher.open).toBe(1);
    expect(bench.dispatcher.reserve(2, 3)).toBe(true);
  });

  it("wakes keep their order, however long an observer takes for one of them", async () => {
    const dispatched = async (): Promise<void> =>
      void (await new Promise((resolve) => setTimeout(resolve, waits.shift())));
    const waits = [40, 20, 1];
    await bench.startWith({ events: { dispatched, settled: () => undefined } });
    await bench.acceptAndEnqueue(...["first", "second", "third"].map((text) => wakeSpec({ text, unsafe: true })));
    await expect.poll(() => bench.host.events.map(({ text }) => text), PATIENT).toEqual(["first", "second", "third"]);
  });
});
