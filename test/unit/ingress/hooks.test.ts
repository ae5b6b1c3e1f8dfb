import { describe, expect, it } from "vitest";
import type { Action, Credential, RequestHead } from "../../../src/core/delivery.ts";
import type { AgentSpec } from "../../../src/core/run.ts";
import { createIngressHooks } from "../../../src/ingress/hooks.ts";
import type { IngressHooks, UnauthenticatedRequest } from "../../../src/ingress/hooks.ts";
import { gmail } from "../../../src/presets/senders/google/gmail.ts";
import { PresetRegistry } from "../../../src/presets/registry.ts";
import { mappingOf, requestWith } from "../mapping/mappings.ts";

const NAMES = [
  "presets",
  "authenticate",
  "received",
  "resolve",
  "actions",
  "policy",
  "accepted",
  "dispatched",
  "settled",
];

const REQUEST: UnauthenticatedRequest = { method: "POST", path: "x", query: {}, headers: {}, clientAddress: "::1" };
const HEAD: RequestHead = { ...REQUEST, headers: {}, receivedAt: 0 };
const RUN: AgentSpec = {
  kind: "agent",
  message: "m",
  name: "Hook",
  agentId: "main",
  sessionKey: "agent:main:hook:1",
  wakeMode: "now",
  timeoutMs: 1,
  interrupted: "rerun",
  source: "Webhook",
  unsafe: false,
};
const CREDENTIAL: Credential = { scheme: "mine", id: "1" };

describe("the ingress's hooks", () => {
  it("are these, in the order in which they fire", () => {
    expect(Object.keys(createIngressHooks())).toEqual(NAMES);
  });

  it("are fixed: none can be replaced", () => {
    const hooks: { -readonly [Name in keyof IngressHooks]: IngressHooks[Name] } = createIngressHooks();
    expect(() => {
      hooks.policy = createIngressHooks().policy;
    }).toThrow(TypeError);
  });

  it("belong to one ingress each", () => {
    const [first, second] = [createIngressHooks(), createIngressHooks()];
    first.presets.tap("plugin", () => {});
    expect(first.presets.isUsed()).toBe(true);
    expect(second.presets.isUsed()).toBe(false);
  });

  it("cost a request nothing as long as they have no tap", () => {
    const used = Object.entries(createIngressHooks()).filter(([, hook]) => (hook as IngressHooks["policy"]).isUsed());
    expect(used).toEqual([]);
  });

  it("are all guarded: each names itself and the tap in an error, and refuses an async function tapped as sync", () => {
    for (const [name, hook] of Object.entries(createIngressHooks())) {
      const plainly = hook as { tap(name: string, fn: () => unknown): void };
      // oxlint-disable-next-line reveille/no-async-tap -- what it is there to refuse
      expect(() => plainly.tap("plugin", async () => {})).toThrow(
        `Hook "${name}", tap "plugin": an async function was tapped with tap()`,
      );
    }
  });
});

describe("a tap's result", () => {
  it("on presets is a change of the registry", () => {
    const hooks = createIngressHooks();
    hooks.presets.tap("plugin", (registry) => registry.add(gmail));
    const registry = new PresetRegistry();
    hooks.presets.call(registry);
    expect(registry.get("gmail")).toBe(gmail);
  });

  it("on received, accepted, dispatched and settled is nothing: they observe, one after the other", async () => {
    const hooks = createIngressHooks();
    const seen: unknown[] = [];
    for (const name of ["first", "second"]) {
      hooks.received.tapPromise(name, async ({ path }) => {
        await new Promise(setImmediate);
        seen.push([name, path]);
      });
      hooks.accepted.tap(name, ({ deliveryId }) => void seen.push([name, deliveryId]));
      hooks.dispatched.tap(name, ({ runId }) => void seen.push([name, runId]));
      hooks.settled.tap(name, ({ state }) => void seen.push([name, state]));
    }
    await hooks.received.promise(HEAD);
    await hooks.accepted.promise({ deliveryId: "d1", runIds: ["r1"], route: "x", name: "Hook" });
    await hooks.dispatched.promise({ runId: "r1", kind: "agent", attempt: 1 });
    await hooks.settled.promise({ runId: "r1", kind: "agent", state: "done", reason: null });
    expect(seen).toEqual(
      ["x", "d1", "r1", "done"].flatMap((what) => [
        ["first", what],
        ["second", what],
      ]),
    );
  });

  it("on authenticate is a credential, and the first one counts", async () => {
    const hooks = createIngressHooks();
    hooks.authenticate.tapPromise("does not know it", () => Promise.resolve(undefined));
    expect(await hooks.authenticate.promise(REQUEST)).toBeUndefined();
    hooks.authenticate.tap("knows it", () => CREDENTIAL);
    hooks.authenticate.tap("is not asked", () => ({ scheme: "other", id: "2" }));
    expect(await hooks.authenticate.promise(REQUEST)).toBe(CREDENTIAL);
  });

  it("on resolve is a mapping", async () => {
    const hooks = createIngressHooks();
    const mapping = mappingOf({ messageTemplate: "m" });
    expect(await hooks.resolve.promise(requestWith({}))).toBeUndefined();
    hooks.resolve.tap("plugin", () => mapping);
    expect(await hooks.resolve.promise(requestWith({}))).toBe(mapping);
  });

  it("on actions is what the next tap is given", async () => {
    const hooks = createIngressHooks();
    const wake = (text: string): Action => ({ kind: "wake", text, mode: "now" });
    hooks.actions.tap("adds", (actions, { path }) => [...actions, wake(path)]);
    hooks.actions.tapPromise("leaves them", (actions) => Promise.resolve(actions));
    hooks.actions.tap("drops the first", (actions) => actions.slice(1));
    expect(await hooks.actions.promise([wake("a")], requestWith({}))).toEqual([wake("hook")]);
  });

  it("on policy is a denial, and the first one counts; silence denies nothing", async () => {
    const hooks = createIngressHooks();
    hooks.policy.tap("has nothing against it", () => undefined);
    expect(await hooks.policy.promise(RUN, requestWith({}))).toBeUndefined();
    hooks.policy.tap("denies", ({ agentId }) => ({ deny: `${agentId} is asleep` }));
    expect(await hooks.policy.promise(RUN, requestWith({}))).toEqual({ deny: "main is asleep" });
  });
});
