import { describe, expect, it } from "vitest";
import { compileEventPatterns } from "../../../src/mapping/filter.ts";

const takes = (patterns: readonly string[], event: string): boolean => compileEventPatterns(patterns).matches(event);

describe("events", () => {
  it.each([
    [["push"], "push"],
    [["Push"], "pUSH"],
    [["a", "pull_request.*"], "pull_request.opened"],
    [["*.failed"], "invoice.payment.failed"],
    [["*"], "anything"],
    [["customer.*.created"], "customer.card.created"],
  ])("%j take %s", (patterns, event) => {
    expect(takes(patterns, event)).toBe(true);
  });

  it.each([
    [["push"], "pushed"],
    [["pull_request"], "pull_request.opened"],
    [["pull_request.*"], "pull_request"],
    [["a.b"], "axb"],
    [["constructor"], "toString"],
    [["push"], ""],
  ])("%j do not take %s", (patterns, event) => {
    expect(takes(patterns, event)).toBe(false);
  });

  it("take a request that carries several when any of them is taken", () => {
    expect(takes(["open"], "click+open+bounce")).toBe(true);
    expect(takes(["bou*"], "click+open+bounce")).toBe(true);
    expect(takes(["delivered"], "click+open+bounce")).toBe(false);
    expect(takes(["c++.built"], "c++.built")).toBe(true);
  });
});
