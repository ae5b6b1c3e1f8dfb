import { isCelList, isCelMap } from "@bufbuild/cel";
import { describe, expect, it } from "vitest";
import { ConditionBudget } from "../../../../src/mapping/condition/budget.ts";
import { ConditionValues } from "../../../../src/mapping/condition/values.ts";

function show(value: unknown): unknown {
  const budget = new ConditionBudget();
  budget.begin();
  return new ConditionValues(budget).show(value);
}

describe("data as a condition sees it", () => {
  it("is a map of own properties for an object", () => {
    const map = show(Object.assign(Object.create({ inherited: 1 }) as object, { a: 1, b: null }));
    if (!isCelMap(map)) throw new Error("no map");
    expect([map.size, map.get("a"), map.get("b"), map.get("inherited"), map.get(1n)]).toEqual([
      2,
      1,
      null,
      undefined,
      undefined,
    ]);
    expect([map.has("b"), map.has("inherited"), map.has(1n)]).toEqual([true, false, false]);
    expect([...map]).toEqual([
      ["a", 1],
      ["b", null],
    ]);
    expect([[...map.keys()], [...map.values()]]).toEqual([
      ["a", "b"],
      [1, null],
    ]);
    const seen: unknown[] = [];
    map.forEach((value, key) => seen.push(key, value));
    expect(seen).toEqual(["a", 1, "b", null]);
  });

  it("is a list for an array, without anything at other places than its indexes", () => {
    const list = show(["a", { b: 1 }]);
    if (!isCelList(list)) throw new Error("no list");
    expect([list.size, list.get(0), list.get(2), list.get(-1), list.get(0.5)]).toEqual([
      2,
      "a",
      undefined,
      undefined,
      undefined,
    ]);
    expect([...list].map(isCelMap)).toEqual([false, true]);
  });

  it("is the same each time it is inspected", () => {
    const map = show({ a: { b: [1] } });
    if (!isCelMap(map)) throw new Error("no map");
    expect(map.get("a")).toBe(map.get("a"));
  });

  it.each([[undefined], [Symbol("a")], [() => 1]])("is null for %s, which JSON does not have", (value) => {
    expect(show(value)).toBeNull();
  });

  it("charges for each look and each pass, also once an evaluation has used up what it had", () => {
    const budget = new ConditionBudget();
    const values = new ConditionValues(budget);
    budget.begin();
    const list = values.show([1, 2]);
    const map = values.show({ a: 1 });
    if (!isCelList(list) || !isCelMap(map)) throw new Error("neither list nor map");
    expect(() => budget.charge(500_001)).toThrow("takes too much work for this payload");
    for (const look of [
      () => list.get(0),
      () => list.values(),
      () => map.get("a"),
      () => map.has("a"),
      () => map.keys(),
    ]) {
      expect(look).toThrow("takes too much work for this payload");
    }
    budget.begin();
    expect(list.get(0)).toBe(1);
  });
});
