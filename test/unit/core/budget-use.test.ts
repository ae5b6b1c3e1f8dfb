import { expect, it } from "vitest";
import { budgetParts } from "../../../src/core/budget-use.ts";

it("shows each limit of a budget with what is used of it, in its own unit", () => {
  const budget = {
    perHour: { used: 1, limit: 4 },
    perDay: null,
    tokens: { perHour: null, perDay: { used: 1_500, limit: 1_000 } },
    cost: { perHour: { used: 0.05, limit: 0.2 }, perDay: null },
  };
  expect(budgetParts(budget)).toEqual([
    { measure: "runs", used: "1", limit: "4", when: "in an hour", share: 0.25 },
    { measure: "tokens", used: "1500 tokens", limit: "1000 tokens", when: "in a day", share: 1.5 },
    { measure: "cost", used: "$0.05", limit: "$0.2", when: "in an hour", share: 0.25 },
  ]);
  expect(budgetParts(null)).toEqual([]);
});
