import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ScopedBudget } from "../../../src/dispatch/rules.ts";
import { StoreError } from "../../../src/storage/delivery-store.ts";
import type { Usage } from "../../../src/storage/operational-state.ts";
import { agentSpec, DispatchBench, failing, openRun, wakeSpec, PATIENT } from "./dispatch-bench.ts";
import { again, ENDED, refused, ScriptedRunner } from "./scripted-runner.ts";

function budget(scope: string, perHour: number | undefined, perDay?: number): { budgets: ScopedBudget[] } {
  return { budgets: [{ scope, measure: "runs", perHour, perDay }] };
}

describe("pauses and budgets", () => {
  let runner: ScriptedRunner;
  let bench: DispatchBench;

  beforeEach(async () => {
    runner = new ScriptedRunner();
    runner.onRun = async () => ENDED;
    bench = await DispatchBench.open({ agents: () => runner });
  });
  afterEach(async () => {
    runner.finish();
    await bench.close();
  });

  const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 30));
  const mails = (count: number): ReturnType<typeof openRun>[] =>
    Array.from({ length: count }, () => openRun({ mappingId: "mail" }));
  const texts = (): string[] => bench.host.events.map(({ text }) => /number (\w+)/.exec(text)![1]!);
  const wakes = (...names: string[]): ReturnType<typeof wakeSpec>[] =>
    names.map((name) => wakeSpec({ text: `number ${name}` }));

  async function restart(): Promise<void> {
    await bench.restart({ agents: () => runner });
    await bench.dispatcher.recover();
    bench.dispatcher.start();
  }

  it("a used-up budget pauses its mapping, sends one notice and does not affect other mappings", async () => {
    bench.rules.set("mail", budget("mail", 2));
    bench.dispatcher.start();
    const other = openRun({ mappingId: "other" });
    const runs = mails(4);
    bench.dispatcher.enqueue([...runs, other]);
    await expect.poll(() => runner.begun.length, PATIENT).toBe(3);
    await settle();
    expect(runner.ids.toSorted()).toEqual([runs[0]!.runId, runs[1]!.runId, other.runId].toSorted());
    expect(bench.dispatcher.open).toBe(2);
    const [pause] = bench.dispatcher.pausedScopes();
    expect(pause).toMatchObject({ scope: "mail", reason: "its budget of 2 runs in 60 minutes is used up" });
    await expect.poll(() => bench.store.pauses(), PATIENT).toEqual([pause]);
    expect(bench.notices).toHaveLength(1);
    expect(bench.notices[0]!.key).toBe(`pause:mail:${pause!.since}`);
    expect(bench.notices[0]!.text).toContain('"mail"');
    expect(bench.notices[0]!.text).toContain("budget.perHour");
    expect(bench.notices[0]!.text).toContain("reveille hooks resume mail");
  });

  it("resuming forgets what was counted, and the runs that waited begin", async () => {
    bench.rules.set("mail", budget("mail", 2));
    bench.dispatcher.start();
    const runs = mails(3);
    bench.dispatcher.enqueue(runs);
    await expect.poll(() => bench.dispatcher.pausedScopes().length, PATIENT).toBe(1);
    expect(await bench.dispatcher.resume("mail")).toBe(true);
    await expect.poll(() => runner.begun.length, PATIENT).toBe(3);
    expect(bench.dispatcher.pausedScopes()).toEqual([]);
    expect(await bench.store.pauses()).toEqual([]);
    expect(await bench.dispatcher.resume("mail")).toBe(false);
    bench.dispatcher.enqueue(mails(1));
    await expect.poll(() => runner.begun.length, PATIENT).toBe(4);
    expect(bench.dispatcher.pausedScopes()).toEqual([]);
  });

  it("a budget that was used up is free again at the very moment at which its pause is gone", async () => {
    bench.rules.set("mail", budget("mail", 1));
    const [late] = mails(1);
    /** Has a run arrive as soon as nothing is paused any more, before anything else goes on. */
    const arrive = (turns: number): void => {
      if (bench.dispatcher.pausedScopes().length === 0) bench.dispatcher.enqueue([late!]);
      else if (turns > 0) queueMicrotask(() => arrive(turns - 1));
    };
    const store = new Proxy(bench.store, {
      get: (target, name) => {
        if (name !== "resume") return Reflect.get(target, name, target).bind?.(target);
        return async (scope: string) => {
          const wasPaused = await target.resume(scope);
          arrive(100);
          return wasPaused;
        };
      },
    });
    await bench.startWith({ agents: () => runner, store });
    const runs = mails(2);
    bench.dispatcher.enqueue(runs);
    await expect.poll(() => bench.dispatcher.pausedScopes().length, PATIENT).toBe(1);
    bench.dispatcher.withdraw({ runIds: [runs[1]!.runId], state: "canceled", reason: "by the operator" });
    expect(await bench.dispatcher.resume("mail")).toBe(true);
    await settle();
    expect(runner.ids).toEqual([runs[0]!.runId, late!.runId]);
    expect(bench.notices).toHaveLength(1);
    expect(bench.dispatcher.pausedScopes()).toEqual([]);
  });

  it("a start that the host refuses draws on no budget", async () => {
    bench.rules.set("mail", budget("mail", 2));
    const [run, ...others] = mails(3);
    runner.onRun = async () => (runner.begun.length < 6 ? refused(bench.now()) : ENDED);
    bench.dispatcher.start();
    bench.dispatcher.enqueue([run!]);
    await expect.poll(() => bench.dispatcher.open, PATIENT).toBe(0);
    expect(runner.begun).toHaveLength(6);
    expect(bench.dispatcher.pausedScopes()).toEqual([]);
    bench.dispatcher.enqueue(others);
    await expect.poll(() => bench.dispatcher.pausedScopes().length, PATIENT).toBe(1);
    expect(runner.begun).toHaveLength(7);
    await bench.dispatcher.stop(bench.now());
    const usage = await bench.store.usageSince(0);
    expect(usage.reduce((sum, { runs }) => sum + runs, 0)).toBe(2);
  });

  it("a budget of all runs holds back every mapping, and runs of none", async () => {
    bench.rules.set("mail", budget("*", undefined, 2)).set(null, budget("*", undefined, 2));
    bench.dispatcher.start();
    bench.dispatcher.enqueue([...mails(1), openRun(), openRun(), ...mails(1)]);
    await expect.poll(() => bench.dispatcher.pausedScopes().length, PATIENT).toBe(1);
    await settle();
    expect(runner.begun).toHaveLength(2);
    expect(bench.notices[0]!.text).toContain("All hook runs");
    expect(bench.notices[0]!.text).toContain("hooks.budget.perDay");
    expect(bench.notices[0]!.text).toContain("reveille hooks resume '*'");
    await bench.dispatcher.resume("*");
    await expect.poll(() => runner.begun.length, PATIENT).toBe(4);
  });

  it("budgets and pauses hold across a restart", async () => {
    bench.rules.set("mail", budget("mail", 2));
    bench.dispatcher.start();
    await bench.enqueueAs({ mappingId: "mail" }, ...agents(2));
    await expect.poll(() => runner.begun.length, PATIENT).toBe(2);
    await restart();
    // The scripted runner settled nothing, so both are carried out again, which would be over the budget.
    await expect.poll(() => bench.dispatcher.pausedScopes().length, PATIENT).toBe(1);
    expect(runner.begun).toHaveLength(2);
    await restart();
    expect(bench.dispatcher.pausedScopes()).toHaveLength(1);
    await settle();
    expect(runner.begun).toHaveLength(2);
    expect(bench.dispatcher.open).toBe(2);
    expect(bench.notices).toHaveLength(1);
  });

  it("an attempt that is made again draws on the budget, what follows a reply does not", async () => {
    bench.rules.set("mail", budget("mail", 2));
    const [run, replied] = mails(2);
    runner.onRun = async ({ runId }) => {
      const tries = runner.ids.filter((id) => id === runId).length;
      if (runId === run!.runId) return again(bench.now(), { holdsLane: true, replied: false });
      return tries < 4 ? again(bench.now(), { holdsLane: false, replied: true }) : ENDED;
    };
    bench.dispatcher.start();
    bench.dispatcher.enqueue([run!]);
    await expect.poll(() => bench.dispatcher.pausedScopes().length, PATIENT).toBe(1);
    expect(runner.begun).toHaveLength(2);
    bench.dispatcher.enqueue([{ ...replied!, begun: true, replied: true }]);
    await expect.poll(() => runner.begun.length, PATIENT).toBe(6);
    expect(bench.dispatcher.open).toBe(1);
  });

  it.each([
    ["an agent run", agentSpec()],
    ["a text that is sent as it is", agentSpec({ mode: "deliver" })],
    ["a wake", wakeSpec()],
  ])("begins %s when its count is on disk, so that a crash lets no more begin", async (_, spec) => {
    bench.rules.set("mail", budget("mail", 1));
    const counted = Promise.withResolvers<void>();
    const store = new Proxy(bench.store, {
      get: (target, name) => {
        if (name !== "addUsage") return Reflect.get(target, name, target).bind?.(target);
        return (usage: readonly Usage[]) => counted.promise.then(() => target.addUsage(usage));
      },
    });
    await bench.startWith({ store });
    await bench.enqueueAs({ mappingId: "mail" }, spec);
    await settle();
    const begun = (): readonly unknown[] => [...bench.host.runs, ...bench.host.sent, ...bench.host.events];
    expect(begun()).toEqual([]);
    counted.resolve();
    await bench.settledRuns(1);
    expect(begun()).not.toEqual([]);
  });

  it("wakes draw on budgets as well, and continue in their order when their mapping is resumed", async () => {
    bench.rules.set("mail", budget("mail", 1));
    bench.dispatcher.start();
    await bench.enqueueAs({ mappingId: "mail" }, ...wakes("one", "two", "three"));
    await bench.enqueueAs({ mappingId: "other" }, ...wakes("other"));
    await bench.settledRuns(2);
    expect(texts().toSorted()).toEqual(["one", "other"]);
    expect(bench.dispatcher.open).toBe(2);
    bench.rules.delete("mail");
    const resumed = bench.dispatcher.resume("mail");
    await bench.enqueueAs({ mappingId: "mail" }, ...wakes("four"));
    await resumed;
    await bench.settledRuns(5);
    expect(texts().filter((text) => text !== "other")).toEqual(["one", "two", "three", "four"]);
  });

  it("wakes wait while everything is paused, also in the midst of a batch", async () => {
    bench.rules.set("mail", budget("*", 1));
    bench.dispatcher.start();
    await bench.enqueueAs({ mappingId: "mail" }, ...wakes("one", "two"));
    await bench.enqueueAs({}, ...wakes("three"));
    await bench.settledRuns(1);
    await settle();
    expect(texts()).toEqual(["one"]);
    bench.rules.delete("mail");
    await bench.dispatcher.resume("*");
    await bench.settledRuns(3);
    expect(texts()).toEqual(["one", "two", "three"]);
  });

  it("wakes of a mapping that is paused for longer stay aside when another is resumed", async () => {
    bench.dispatcher.start();
    await bench.dispatcher.pause("mail", "a person wants to look");
    await bench.dispatcher.pause("other", "a person wants to look");
    await bench.enqueueAs({ mappingId: "mail" }, ...wakes("mail"));
    await bench.enqueueAs({ mappingId: "other" }, ...wakes("other"));
    await settle();
    await bench.dispatcher.resume("other");
    await bench.settledRuns(1);
    expect(texts()).toEqual(["other"]);
  });

  it("a person's pause lets runs in progress finish and starts no others until it is resumed", async () => {
    runner = new ScriptedRunner();
    await bench.restart({ agents: () => runner });
    bench.dispatcher.start();
    const [first, second] = mails(2);
    bench.dispatcher.enqueue([first!]);
    expect(await bench.dispatcher.pause("mail", "a person wants to look")).toBe(true);
    expect(await bench.dispatcher.pause("mail", "again")).toBe(false);
    expect(bench.dispatcher.pausedScopes().map(({ reason }) => reason)).toEqual(["a person wants to look"]);
    bench.dispatcher.enqueue([second!]);
    runner.end(first!.runId);
    await settle();
    expect(runner.ids).toEqual([first!.runId]);
    expect(bench.notices).toEqual([]);
    await bench.dispatcher.resume("mail");
    expect(runner.ids).toEqual([first!.runId, second!.runId]);
  });

  it("a pause that cannot be written does not take effect, and a resumption neither", async () => {
    const error = new StoreError("UNAVAILABLE", "the disk is full");
    await bench.startWith({ agents: () => runner, store: failing(bench.store, "pause", { count: 1, error }) });
    await expect(bench.dispatcher.pause("mail", "why")).rejects.toThrow("the disk is full");
    expect(bench.dispatcher.pausedScopes()).toEqual([]);
    await bench.startWith({ agents: () => runner, store: failing(bench.store, "resume", { count: 1, error }) });
    await bench.dispatcher.pause("mail", "why");
    await expect(bench.dispatcher.resume("mail")).rejects.toThrow("the disk is full");
    expect(bench.dispatcher.pausedScopes()).toHaveLength(1);
  });

  it("a budget's pause takes effect at once and is written when the store can write again", async () => {
    const error = new StoreError("UNAVAILABLE", "the disk is full");
    await bench.startWith({ agents: () => runner, store: failing(bench.store, "pause", { count: 1, error }) });
    bench.rules.set("mail", budget("mail", 1));
    bench.dispatcher.enqueue(mails(2));
    await expect.poll(() => bench.dispatcher.pausedScopes().length, PATIENT).toBe(1);
    await expect.poll(() => bench.store.pauses(), PATIENT).toHaveLength(1);
  });

  it("a budget's pause holds in memory when it cannot be written at all, and the log says so", async () => {
    const error = new StoreError("INVALID", "too many pauses");
    await bench.startWith({ agents: () => runner, store: failing(bench.store, "pause", { count: 1, error }) });
    bench.rules.set("it's mail", budget("it's mail", 1));
    bench.dispatcher.enqueue([openRun({ mappingId: "it's mail" }), openRun({ mappingId: "it's mail" })]);
    await expect.poll(() => bench.logged, PATIENT).toEqual(["a pause could not be written"]);
    expect(bench.dispatcher.pausedScopes()).toHaveLength(1);
    expect(bench.notices[0]!.text).toContain("reveille hooks resume 'it'\\''s mail'");
    expect(runner.begun).toHaveLength(1);
    expect(await bench.dispatcher.resume("it's mail")).toBe(true);
    await expect.poll(() => runner.begun.length, PATIENT).toBe(2);
  });
});

function agents(count: number): ReturnType<typeof agentSpec>[] {
  return Array.from({ length: count }, (_, at) => agentSpec({ sessionKey: `agent:main:hook:${at}` }));
}
