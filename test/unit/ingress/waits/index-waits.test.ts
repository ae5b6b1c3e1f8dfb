import { describe, expect, it } from "vitest";
import type { PayloadContext } from "../../../../src/core/delivery.ts";
import type { Wait, WaitMatch } from "../../../../src/core/wait.ts";
import { MAX_ALIKE, MAX_SHAPES, WaitIndex } from "../../../../src/ingress/waits/index-waits.ts";
import { newWait } from "./new-wait.ts";

const HOOK = { id: "ci", preset: "github" };

function context(payload: object, event?: string): PayloadContext {
  return { path: "ci", headers: {}, query: {}, payload, now: new Date(0), event };
}

function indexOf(...matches: readonly WaitMatch[]): { index: WaitIndex; waits: readonly Wait[] } {
  const index = new WaitIndex();
  const waits = matches.map((match, at) => newWait({ id: `wait_${at}`, all: [match] }));
  for (const wait of waits) index.add(wait);
  return { index, waits };
}

function found(index: WaitIndex, payload: object, event?: string): readonly string[] {
  return [...(index.find(HOOK, context(payload, event))?.keys() ?? [])].toSorted();
}

describe("the waits that an event is for", () => {
  it("are those of its hook and its sender", () => {
    const { index } = indexOf({ hook: "ci" }, { hook: "other" }, { sender: "github" }, { sender: "stripe" });
    expect(found(index, {})).toEqual(["wait_0", "wait_2"]);
    expect(index.find({ id: "x", preset: undefined }, context({}))).toBeUndefined();
  });

  it("are those of its name, without regard to case, or of a pattern", () => {
    const { index } = indexOf({ hook: "ci", event: "Push" }, { hook: "ci", event: "workflow_run.*" });
    expect(found(index, {}, "push")).toEqual(["wait_0"]);
    expect(found(index, {}, "workflow_run.completed")).toEqual(["wait_1"]);
    expect(found(index, {}, "issues.opened")).toEqual([]);
    expect(found(index, {})).toEqual([]);
  });

  it("have the value of the payload, whether that is a text, a number or a truth value", () => {
    const at = (equals: string): WaitMatch => ({ hook: "ci", correlation: { path: "deploy.id", equals } });
    const { index } = indexOf(at("7"), at("true"), at("x"));
    expect(found(index, { deploy: { id: 7 } })).toEqual(["wait_0"]);
    expect(found(index, { deploy: { id: "7" } })).toEqual(["wait_0"]);
    expect(found(index, { deploy: { id: true } })).toEqual(["wait_1"]);
    for (const payload of [{}, { deploy: { id: [7] } }, { deploy: { id: null } }])
      expect(found(index, payload)).toEqual([]);
    expect(found(index, JSON.parse('{"__proto__":{"deploy":{"id":7}}}') as object)).toEqual([]);
  });

  it("meet their condition", () => {
    const { index } = indexOf({ hook: "ci", when: "payload.ok == true" }, { hook: "ci", when: "payload.n > 1.0" });
    expect(found(index, { ok: true })).toEqual(["wait_0"]);
    expect(found(index, { n: 2 })).toEqual(["wait_1"]);
  });

  it("are gone when they are removed, and the hook costs one look-up again", () => {
    const { index, waits } = indexOf({ hook: "ci", event: "push" }, { hook: "ci", event: "push" });
    index.remove(waits[0]!);
    expect(found(index, {}, "push")).toEqual(["wait_1"]);
    index.remove(waits[1]!);
    expect(found(index, {}, "push")).toEqual([]);
    const untouched = new Proxy(context({}), {
      get: () => {
        throw new Error("The event was looked at.");
      },
    });
    expect(index.find(HOOK, untouched)).toBeUndefined();
  });
});

describe("what an event costs", () => {
  it("does not grow with the waits: of a thousand with other values none is looked at", () => {
    let evaluated = 0;
    const matches = Array.from({ length: 1_000 }, (_, at) => ({
      hook: "ci",
      when: "payload.ok",
      correlation: { path: "id", equals: String(at) },
    }));
    const { index } = indexOf(...matches);
    const payload = {
      id: 500,
      get ok(): boolean {
        evaluated++;
        return true;
      },
    };
    expect(found(index, payload)).toEqual(["wait_500"]);
    expect(evaluated).toBeLessThanOrEqual(2);
  });

  it("has a bound: so many forms for one hook, and so many that are alike", () => {
    const shapes = Array.from({ length: MAX_SHAPES }, (_, at) => ({ hook: "ci", event: `e${at}` }));
    const full = indexOf(...shapes).index;
    expect(
      full.problem([
        { hook: "ci", event: "e0" },
        { hook: "other", event: "new" },
      ]),
    ).toBeUndefined();
    expect(full.problem([{ hook: "ci", event: "new" }])).toContain(`in ${MAX_SHAPES} ways`);
    const alike = indexOf(...Array.from({ length: MAX_ALIKE }, () => ({ hook: "ci", event: "push" }))).index;
    expect(alike.problem([{ hook: "ci", event: "PUSH" }])).toContain("correlation");
    const correlation = { path: "id", equals: "1" };
    expect(alike.problem([{ hook: "ci", event: "push", correlation }])).toBeUndefined();
  });
});
