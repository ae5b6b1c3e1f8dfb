import { describe, expect, it } from "vitest";
import type { Wait } from "../../../../src/core/wait.ts";
import { explainWait } from "../../../../src/ingress/waits/explain-wait.ts";
import {
  afterEvent,
  afterQuiet,
  begun,
  openPlaces,
  quietUntil,
  type WaitPlace,
} from "../../../../src/ingress/waits/progress.ts";
import { newWait } from "./new-wait.ts";

const FIRST = { list: "all", index: 0 } as const;
const SECOND = { list: "all", index: 1 } as const;
const ALERT = { list: "none", index: 0 } as const;
const event = (at: number) => ({ at, hook: "ci", event: "push", text: `at ${at}` });
const two = {
  all: [
    { hook: "ci", event: "merged" },
    { hook: "ci", event: "live" },
  ],
};
const release = begun(newWait({ ...two, none: [{ hook: "alerts" }], quietMs: 600 }), 0);

/** The wait after events, of which none fulfils it. */
function after(wait: Wait, ...events: readonly (readonly [number, WaitPlace])[]): Wait {
  let current = wait;
  for (const [at, place] of events) {
    if (openPlaces(current, [place]).length === 0) continue;
    const step = afterEvent(current, [place], event(at));
    expect(step.fires).toBe(false);
    current = step.next!;
  }
  return current;
}

describe("a wait for several events", () => {
  it("is fulfilled by the last of all, in any order, and counts each once", () => {
    const half = after(begun(newWait(two), 0), [1, SECOND]);
    expect(openPlaces(half, [SECOND])).toEqual([]);
    const step = afterEvent(half, [FIRST], event(2));
    expect(step).toMatchObject({ fires: true, next: null });
    expect(step.seen.map(({ at }) => at)).toEqual([1, 2]);
  });

  it("is fulfilled by one of any, together with all", () => {
    const wait = begun(newWait({ all: [{ hook: "ci" }], any: [{ hook: "a" }, { hook: "b" }] }), 0);
    const half = after(wait, [1, { list: "any", index: 1 }]);
    expect(afterEvent(half, [FIRST], event(2)).fires).toBe(true);
  });

  it("begins again until it was fulfilled so many times", () => {
    const wait = begun(newWait({ all: [{ hook: "ci" }], times: 2 }), 0);
    const first = afterEvent(wait, [FIRST], event(1));
    expect(first).toMatchObject({ fires: true, next: { times: 1, seen: [] } });
    expect(afterEvent(first.next!, [FIRST], event(2))).toMatchObject({ fires: true, next: null });
  });
});

describe("a wait for an absence", () => {
  it("counts from when the rest has come, and again from each event that it excludes", () => {
    expect(openPlaces(release, [ALERT])).toEqual([]);
    const merged = after(release, [10, ALERT], [100, FIRST]);
    expect(quietUntil(merged)).toBeUndefined();
    const complete = after(merged, [200, SECOND]);
    expect(quietUntil(complete)).toBe(800);
    const disturbed = after(complete, [700, ALERT]);
    expect(quietUntil(disturbed)).toBe(1_300);
    expect(afterQuiet(disturbed, 1_300)).toMatchObject({ fires: true, next: null, seen: [{ at: 100 }, { at: 200 }] });
  });

  it("alone counts from the beginning", () => {
    expect(quietUntil(begun(newWait({ none: [{ hook: "ci" }], quietMs: 600 }), 50))).toBe(650);
  });

  it("is not fulfilled after the deadline", () => {
    const late = after({ ...release, until: 700 }, [100, FIRST], [200, SECOND]);
    expect(quietUntil(late)).toBeUndefined();
    expect(explainWait(late).join(" ")).toContain("the deadline comes before");
  });
});

it("a wait says what has come, what is missing and when it would be fulfilled", () => {
  const half = after(release, [1_000, FIRST]);
  expect(explainWait({ ...half, until: 5_000 })).toEqual([
    "merged of ci came at 1970-01-01T00:00:01.000Z (ci).",
    "live of ci has not come yet.",
    "After that, no a call of alerts for 0.6 seconds.",
    "The deadline is 1970-01-01T00:00:05.000Z.",
  ]);
  expect(explainWait(after(half, [2_000, SECOND]))).toContain(
    "No a call of alerts since 1970-01-01T00:00:02.000Z: fulfilled at 1970-01-01T00:00:02.600Z, unless one comes.",
  );
  const any = newWait({ any: [{ hook: "a", when: "payload.ok" }, { sender: "github" }] });
  expect(explainWait(any)[0]).toBe("None of a call of a when payload.ok, a call of github has come yet.");
});
