import { describe, expect, it } from "vitest";
import { actOf, answerOf, CANCELED, keptOf } from "../../../../../src/hosts/embedded/agents/acp-acts.ts";

describe("what an agent says of a tool call", () => {
  it("is kept in part, with a digest of all that it would do", () => {
    const before = keptOf(actOf({ title: "t".repeat(50_000), rawInput: { text: "x".repeat(50_000) } }, undefined));
    expect(before.title).toHaveLength(1_000);
    expect(before.input).toMatch(/ … sha256:[0-9a-f]{64}$/u);
    expect(before.input!.length).toBeLessThan(21_000);
  });
});

describe("the answer to a question", () => {
  const once = { optionId: "once", name: "Once", kind: "allow_once" } as const;
  const always = { optionId: "always", name: "Always", kind: "allow_always" } as const;

  it("is for one call and never for longer", () => {
    expect(answerOf([always, once], { isAllowed: true })).toEqual({
      outcome: { outcome: "selected", optionId: "once" },
    });
    expect(answerOf([always], { isAllowed: true })).toBe(CANCELED);
  });

  it("is none of an option that is too long, or behind too many others", () => {
    expect(answerOf([{ ...once, optionId: "o".repeat(1_001) }], { isAllowed: true })).toBe(CANCELED);
    expect(answerOf([...Array.from({ length: 100 }, () => always), once], { isAllowed: true })).toBe(CANCELED);
  });
});
