import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CallSchedule } from "../../../../src/transform/sandbox/call-schedule.ts";
import type { ScheduledProcess } from "../../../../src/transform/sandbox/call-schedule.ts";
import { SandboxCall } from "../../../../src/transform/sandbox/call.ts";
import { call } from "./pool-snapshot.ts";

const WINDOW = 4;

/** A process that answers on request. */
class TestProcess implements ScheduledProcess {
  readonly window: SandboxCall[] = [];

  get depth(): number {
    return this.window.length;
  }

  hasRoomFor(): boolean {
    return this.window.length < WINDOW;
  }

  send(sent: SandboxCall): void {
    this.window.push(sent);
  }
}

/** A pool without processes: what the schedule does is seen at once. */
class Bench {
  readonly schedule: CallSchedule;
  readonly processes: TestProcess[] = [];
  readonly answered: SandboxCall[] = [];
  readonly workers: number;
  readonly maxShare: number;
  /** Modules that were answered since they last ended a process. */
  readonly trusted = new Set<number>();
  #asked = 0;

  constructor(modules: number, workers: number) {
    this.workers = workers;
    this.maxShare = Math.max(1, workers - 1);
    this.schedule = new CallSchedule({ modules, workers });
    for (let at = 0; at < workers; at++) this.join();
  }

  join(): void {
    const process = new TestProcess();
    this.processes.push(process);
    this.schedule.join(process);
  }

  ask(module: number): SandboxCall {
    const asked = new SandboxCall(module, call(null), this.#asked++);
    this.schedule.add(asked);
    return asked;
  }

  answer(at: number): void {
    const process = this.processes[at % this.processes.length];
    const first = process?.window.shift();
    if (process === undefined || first === undefined) return;
    this.answered.push(first);
    this.trusted.add(first.module);
    this.schedule.refill(process);
  }

  /** The process is gone, and another takes its place. */
  crash(at: number): void {
    const [process] = this.processes.splice(at % this.processes.length, 1);
    if (process === undefined) return;
    this.schedule.leave(process, process.window[0]?.module);
    const [head, ...behind] = process.window.splice(0);
    if (head !== undefined) {
      this.answered.push(head);
      this.trusted.delete(head.module);
    }
    this.schedule.restore(behind);
    this.join();
  }

  /** A successor is warm. */
  replace(at: number): void {
    const process = this.processes[at % this.processes.length];
    if (process === undefined) return;
    this.join();
    this.schedule.retire(process);
    while (process.depth > 0) this.answer(this.processes.indexOf(process));
    this.schedule.leave(process);
    this.processes.splice(this.processes.indexOf(process), 1);
  }

  check(): void {
    const modulesOf = this.processes.map(({ window }) => new Set(window.map(({ module }) => module)));
    for (const modules of modulesOf) expect(modules.size).toBeLessThanOrEqual(1);
    const shares = Map.groupBy(
      modulesOf.flatMap((modules) => [...modules]),
      (module) => module,
    );
    for (const share of shares.values()) expect(share.length).toBeLessThanOrEqual(this.maxShare);
    for (const [module, waiting] of this.waiting()) {
      const isAtItsShare = (shares.get(module)?.length ?? 0) >= this.maxShare;
      const mayWait = isAtItsShare || (this.workers > 1 && !this.trusted.has(module));
      // No one who is trusted waits beside a process that rests.
      if (waiting > 0 && !mayWait) expect(this.processes.filter(({ depth }) => depth === 0)).toEqual([]);
    }
  }

  waiting(): readonly (readonly [number, number])[] {
    return [0, 1, 2].map((module) => [module, this.schedule.waitingOf(module)] as const);
  }
}

const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant("ask" as const), at: fc.nat(2) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("answer" as const), at: fc.nat(7) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("crash" as const), at: fc.nat(7) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("replace" as const), at: fc.nat(7) }) },
);

describe("the schedule of calls", () => {
  it("carries out each call once, respects shares, and leaves no call waiting beside an idle process", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step, { maxLength: 200 }), (workers, steps) => {
        const bench = new Bench(3, workers);
        const asked: SandboxCall[] = [];
        for (const { do: what, at } of steps) {
          if (what === "ask") asked.push(bench.ask(at));
          else bench[what](at);
          bench.check();
        }
        for (let at = 0; bench.answered.length < asked.length && at < 10_000; at++) bench.answer(at);

        expect(bench.answered.length).toBe(asked.length);
        expect(new Set(bench.answered)).toEqual(new Set(asked));
        expect(bench.schedule.waiting).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  it("leaves one process to the rest when modules end one after the other", () => {
    const bench = new Bench(4, 2);
    bench.ask(3);
    bench.answer(bench.processes.findIndex(({ depth }) => depth > 0));
    for (const module of [0, 1, 2, 0, 1, 2]) {
      bench.ask(module);
      // The process of the one before is not yet replaced.
      const [busy] = bench.processes.filter(({ depth }) => depth > 0);
      expect(bench.processes.filter(({ depth }) => depth > 0)).toHaveLength(1);
      const ordinary = bench.ask(3);
      const other = bench.processes.find((process) => process !== busy);
      expect(other?.window).toEqual([ordinary]);
      bench.answer(bench.processes.findIndex((process) => process === other));
      bench.crash(bench.processes.findIndex((process) => process === busy));
    }
  });

  it("gives one that is new the last process while none is missing, and not once it has ended one", () => {
    const bench = new Bench(3, 2);
    bench.ask(0);
    const second = bench.ask(1);
    expect(bench.processes.map(({ depth }) => depth)).toEqual([1, 1]);
    bench.crash(bench.processes.findIndex(({ window }) => window.includes(second)));
    bench.ask(1);
    expect(bench.schedule.waitingOf(1)).toBe(1);
    const third = bench.ask(2);
    expect(bench.processes.flatMap(({ window }) => window)).toContain(third);
  });

  it("gives one that was never answered the last process when it is the only one there is", () => {
    const bench = new Bench(2, 1);
    bench.ask(0);
    bench.crash(0);
    const second = bench.ask(0);
    bench.answer(0);
    expect(bench.answered).toContain(second);
  });

  it("serves a module that waits after a turn of the one that has the process", () => {
    const bench = new Bench(2, 1);
    for (let at = 0; at < 100; at++) bench.ask(0);
    const late = bench.ask(1);

    for (let at = 0; at < 40 && !bench.answered.includes(late); at++) bench.answer(0);

    expect(bench.answered.indexOf(late)).toBe(16);
  });

  it("answers the calls of a module in their order, also after a crash", () => {
    const bench = new Bench(1, 1);
    const asked = Array.from({ length: 12 }, () => bench.ask(0));
    bench.crash(0);
    while (bench.answered.length < 12) bench.answer(0);

    expect(bench.answered).toEqual(asked);
  });

  it("takes out what waits for too long, and nothing else", () => {
    const bench = new Bench(2, 1);
    const asked = [0, 0, 0, 0, 0, 1, 0, 1].map((module) => bench.ask(module));

    expect(bench.schedule.expire(6)).toEqual([asked[4], asked[5]]);
    expect(bench.schedule.waiting).toBe(2);
  });

  it("has no module but its own", () => {
    expect(() => new Bench(1, 1).ask(1)).toThrow("there is no module 1");
    expect(() => new Bench(1, 1).ask(-1)).toThrow("there is no module -1");
  });
});
