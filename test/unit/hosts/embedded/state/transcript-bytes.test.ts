import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { forgetting, MAIN, NOW, openState, ROW, run, turn } from "./opened-state.ts";

let state: Awaited<ReturnType<typeof openState>>;

beforeEach(async () => {
  state = await openState();
});

describe("a bound for the transcripts of runs", () => {
  /** One run whose two messages count for 1,000 bytes. */
  const sized = (runId: string, at: number, key = `hook:${runId}`) => {
    const text = "ü".repeat((1_000 - 2 * ROW - `prompt of ${runId}`.length) / 2);
    return run(runId, at, key, text);
  };
  const names = (count: number) => Array.from({ length: count }, (_, at) => `r${1_000 + at}x`);

  it("removes the oldest whatever their age, in bytes of UTF-8, until the rest fits", () => {
    const [a, b, c, d] = names(4) as [string, string, string, string];
    state.commit(...sized(a, 10), ...sized(b, 20), ...sized(c, 30), ...sized(d, 40));
    expect(state.summed()).toBe(4_000);
    state.forget(0, { maxBytes: 4_000 });
    expect(state.summed()).toBe(4_000);
    state.forget(0, { maxBytes: 2_000 });
    expect(Object.keys(state.sessions()).toSorted()).toEqual([`hook:${c}`, `hook:${d}`]);
    state.forget(0, { maxBytes: 1_999 });
    expect(state.texts(`hook:${c}`)).toHaveLength(1);
    expect(state.counted()).toEqual({ through: 8, bytes: state.summed() });
  });

  it("neither counts nor removes what a session said itself", () => {
    for (let at = 0; at < 300; at++) state.commit(turn(at));
    state.commit(...sized("r1000x", 400, MAIN), turn(401), ...sized("r1001x", 402, MAIN));
    state.forget(0, { maxBytes: 1_000 });
    expect(state.sessions()).toEqual({ [MAIN]: 604 });
    state.forget(0, { maxBytes: 0 });
    expect(state.sessions()).toEqual({ [MAIN]: 602 });
    expect(state.counted()).toMatchObject({ bytes: 0 });
  });

  it("leaves runs in progress alone until they have ended or must have been cut off", () => {
    const begin = (runId: string, at: number) =>
      ["beginRun", { sessionKey: "hook:x", runId, prompt: `prompt of ${runId}`, at }] as const;
    const names20 = Array.from({ length: 20 }, (_, at) => `open-${at}`);
    state.commit(...names20.map((name) => begin(name, 10)), ...run("done", 11), begin("last", 50));
    const removed = state.forget(0, { maxBytes: 0, endedBefore: 10 });
    expect(removed.reduce((sum, count) => sum + count)).toBe(2);
    expect(state.texts("hook:x")).toHaveLength(21);
    state.commit(["endRun", { sessionKey: "hook:x", runId: "open-3", role: "error", text: "aborted", at: 60 }]);
    state.forget(0, { maxBytes: 0, endedBefore: 10 });
    expect(state.texts("hook:x")).not.toContain("prompt of open-3");
    expect(state.texts("hook:x")).toHaveLength(20);
    state.forget(0, { maxBytes: 0, endedBefore: 11 });
    expect(state.texts("hook:x")).toEqual(["prompt of last"]);
  });

  it("inspects few runs in progress in one step", () => {
    const begin = (n: number) => ["beginRun", { sessionKey: `hook:${n}`, runId: `r${n}`, prompt: "p", at: 1 }] as const;
    state.commit(...Array.from({ length: 20 }, (_, n) => begin(n)));
    expect(state.step(0, 0, { maxBytes: 0 })).toEqual({ removed: 0, next: 8 });
    expect(state.step(0, 8, { maxBytes: 0 })).toEqual({ removed: 0, next: 16 });
  });

  it("counts and removes a few messages in a step", () => {
    state.commit(...names(400).flatMap((name, at) => sized(name, at)));
    const first = state.step(0, 0, { maxBytes: 0 });
    expect(first).toEqual({ removed: 32, next: 32 });
    expect(state.counted()).toEqual({ through: 256, bytes: 112_000 });
    const removed = state.forget(0, { maxBytes: 100_000 });
    expect(Math.max(...removed)).toBe(32);
    expect(state.summed()).toBe(100_000);
    expect(state.counted()).toEqual({ through: 800, bytes: 100_000 });
  });

  it("continues until all are counted, though nothing is to go", () => {
    state.commit(...names(400).flatMap((name, at) => sized(name, at)));
    for (let counted = 256; counted < 800; counted += 256) {
      expect(state.step(0, 0, { maxBytes: 500_000 })).toEqual({ removed: 0, next: 0 });
    }
    expect(state.step(0, 0, { maxBytes: 500_000 })).toEqual({ removed: 0, next: null });
  });

  it("knows what it had counted after a restart, and counts what came since", async () => {
    state.commit(...sized("r1000x", 10), ...sized("r1001x", 20));
    state.forget(0, { maxBytes: 5_000 });
    expect(state.counted()).toEqual({ through: 4, bytes: 2_000 });
    state.commit(...sized("r1002x", 30));
    await state.restart();
    expect(state.counted()).toEqual({ through: 4, bytes: 2_000 });
    state.forget(0, { maxBytes: 2_000 });
    expect(Object.keys(state.sessions()).toSorted()).toEqual(["hook:r1001x", "hook:r1002x"]);
    expect(state.counted()).toEqual({ through: 6, bytes: 2_000 });
  });

  it("takes away what a full session drops, right after a restart too", async () => {
    state.commit(...names(100).flatMap((name, at) => sized(name, at, "hook:x")));
    state.forget(0, { maxBytes: 500_000 });
    await state.restart();
    state.commit(...sized("r2000x", 200, "hook:x"));
    expect(state.texts("hook:x")).toHaveLength(200);
    expect(state.counted()).toEqual({ through: 200, bytes: 99_000 });
    state.forget(0, { maxBytes: 500_000 });
    expect(state.counted()).toEqual({ through: 202, bytes: 100_000 });
  });

  it("stays correct when everything was removed and ids start over", () => {
    state.commit(...sized("r1000x", 10), ...sized("r1001x", 20));
    state.forget(NOW, { maxBytes: 5_000 });
    expect(state.counted()).toEqual({ through: 0, bytes: 0 });
    state.commit(...sized("r1002x", 30), turn(31));
    state.forget(0, { maxBytes: 5_000 });
    expect(state.counted()).toEqual({ through: 4, bytes: 1_000 });
  });

  it("takes nothing away for what was never counted", () => {
    state.commit(...sized("r1000x", 10), ...sized("r1001x", 20));
    state.forget(15);
    expect(state.counted()).toEqual({ through: 0, bytes: 0 });
    state.forget(0, { maxBytes: 5_000 });
    expect(state.counted()).toEqual({ through: 4, bytes: 1_000 });
  });

  it("is not misled by a commit of which one write failed and was undone", () => {
    state.commit(...sized("r1000x", 10), ...sized("r1001x", 20));
    const outgoing = { channel: "console", idempotencyKey: "k", text: "x" };
    const broken = { sessionKey: MAIN, turnId: "t", user: "u", assistant: "a", eventIds: [], at: 1, outgoing };
    expect(() => state.commit(["forgetRuns", forgetting(0, 0, { maxBytes: 1_000 })], ["appendTurn", broken])).toThrow();
    expect(state.sessions()).toEqual({ "hook:r1001x": 2 });
    expect(state.counted()).toEqual({ through: 4, bytes: 1_000 });
  });

  it("counts correctly, whatever removes messages and in whatever order", async () => {
    const key = fc.constantFrom("hook:a", "hook:b", MAIN);
    const write = fc.oneof(
      fc.record({ kind: fc.constant("runs" as const), key, many: fc.constantFrom(1, 3, 120) }),
      fc.record({ kind: fc.constant("turn" as const) }),
      fc.record({ kind: fc.constant("step" as const), maxBytes: fc.constantFrom(null, 0, 600, 5_000, 50_000) }),
      fc.record({ kind: fc.constant("old" as const), maxBytes: fc.constantFrom(null, 5_000) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(write, { maxLength: 25 }), async (writes) => {
        const own = await openState();
        let at = 0;
        for (const one of writes) {
          at++;
          if (one.kind === "turn") own.commit(turn(at));
          else if (one.kind === "step") own.forget(0, { maxBytes: one.maxBytes });
          else if (one.kind === "old") own.forget(at, { maxBytes: one.maxBytes });
          else own.commit(...Array.from({ length: one.many }, (_, n) => run(`r${at}-${n}`, at, one.key)).flat());
          const counted = own.counted() as { through: number; bytes: number };
          expect(counted.bytes).toBe(own.summed(counted.through));
        }
        own.forget(0, { maxBytes: 1_000 });
        expect(own.counted()).toMatchObject({ bytes: own.summed() });
        expect(own.summed()).toBeLessThanOrEqual(1_000);
      }),
      { numRuns: 20 },
    );
  });
});
