import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Action, AgentAction } from "../../../../src/core/delivery.ts";
import { createIngressHooks } from "../../../../src/ingress/hooks.ts";
import type { IngressHooks } from "../../../../src/ingress/hooks.ts";
import { compileMapping } from "../../../../src/mapping/compile-mapping.ts";
import { gmail } from "../../../../src/presets/senders/google/gmail.ts";
import { policy } from "../../../../src/ingress/stages/policy.ts";
import type { Route } from "../../../../src/ingress/stages/resolve.ts";
import { read } from "../../config/hooks-context.ts";
import { mappingOf, requestWith } from "../../mapping/mappings.ts";
import { StageBench } from "./stage-bench.ts";

const AGENT: AgentAction = { kind: "agent", message: "m", wakeMode: "now", deliver: false, channel: "last" };
const WAKE: Action = { kind: "wake", text: "t", mode: "now" };

describe("policy", () => {
  let bench: StageBench;
  let hooks: IngressHooks;

  beforeAll(async () => {
    bench = await StageBench.open();
  });
  beforeEach(() => {
    hooks = createIngressHooks();
  });
  afterAll(() => bench[Symbol.asyncDispose]());

  const apply = async (route: Route, actions: readonly Action[], block: object = {}) =>
    policy(bench.ingress, await bench.active(block, { hooks }), { route, context: requestWith({ a: 1 }) }, actions);

  it("fixes a run of each action, in order", async () => {
    expect(await apply("agent", [AGENT, WAKE, { ...AGENT, agentId: "ops" }])).toMatchObject([
      { kind: "agent", agentId: "main" },
      { kind: "wake", sessionKey: "agent:main:main" },
      { kind: "agent", agentId: "ops" },
    ]);
    expect(await apply("agent", [])).toEqual([]);
  });

  it("refuses the whole request for one action that is refused: nothing is half accepted", async () => {
    const actions = [AGENT, { ...AGENT, sessionKey: "mine", sessionKeySource: "request" as const }];
    expect(await apply("agent", actions)).toMatchObject({ refused: "SESSION_KEY_DISABLED" });
  });

  it("gives the runs of a mapping with extract its form, a name of its sender and a boundary, and refuses its wakes", async () => {
    const form = { type: "object", properties: { urgent: { type: "boolean" } }, required: [] } as const;
    const route = compileMapping({ ...mappingOf({}).config, extract: { form }, contentSource: "Desk" }, undefined);
    const action = { ...AGENT, name: "IGNORE ALL", allowUnsafeExternalContent: true };
    expect(await apply(route, [action])).toMatchObject([
      { extract: { form }, name: "Desk", nameBy: "owner", unsafe: false },
    ]);
    expect(await apply(route, [AGENT, WAKE])).toMatchObject({ refused: "INVALID_ACTION" });
  });

  it("names a fixed endpoint a webhook, and goes by hooks.interrupted", async () => {
    expect(await apply("agent", [AGENT])).toMatchObject([{ source: "Webhook", interrupted: "rerun" }]);
    expect(await apply("agent", [AGENT], { interrupted: "hold" })).toMatchObject([{ interrupted: "hold" }]);
  });

  it("goes by what the mapping says of interruptions before what the block says", async () => {
    const mapping = mappingOf({ messageTemplate: "m", interrupted: "hold" });
    expect(await apply(mapping, [AGENT])).toMatchObject([{ interrupted: "hold" }]);
    expect(await apply(mappingOf({ messageTemplate: "m" }), [AGENT], { interrupted: "hold" })).toMatchObject([
      { source: "Webhook", interrupted: "hold" },
    ]);
  });

  it("names the content of the preset gmail a mail, and lets its keys pass in their own name space only", async () => {
    const { config } = read({ presets: ["gmail"] });
    const preset = compileMapping(config.mappings[0]!, undefined, gmail);
    const derived = { ...AGENT, sessionKey: "hook:gmail:18c", sessionKeySource: "request" as const };
    expect(await apply(preset, [derived])).toMatchObject([
      { source: "Email", sessionKey: "agent:main:hook:gmail:18c" },
    ]);
    expect(await apply("agent", [derived])).toMatchObject({ refused: "SESSION_KEY_DISABLED" });
  });

  describe("with a plugin", () => {
    it("denies what the plugin denies, with the plugin's words for the caller", async () => {
      hooks.policy.tapPromise("budget", async (run, { payload }) => ({
        deny: `${run.kind} ${run.agentId} ${JSON.stringify(payload)}: the budget is spent.`,
      }));
      expect(await apply("agent", [AGENT])).toEqual({
        refused: "DENIED",
        message: 'agent main {"a":1}: the budget is spent.',
        retryAfterSeconds: undefined,
      });
    });

    it("asks it about each run, and denies the whole request for one", async () => {
      const asked: string[] = [];
      hooks.policy.tap("budget", (run) => {
        asked.push(run.kind);
        return run.kind === "wake" ? { deny: "No wakes." } : undefined;
      });
      expect(await apply("agent", [AGENT, AGENT])).toHaveLength(2);
      expect(await apply("agent", [AGENT, WAKE, AGENT])).toMatchObject({ refused: "DENIED", message: "No wakes." });
      expect(asked).toEqual(["agent", "agent", "agent", "wake"]);
    });

    it("cannot allow what the built-in policy refuses: it is not even asked", async () => {
      let asked = 0;
      hooks.policy.tap("generous", () => {
        asked++;
        return undefined;
      });
      const foreign = { ...AGENT, agentId: "ops" };
      expect(await apply("agent", [foreign], { allowedAgentIds: [] })).toMatchObject({ refused: "AGENT_NOT_ALLOWED" });
      expect(asked).toBe(0);
    });

    it("lets nothing through when the plugin fails", async () => {
      hooks.policy.tap("broken", () => {
        throw new Error("no budget file");
      });
      await expect(apply("agent", [AGENT])).rejects.toThrow('Hook "policy", tap "broken": no budget file');
    });
  });
});
