import { describe, expect, it } from "vitest";
import type { PayloadContext } from "../../../src/core/delivery.ts";
import { readWaitCondition, type WaitWish } from "../../../src/config/wait-wish.ts";
import { compileWait } from "../../../src/mapping/compile-wait.ts";

const context = (payload: unknown): PayloadContext => ({
  path: "opened",
  headers: {},
  query: {},
  payload,
  now: new Date(0),
});
const compiled = (wish: Omit<WaitWish, "withinSeconds">) =>
  compileWait({ wish: { ...wish, withinSeconds: 60 }, condition: readWaitCondition(wish), run: true });
const byId = { hook: "ci", correlation: { path: "pr.id", equals: "{{id}}" } };

describe("what an event makes a session wait for", () => {
  it("has the values of the event in its note and in every correlation", () => {
    const none = [{ hook: "alerts", correlation: { path: "service", equals: "shop-{{id}}" } }];
    const wait = compiled({
      all: [byId, { hook: "deploys" }],
      none,
      quietSeconds: 5,
      note: " the build of {{title}} ",
    });
    expect(wait.termsOf(context({ id: 7, title: "a fix" }))).toEqual({
      condition: {
        all: [{ hook: "ci", correlation: { path: "pr.id", equals: "7" } }, { hook: "deploys" }],
        any: [],
        none: [{ hook: "alerts", correlation: { path: "service", equals: "shop-7" } }],
        quietMs: 5_000,
      },
      note: "the build of a fix",
    });
  });

  it.each([
    [{}, "its payload has nothing for the value of pr.id"],
    [{ id: null }, "its payload has nothing for the value of pr.id"],
    [{ id: "x".repeat(257) }, "the value of pr.id is longer than 256 characters"],
  ])("is nothing with the payload %j", (payload, problem) => {
    expect(compiled(byId).termsOf(context(payload))).toBe(problem);
  });

  it("takes a payload's placeholders as text, reads own properties only, and cuts a note", () => {
    const wait = compiled({ ...byId, note: "{{text}}{{__proto__.a}}{{constructor.name}}" });
    const payload = { id: "{{text}}", text: `{{id}}${"y".repeat(2_000)}` };
    const terms = wait.termsOf(context(payload));
    expect(terms).toMatchObject({ condition: { all: [{ correlation: { equals: "{{text}}" } }] } });
    expect((terms as { note: string }).note).toMatch(/^\{\{id\}\}y+/u);
    expect((terms as { note: string }).note.length).toBeLessThanOrEqual(1_000);
  });
});
