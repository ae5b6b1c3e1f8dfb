import { describe, expect, it } from "vitest";
import type { Action } from "../../../src/core/delivery.ts";
import { completeAction } from "../../../src/mapping/render-action.ts";

const wake = (text: string): Action => ({ kind: "wake", text, mode: "now" });
const agent = (message: string): Action => ({
  kind: "agent",
  message,
  wakeMode: "now",
  deliver: true,
  channel: "last",
});

describe("a mapping's action", () => {
  it.each([wake("something"), agent(" something ")])("with something to read is taken as it is: %j", (action) => {
    expect(completeAction(action, "ci")).toBe(action);
  });

  it.each<[string, Action, string]>([
    ["wake", wake(""), "text"],
    ["wake", wake(" \n\t\u00a0"), "text"],
    ["agent", agent(""), "message"],
    ["agent", agent("\r\n "), "message"],
  ])("spec 7: of kind %s that is blank is refused with 400, naming mapping and field: %j", (_kind, action, field) => {
    expect(completeAction(action, "ci")).toEqual({
      refused: "INVALID_ACTION",
      message: `The mapping "ci" requires a ${field}, and it came out blank for this payload.`,
      retryAfterSeconds: undefined,
    });
  });
});
