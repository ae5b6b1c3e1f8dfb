import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { reconcile } from "../../../src/dispatch/elsewhere.ts";
import type { OpenRun } from "../../../src/storage/open-run.ts";
import type { ChangedRun } from "../../../src/storage/shared-store.ts";
import { DispatchBench, openRun, PATIENT } from "./dispatch-bench.ts";
import { ENDED, ScriptedRunner } from "./scripted-runner.ts";

describe("runs that other gateways accept", () => {
  let runner: ScriptedRunner;
  let bench: DispatchBench;

  beforeEach(async () => {
    runner = new ScriptedRunner();
    bench = await DispatchBench.open({ agents: () => runner });
    bench.dispatcher.start();
  });
  afterEach(async () => {
    runner.finish();
    await bench.close();
  });

  const changed = (run: OpenRun, changes: Partial<ChangedRun> = {}): ChangedRun => ({
    ...run,
    reason: null,
    ...changes,
  });
  const give = (...runs: readonly ChangedRun[]): void => {
    reconcile(bench.dispatcher, runs);
  };

  it("begin in their lane, and once, however often they are named", async () => {
    const [first, second] = [openRun({ lane: "x" }), openRun({ lane: "x" })];
    give(changed(first), changed(second));
    give(changed(second), changed(first));
    runner.end(first.runId);
    await expect.poll(() => runner.ids, PATIENT).toEqual([first.runId, second.runId]);
    expect(bench.dispatcher.open).toBe(1);
  });

  it("are aborted when they were canceled there, and nothing is said of one that has ended here", async () => {
    const run = openRun();
    give(changed(run));
    await expect.poll(() => runner.ids, PATIENT).toEqual([run.runId]);
    give(changed(run, { state: "canceled", reason: "canceled by the operator" }));
    expect(runner.stopped).toEqual([run.runId]);
    await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(0);
    give(
      changed(run, { state: "canceled", reason: "canceled by the operator" }),
      changed(openRun(), { state: "done" }),
    );
    expect(bench.settled).toHaveLength(1);
  });

  it("are left alone while they are carried out here or are held", () => {
    give(changed(openRun(), { state: "running" }), changed(openRun(), { state: "held" }));
    expect(bench.dispatcher.open).toBe(0);
  });

  it("wait with the others when they go on coalescing", async () => {
    const run = openRun({ dueAt: bench.now() + 50 });
    give(changed(run));
    give(changed(run, { dueAt: bench.now() + 60_000 }));
    const other = openRun();
    give(changed(other, {}));
    await expect.poll(() => runner.ids, PATIENT).toEqual([other.runId]);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(runner.ids).toEqual([other.runId]);
  });
});

describe("the turn of a run that was canceled", () => {
  const CANCELED = { state: "canceled", reason: "canceled by the operator" } as const;
  const begun = (): OpenRun => openRun({ state: "running", begun: true, mappingId: "mail" });
  let runner: ScriptedRunner;
  let bench: DispatchBench;
  /** Runs whose turns were ended at other gateways. */
  let ended: string[];

  beforeEach(async () => {
    runner = new ScriptedRunner();
    bench = await DispatchBench.open();
    ended = [];
    const shared = { turns: { forget: async (runId: string) => void ended.push(runId) } };
    const store = new Proxy(bench.store, {
      get: (target, name) => (name === "shared" ? shared : Reflect.get(target, name, target).bind?.(target)),
    });
    await bench.startWith({ agents: () => runner, store });
    await bench.store.pause({ scope: "mail", reason: "a person wants to look", since: 1 });
    await bench.dispatcher.refresh();
  });
  afterEach(async () => {
    runner.finish();
    await bench.close();
  });

  it("ends at another gateway while the run waits here, or was canceled before it was known here", async () => {
    const [known, unknown] = [begun(), begun()];
    bench.dispatcher.enqueue([known]);
    bench.dispatcher.withdraw({ runIds: [known.runId], ...CANCELED });
    reconcile(bench.dispatcher, [{ ...unknown, ...CANCELED }]);
    bench.dispatcher.withdraw({ runIds: ["on hold"], ...CANCELED });
    expect(ended).toEqual([known.runId, unknown.runId, "on hold"]);
    expect(runner.ids).toEqual([]);
  });

  it("is left to the run that is active here, and to the gateway that carries out the runs", async () => {
    const [active, waiting, elsewhere] = [{ ...begun(), mappingId: null }, openRun({ mappingId: "mail" }), begun()];
    bench.dispatcher.enqueue([active, waiting]);
    await expect.poll(() => runner.ids, PATIENT).toEqual([active.runId]);
    bench.dispatcher.withdraw({ runIds: [active.runId, waiting.runId, active.runId], ...CANCELED });
    expect(runner.stopped).toEqual([active.runId]);
    bench.dispatcher.elsewhere.isHere = false;
    bench.dispatcher.withdraw({ runIds: [elsewhere.runId], ...CANCELED });
    expect(ended).toEqual([]);
  });
});

describe("a gateway that does not carry out the runs", () => {
  it("takes no more calls than may wait, and begins none of them", async () => {
    const runner = new ScriptedRunner();
    runner.onRun = async () => ENDED;
    const bench = await DispatchBench.open({ agents: () => runner });
    const { dispatcher } = bench;
    dispatcher.elsewhere.isHere = false;
    dispatcher.start();
    dispatcher.elsewhere.count(3);
    expect(dispatcher.reserve(1, 4)).toBe(true);
    dispatcher.enqueue([openRun()]);
    dispatcher.elsewhere.add(1);
    dispatcher.release(1);
    expect(dispatcher.reserve(1, 4)).toBe(false);
    dispatcher.elsewhere.isHere = true;
    expect([dispatcher.open, runner.begun]).toEqual([0, []]);
    await bench.close();
  });

  it("is told what is paused elsewhere, and a scope that was resumed there has its budget again", async () => {
    const runner = new ScriptedRunner();
    runner.onRun = async () => ENDED;
    const bench = await DispatchBench.open({ agents: () => runner });
    const { dispatcher, store } = bench;
    bench.rules.set("mail", { budgets: [{ scope: "mail", measure: "runs", perHour: 1, perDay: undefined }] });
    dispatcher.start();
    await store.pause({ scope: "*", reason: "by another", since: 1 });
    await dispatcher.refresh();
    dispatcher.enqueue([openRun({ mappingId: "mail" }), openRun({ mappingId: "mail" })]);
    expect(dispatcher.pausedScopes()).toMatchObject([{ scope: "*", reason: "by another" }]);
    expect(runner.begun).toHaveLength(0);
    await store.resume("*");
    await dispatcher.refresh();
    await expect.poll(() => dispatcher.pausedScopes(), PATIENT).toMatchObject([{ scope: "mail" }]);
    expect(runner.begun).toHaveLength(1);
    await expect.poll(() => store.resume("mail"), PATIENT).toBe(true);
    await dispatcher.refresh();
    await expect.poll(() => runner.begun.length, PATIENT).toBe(2);
    await bench.close();
  });
});

it.each(["is being read", "is yet to be read"])(
  "the pause of a budget that is used up holds while what is paused elsewhere %s",
  async (when) => {
    const runner = new ScriptedRunner();
    runner.onRun = async () => ENDED;
    const bench = await DispatchBench.open({ agents: () => runner });
    const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const store = new Proxy(bench.store, {
      get: (target, name) => {
        if (name !== "pauses") return Reflect.get(target, name, target).bind?.(target);
        return async () => {
          const pauses = await target.pauses();
          asked.resolve();
          await answer.promise;
          return pauses;
        };
      },
    });
    await bench.startWith({ agents: () => runner, store });
    const { dispatcher } = bench;
    bench.rules.set("mail", { budgets: [{ scope: "mail", measure: "runs", perHour: 1, perDay: undefined }] });
    const looks = [dispatcher.refresh()];
    await asked.promise;
    if (when === "is yet to be read") looks.push(dispatcher.refresh());
    dispatcher.enqueue([1, 2, 3].map(() => openRun({ mappingId: "mail" })));
    await expect.poll(() => dispatcher.pausedScopes(), PATIENT).toMatchObject([{ scope: "mail" }]);
    answer.resolve();
    await Promise.all(looks);
    expect(dispatcher.pausedScopes()).toMatchObject([{ scope: "mail" }]);
    await expect.poll(() => bench.store.pauses(), PATIENT).toMatchObject([{ scope: "mail" }]);
    await dispatcher.refresh();
    expect(runner.begun).toHaveLength(1);
    await bench.store.resume("mail");
    await dispatcher.refresh();
    await expect.poll(() => runner.begun.length, PATIENT).toBe(2);
    await bench.close();
  },
);
