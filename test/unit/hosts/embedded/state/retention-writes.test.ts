import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { MAIN, NOW, openState, run, turn } from "./opened-state.ts";

let state: Awaited<ReturnType<typeof openState>>;

beforeEach(async () => {
  state = await openState();
});

describe("forgetting the transcripts of runs", () => {
  it("removes what is older, with the sessions that become empty, and what is younger stays", () => {
    state.commit(...run("r1", 10, "hook:a"), ...run("r2", 20, "hook:b"), ...run("r3", 30, "hook:b"), ...run("r4", 40));
    state.forget(30);
    expect(state.sessions()).toEqual({ "hook:b": 2, "hook:x": 2 });
    expect(state.texts("hook:b")).toEqual(["prompt of r3", "reply"]);
    state.forget(50);
    expect(state.sessions()).toEqual({});
  });

  it("never touches what a session said itself, nor a session with a life of its own", () => {
    state.commit(turn(10), ...run("r1", 11, MAIN), turn(12), [
      "enqueue",
      { sessionKey: "s", key: "k", text: "e", at: 1 },
    ]);
    state.forget(NOW);
    expect(state.texts(MAIN)).toEqual(["asked at 10", "answered at 10", "asked at 12", "answered at 12"]);
    expect(state.sessions()).toEqual({ [MAIN]: 4, s: 0 });
    state.commit(
      ["setRoute", { sessionKey: "routed", channel: "console", to: "ada", at: 20 }],
      ...run("r2", 21, "routed"),
    );
    state.forget(NOW);
    expect(state.sessions()).toEqual({ [MAIN]: 4, s: 0, routed: 0 });
  });

  it("takes a few messages in a step, and continues where the step before ended", () => {
    const runs = Array.from({ length: 100 }, (_, at) => run(`r${at}`, at)).flat();
    for (let at = 0; at < 300; at++) state.commit(turn(at));
    state.commit(...runs);
    expect(state.forget(NOW)).toEqual([0, 0, 32, 32, 32, 32, 32, 32, 8, 0]);
    expect(state.sessions()).toEqual({ [MAIN]: 600 });
  });

  it("takes less when the messages are large, and one at least", () => {
    const large = "x".repeat(400_000);
    state.commit(...run("r1", 1, "hook:a", large), ...run("r2", 2, "hook:b", large), ...run("r3", 3, "hook:c", large));
    expect(state.forget(10)).toEqual([3, 2, 1, 0]);
    expect(state.sessions()).toEqual({});
  });

  it("passes over messages of a time when the clock was wrong", () => {
    state.commit(...run("future", NOW + 500, "hook:future"), ...run("old", 5, "hook:old"));
    state.forget(10);
    expect(state.sessions()).toEqual({ "hook:future": 2 });
  });

  it("ends at the first message that is young, without looking at the rest", () => {
    state.commit(...run("young", 500), ...run("r1", 600));
    expect(state.step(100)).toEqual({ removed: 0, next: null });
  });

  it("keeps the counts right, whatever the order of things", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom("hook:a", "hook:b", MAIN), fc.boolean(), fc.nat(3)), { maxLength: 30 }),
        fc.nat(100),
        async (writes, before) => {
          const own = await openState();
          let at = 0;
          for (const [index, [key, isTurn, later]] of writes.entries()) {
            at += later;
            own.commit(...(isTurn ? [turn(at)] : run(`r${index}`, at, key)));
          }
          own.forget(before);
          for (const [key, count] of Object.entries(own.sessions())) {
            expect(own.texts(key)).toHaveLength(count);
          }
          const turns = writes.filter(([, isTurn]) => isTurn).length;
          expect(own.texts(MAIN).filter((text) => text.startsWith("asked"))).toHaveLength(turns);
        },
      ),
      { numRuns: 20 },
    );
  });
});
