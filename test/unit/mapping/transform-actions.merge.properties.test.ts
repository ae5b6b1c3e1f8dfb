import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Action } from "../../../src/core/delivery.ts";
import { isRefusal } from "../../../src/core/errors.ts";
import { mergeOverride } from "../../../src/mapping/transform-actions.ts";
import { renderAction } from "../../../src/mapping/render-action.ts";
import { mappingOf, requestWith } from "./mappings.ts";

const FIELDS = [
  "kind",
  "text",
  "mode",
  "message",
  "name",
  "agentId",
  "sessionKey",
  "sessionKeySource",
  "wakeMode",
  "deliver",
  "channel",
  "to",
  "model",
  "thinking",
  "timeoutSeconds",
  "allowUnsafeExternalContent",
  "sessionMode",
  "__proto__",
  "unknown",
];
const value = fc.oneof(
  fc.constantFrom(
    "wake",
    "agent",
    "persistent",
    "static",
    "next-heartbeat",
    "now",
    "",
    " ",
    0,
    -1,
    5,
    NaN,
    Infinity,
    true,
    false,
  ),
  fc.constantFrom(null, undefined, Symbol("s"), 7n),
  fc.string(),
  fc.jsonValue(),
);
const override = fc
  .array(fc.tuple(fc.constantFrom(...FIELDS), value), { maxLength: 8 })
  .map((fields) => Object.fromEntries(fields));
const base = fc
  .record({
    action: fc.constantFrom("wake", "agent"),
    textTemplate: fc.string(),
    messageTemplate: fc.string(),
    sessionKey: fc.constantFrom("hook:a", "hook:{{id}}", ""),
    wakeMode: fc.constantFrom("now", "next-heartbeat"),
    deliver: fc.boolean(),
  })
  .map((input): Action => renderAction(mappingOf(input), requestWith({ id: "1" })));

type Rules = Readonly<Record<string, (it: unknown) => boolean>>;
const isText = (it: unknown): boolean => typeof it === "string";
const isOptionalText = (it: unknown): boolean =>
  it === undefined || (typeof it === "string" && it !== "" && it === it.trim());
const isFlag = (it: unknown): boolean => typeof it === "boolean";
const isMode = (it: unknown): boolean => it === "now" || it === "next-heartbeat";

const SHARED: Rules = { name: isOptionalText, agentId: isOptionalText, allowUnsafeExternalContent: isFlag };
const SESSION: Rules = {
  sessionKey: isOptionalText,
  sessionKeySource: (it) => it === undefined || it === "static" || it === "request",
};
const WAKE: Rules = { kind: (it) => it === "wake", ...SHARED, ...SESSION, text: isText, mode: isMode };
const AGENT: Rules = {
  kind: (it) => it === "agent",
  ...SHARED,
  ...SESSION,
  message: isText,
  wakeMode: isMode,
  deliver: isFlag,
  channel: (it) => it !== undefined && isOptionalText(it),
  to: isOptionalText,
  model: isOptionalText,
  thinking: isOptionalText,
  timeoutSeconds: (it) => it === undefined || (typeof it === "number" && it > 0 && it < Infinity),
  sessionMode: (it) => it === undefined || it === "isolated" || it === "persistent",
};

/** The fields of an action that the rules do not know or do not allow. */
function broken(action: object, rules: Rules): string[] {
  return Object.entries(action).flatMap(([field, value]) => (rules[field]?.(value) ? [] : [field]));
}

describe("a merged action, for any mapping and any result of a transform", () => {
  it("has every field in its type, or is refused for its kind", () => {
    fc.assert(
      fc.property(base, override, (base, override) => {
        const action = mergeOverride(base, override);
        if (isRefusal(action)) expect(["wake", "agent", undefined, null]).not.toContain(override["kind"]);
        else expect(broken(action, action.kind === "wake" ? WAKE : AGENT)).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  it("never calls a key the author's that a transform gave without saying so", () => {
    fc.assert(
      fc.property(base, override, (base, override) => {
        const action = mergeOverride(base, override);
        if (isRefusal(action) || action.kind === "wake" || action.sessionKeySource !== "static") return;
        const mapped = base.kind === "agent" && base.sessionKeySource === "static" ? base.sessionKey : undefined;
        if (action.sessionKey !== mapped) expect(override["sessionKeySource"]).toBe("static");
      }),
      { numRuns: 2_000 },
    );
  });
});
