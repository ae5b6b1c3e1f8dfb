import { describe, expect, it } from "vitest";
import type { Action, AgentAction, WakeAction } from "../../../src/core/delivery.ts";
import { mergeOverride } from "../../../src/mapping/transform-actions.ts";
import type { TransformAction } from "../../../src/transform/result.ts";

const WAKE: WakeAction = {
  kind: "wake",
  text: "mapped text",
  mode: "now",
  name: "Mapped",
  agentId: "ops",
  allowUnsafeExternalContent: false,
};

const AGENT: AgentAction = {
  kind: "agent",
  message: "mapped message",
  name: "Mapped",
  agentId: "ops",
  sessionKey: "hook:mapped",
  sessionKeySource: "static",
  wakeMode: "now",
  deliver: true,
  channel: "telegram",
  to: "42",
  model: "openai/gpt",
  thinking: "low",
  timeoutSeconds: 30,
  allowUnsafeExternalContent: false,
};

/** Whatever a module returned: the schema is asked before, and does not look at prototypes. */
const merge = (base: Action, override: unknown): Action => mergeOverride(base, override as TransformAction);

describe("what a transform says of an action", () => {
  it("that is nothing keeps the mapping's own action", () => {
    expect(merge(AGENT, undefined)).toBe(AGENT);
    expect(merge(WAKE, undefined)).toBe(WAKE);
  });

  it("without any field changes nothing", () => {
    expect(merge(AGENT, {})).toEqual(AGENT);
    expect(merge(WAKE, {})).toEqual(WAKE);
  });

  it("that is the action itself changes nothing", () => {
    expect(merge(AGENT, { ...AGENT })).toEqual(AGENT);
    expect(merge(WAKE, { ...WAKE })).toEqual(WAKE);
  });

  it("leaves the mapping's action untouched, which later requests use", () => {
    const base = Object.freeze({ ...AGENT });
    merge(base, { message: "other", deliver: false, sessionKey: "x" });
    expect(base).toEqual(AGENT);
  });

  it.each([null, undefined])("of the kind %j is of the mapping's kind", (kind) => {
    expect(merge(WAKE, { kind, text: "new" })).toEqual({ ...WAKE, text: "new" });
  });
});

describe("a wake override", () => {
  it.each<[Record<string, unknown>, Partial<WakeAction>]>([
    [{ text: "new" }, { text: "new" }],
    [{ text: "" }, { text: "" }],
    [{ text: 7 }, {}],
    [{ text: null }, {}],
    [{ text: ["new"] }, {}],
    [{ mode: "next-heartbeat" }, { mode: "next-heartbeat" }],
    [{ mode: "later" }, {}],
    [{ mode: true }, {}],
    [{ name: "New" }, { name: "New" }],
    [{ name: "" }, { name: undefined }],
    [{ name: null }, {}],
    [{ agentId: "main" }, { agentId: "main" }],
    [{ agentId: " " }, { agentId: undefined }],
    [{ allowUnsafeExternalContent: true }, { allowUnsafeExternalContent: true }],
    [{ allowUnsafeExternalContent: "true" }, {}],
    [{ allowUnsafeExternalContent: 1 }, {}],
    [{ sessionKey: "x" }, { sessionKey: "x", sessionKeySource: "request" }],
    [
      { sessionKey: "x", sessionKeySource: "static" },
      { sessionKey: "x", sessionKeySource: "static" },
    ],
    [{ message: "other kind's field", deliver: false, wakeMode: "next-heartbeat" }, {}],
  ])("%j changes %j", (override, changes) => {
    expect(merge(WAKE, override)).toEqual({ ...WAKE, ...changes });
  });

  it("cannot turn next-heartbeat into now", () => {
    const base: WakeAction = { ...WAKE, mode: "next-heartbeat" };
    expect(merge(base, { mode: "now" })).toEqual(base);
  });
});

describe("an agent override", () => {
  it.each<[Record<string, unknown>, Partial<AgentAction>]>([
    [{ message: "new" }, { message: "new" }],
    [{ message: "" }, { message: "" }],
    [{ message: 7 }, {}],
    [{ message: null }, {}],
    [{ wakeMode: "next-heartbeat" }, { wakeMode: "next-heartbeat" }],
    [{ wakeMode: "later" }, {}],
    [{ deliver: false }, { deliver: false }],
    [{ deliver: "false" }, {}],
    [{ deliver: 0 }, {}],
    [{ allowUnsafeExternalContent: true }, { allowUnsafeExternalContent: true }],
    [{ allowUnsafeExternalContent: "yes" }, {}],
    [{ name: "New" }, { name: "New" }],
    [{ name: "" }, { name: undefined }],
    [{ agentId: "main" }, { agentId: "main" }],
    [{ agentId: "" }, { agentId: undefined }],
    [{ channel: "console" }, { channel: "console" }],
    [{ channel: "" }, { channel: "last" }],
    [{ channel: undefined }, {}],
    [{ to: "  7 " }, { to: "7" }],
    [{ to: 4711 }, { to: "4711" }],
    [{ to: -1_001_234 }, { to: "-1001234" }],
    [{ to: "" }, { to: undefined }],
    [{ to: null }, {}],
    [{ to: { id: 1 } }, {}],
    [{ to: true }, {}],
    [{ model: "other/model" }, { model: "other/model" }],
    [{ model: "" }, { model: undefined }],
    [{ thinking: "high" }, { thinking: "high" }],
    [{ thinking: "" }, { thinking: undefined }],
    [{ timeoutSeconds: 5 }, { timeoutSeconds: 5 }],
    [{ timeoutSeconds: 0.5 }, { timeoutSeconds: 0.5 }],
    [{ timeoutSeconds: 0 }, {}],
    [{ timeoutSeconds: -5 }, {}],
    [{ timeoutSeconds: Number.NaN }, {}],
    [{ timeoutSeconds: Infinity }, {}],
    [{ timeoutSeconds: "5" }, {}],
    [{ text: "other kind's field", mode: "next-heartbeat" }, {}],
    [{ unknown: 1, deliverTo: "x" }, {}],
  ])("%j changes %j", (override, changes) => {
    expect(merge(AGENT, override)).toEqual({ ...AGENT, ...changes });
  });

  it.each([Number.NaN, Infinity, -Infinity])("with the number %d as `to` changes nothing: it is a mistake", (to) => {
    expect(merge(AGENT, { to })).toEqual(AGENT);
  });

  it("cannot turn next-heartbeat into now", () => {
    const base: AgentAction = { ...AGENT, wakeMode: "next-heartbeat" };
    expect(merge(base, { wakeMode: "now" })).toEqual(base);
  });
});

describe("a session key", () => {
  const keyOf = (override: Record<string, unknown>, base: AgentAction = AGENT): unknown[] => {
    const { sessionKey, sessionKeySource } = merge(base, override) as AgentAction;
    return [sessionKey, sessionKeySource];
  };

  it("from a transform counts as taken from the payload", () => {
    expect(keyOf({ sessionKey: "hook:new" })).toEqual(["hook:new", "request"]);
  });

  it("from a transform counts as the author's own only when the transform says so exactly", () => {
    expect(keyOf({ sessionKey: "hook:new", sessionKeySource: "static" })).toEqual(["hook:new", "static"]);
    for (const sessionKeySource of ["Static", "templated", true, 1, null, ["static"]]) {
      expect(keyOf({ sessionKey: "hook:new", sessionKeySource })).toEqual(["hook:new", "request"]);
    }
  });

  it("that is empty clears the mapping's", () => {
    expect(keyOf({ sessionKey: "" })[0]).toBeUndefined();
    expect(keyOf({ sessionKey: " ", sessionKeySource: "static" })[0]).toBeUndefined();
  });

  it.each([[undefined], [null], [true], [{}], [["hook:new"]]])("of the value %j keeps the mapping's", (sessionKey) => {
    expect(keyOf({ sessionKey, sessionKeySource: "static" })).toEqual(["hook:mapped", "static"]);
  });

  it("of the mapping that came from the payload is not made the author's by a transform that gives none", () => {
    const templated: AgentAction = { ...AGENT, sessionKeySource: "request" };
    expect(keyOf({ sessionKeySource: "static" }, templated)).toEqual(["hook:mapped", "request"]);
    expect(keyOf({ message: "new" }, templated)).toEqual(["hook:mapped", "request"]);
  });
});

describe("another kind", () => {
  it("drops what only the mapping's kind has, from agent to wake", () => {
    expect(merge({ ...AGENT, wakeMode: "next-heartbeat" }, { kind: "wake", text: "new" })).toEqual({
      kind: "wake",
      text: "new",
      mode: "now",
      name: "Mapped",
      agentId: "ops",
      allowUnsafeExternalContent: false,
    });
  });

  it("drops what only the mapping's kind has, from wake to agent", () => {
    expect(merge({ ...WAKE, mode: "next-heartbeat" }, { kind: "agent", message: "new" })).toEqual({
      kind: "agent",
      message: "new",
      wakeMode: "now",
      deliver: true,
      channel: "last",
      name: "Mapped",
      agentId: "ops",
      allowUnsafeExternalContent: false,
    });
  });

  it("has nothing to read unless the transform says what", () => {
    expect(merge(AGENT, { kind: "wake" })).toMatchObject({ text: "" });
    expect(merge(WAKE, { kind: "agent" })).toMatchObject({ message: "" });
  });
});

describe("a hostile result", () => {
  it("cannot set a field through its prototype", () => {
    const result = Object.create({ kind: "wake", message: "inherited", allowUnsafeExternalContent: true }) as object;
    expect(merge(AGENT, result)).toEqual(AGENT);
  });

  it("pollutes no prototype, be it the action's or everyone's", () => {
    const result: unknown = JSON.parse(
      '{"__proto__": {"allowUnsafeExternalContent": true}, "constructor": {"prototype": {"to": "x"}}, "to": "7"}',
    );
    const action = merge(AGENT, result);
    expect(action).toEqual({ ...AGENT, to: "7" });
    expect(Object.getPrototypeOf(action)).toBe(Object.prototype);
    expect(Object.keys({})).toEqual([]);
    expect("allowUnsafeExternalContent" in {}).toBe(false);
  });

  it("with a getter that throws fails the request with what it throws", () => {
    const failure = new Error("no such luck");
    const result = {
      get message(): string {
        throw failure;
      },
    };
    expect(() => merge(AGENT, result)).toThrow(failure);
  });

  it("that is a proxy gives the fields it says it owns", () => {
    const result = new Proxy({ message: "target" }, { get: (_, field) => `trap ${String(field)}` });
    expect(merge(AGENT, { ...result })).toMatchObject({ message: "trap message" });
    expect(merge({ ...AGENT }, new Proxy({ to: 5 }, {}))).toEqual({ ...AGENT, to: "5" });
  });

  it("without a prototype is as good as any", () => {
    const result = Object.assign(Object.create(null) as object, { message: "new" });
    expect(merge(AGENT, result)).toEqual({ ...AGENT, message: "new" });
  });

  it("leaves the mapping's mode and fallback as they are: only its author sets them", () => {
    const mapped: AgentAction = { ...AGENT, mode: "deliver", fallback: { channel: "console" } };
    const override = { message: "x", mode: "run", fallback: { channel: "telegram" }, callbackUrl: "https://a.example" };
    expect(merge(mapped, override)).toEqual({ ...mapped, message: "x" });
    expect(merge(AGENT, override)).toEqual({ ...AGENT, message: "x" });
  });
});
