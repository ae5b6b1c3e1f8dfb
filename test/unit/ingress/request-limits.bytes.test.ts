import { describe, expect, it } from "vitest";
import { ByteBudget } from "../../../src/ingress/request-limits.ts";

describe("the budget of unverified bytes", () => {
  it("is given out up to its limit and not one byte further", () => {
    const budget = new ByteBudget({ limit: () => 100 });
    expect(budget.reserve(60)).toBe(true);
    expect(budget.reserve(41)).toBe(false);
    expect(budget.reserve(40)).toBe(true);
    expect(budget.reserved).toBe(100);
    budget.release(60);
    expect(budget.reserve(61)).toBe(false);
    expect(budget.reserve(60)).toBe(true);
  });

  it("lets a single request in however large it is, and then no other", () => {
    const budget = new ByteBudget({ limit: () => 100 });
    expect(budget.reserve(1_000)).toBe(true);
    expect(budget.reserve(1)).toBe(false);
    budget.release(1_000);
    expect(budget.reserved).toBe(0);
    expect(budget.reserve(1)).toBe(true);
  });

  it("follows the active limit", () => {
    let limit = 10;
    const budget = new ByteBudget({ limit: () => limit });
    budget.reserve(10);
    expect(budget.reserve(5)).toBe(false);
    limit = 20;
    expect(budget.reserve(5)).toBe(true);
  });
});
