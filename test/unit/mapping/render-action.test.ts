import { describe, expect, it } from "vitest";
import { renderAction } from "../../../src/mapping/render-action.ts";
import { mappingOf, requestWith } from "./mappings.ts";

const push = requestWith(
  { repo: "site", branch: " main ", model: "", to: 4711, note: null },
  { path: "github/push", headers: { "x-event": "push" }, query: { room: "r1" } },
);

describe("a mapping's own action", () => {
  it("spec 4.3: is a wake action, from textTemplate and wakeMode", () => {
    const mapping = mappingOf({ action: "wake", textTemplate: "{{repo}} was pushed", wakeMode: "next-heartbeat" });
    expect(renderAction(mapping, push)).toEqual({
      kind: "wake",
      text: "site was pushed",
      mode: "next-heartbeat",
      name: undefined,
      agentId: undefined,
      sessionKey: undefined,
      sessionKeySource: "static",
      allowUnsafeExternalContent: false,
    });
  });

  it("is a wake for the session that the mapping names, the caller's where it is a template", () => {
    const wake = { action: "wake", textTemplate: "t" } as const;
    expect(renderAction(mappingOf({ ...wake, sessionKey: "hook:builds" }), push)).toMatchObject({
      sessionKey: "hook:builds",
      sessionKeySource: "static",
    });
    expect(renderAction(mappingOf({ ...wake, sessionKey: "hook:{{repo}}" }), push)).toMatchObject({
      sessionKey: "hook:site",
      sessionKeySource: "request",
    });
  });

  it("spec 4.3: is an agent action, from messageTemplate, and spec 2.3: channel is last and deliver true by default", () => {
    expect(renderAction(mappingOf({ messageTemplate: "Look at {{repo}}." }), push)).toEqual({
      kind: "agent",
      message: "Look at site.",
      name: undefined,
      agentId: undefined,
      sessionKey: undefined,
      sessionKeySource: "static",
      wakeMode: "now",
      deliver: true,
      channel: "last",
      to: undefined,
      model: undefined,
      thinking: undefined,
      timeoutSeconds: undefined,
      allowUnsafeExternalContent: false,
    });
  });

  it("spec 2.1: carries the per-hook options deliver, channel, to, agentId, model and allowUnsafeExternalContent", () => {
    const mapping = mappingOf({
      messageTemplate: "m",
      deliver: false,
      channel: "telegram",
      to: "42",
      agentId: "ops",
      model: "openai/gpt",
      allowUnsafeExternalContent: true,
      thinking: "low",
      timeoutSeconds: 30,
      wakeMode: "next-heartbeat",
    });
    expect(renderAction(mapping, push)).toMatchObject({
      deliver: false,
      channel: "telegram",
      to: "42",
      agentId: "ops",
      model: "openai/gpt",
      allowUnsafeExternalContent: true,
      thinking: "low",
      timeoutSeconds: 30,
      wakeMode: "next-heartbeat",
    });
  });

  it("renders the templates of name, sessionKey, to, model and thinking, and trims what comes out", () => {
    const mapping = mappingOf({
      messageTemplate: "m",
      name: "{{repo}}@{{branch}}",
      sessionKey: "hook:{{branch}}",
      to: "{{to}}",
      model: " {{branch}} ",
      thinking: "{{query.room}}",
    });
    expect(renderAction(mapping, push)).toMatchObject({
      name: "site@ main",
      sessionKey: "hook: main",
      to: "4711",
      model: "main",
      thinking: "r1",
    });
  });

  it("counts such a field as absent when it renders blank", () => {
    const templates = { name: "{{note}}", sessionKey: "{{gone}}", to: " {{model}} ", model: "{{model}}" };
    const mapping = mappingOf({ messageTemplate: "m", ...templates, thinking: "{{note}}" });
    expect(renderAction(mapping, push)).toMatchObject({
      name: undefined,
      sessionKey: undefined,
      to: undefined,
      model: undefined,
      thinking: undefined,
    });
  });

  it("takes agentId and channel literally: a payload chooses no route that the author did not template", () => {
    const mapping = mappingOf({ messageTemplate: "m", agentId: "{{repo}}", channel: "{{repo}}" });
    expect(renderAction(mapping, push)).toMatchObject({ agentId: "{{repo}}", channel: "{{repo}}" });
  });

  it("leaves the content as rendered, blank or not: a transform may still fill it", () => {
    expect(renderAction(mappingOf({ messageTemplate: "  {{repo}}\n" }), push)).toMatchObject({ message: "  site\n" });
    expect(renderAction(mappingOf({}), push)).toMatchObject({ message: "" });
    expect(renderAction(mappingOf({ action: "wake" }), push)).toMatchObject({ text: "" });
  });

  it("reads the other kind's template never", () => {
    const both = { messageTemplate: "message", textTemplate: "text" };
    expect(renderAction(mappingOf({ ...both, action: "agent" }), push)).toMatchObject({ message: "message" });
    expect(renderAction(mappingOf({ ...both, action: "wake" }), push)).toMatchObject({ text: "text" });
  });

  it.each<[string, string | undefined, string | undefined, "static" | "request"]>([
    ["absent", undefined, undefined, "static"],
    ["written out", "hook:ci", "hook:ci", "static"],
    ["a template", "hook:{{repo}}", "hook:site", "request"],
    ["a template whose expression is empty for this payload", "hook:{{note}}", "hook:", "request"],
    ["a template of nothing but the request's path", "{{path}}", "github/push", "request"],
    ["a template that renders blank, so there is none", "{{note}}", undefined, "static"],
  ])("says where a session key came from that is %s", (_case, sessionKey, rendered, source) => {
    const action = renderAction(mappingOf({ messageTemplate: "m", ...(sessionKey && { sessionKey }) }), push);
    expect(action).toMatchObject({ sessionKey: rendered, sessionKeySource: source });
  });

  it("says how the message is delivered, and where else, only where the mapping says something", () => {
    const mapping = mappingOf({
      messageTemplate: "m",
      mode: "deliver",
      fallback: { channel: "console", to: "{{repo}}" },
    });
    expect(renderAction(mapping, push)).toMatchObject({
      mode: "deliver",
      fallback: { channel: "console", to: "{{repo}}" },
    });
    const plain = renderAction(mappingOf({ messageTemplate: "m" }), push);
    expect([Object.hasOwn(plain, "mode"), Object.hasOwn(plain, "fallback")]).toEqual([false, false]);
    expect(renderAction(mappingOf({ action: "wake", textTemplate: "t" }), push)).toMatchObject({ mode: "now" });
  });
});
