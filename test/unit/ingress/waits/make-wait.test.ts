import { describe, expect, it } from "vitest";
import type { MappingConfig } from "../../../../src/config/mapping/schema.ts";
import type { PayloadContext } from "../../../../src/core/delivery.ts";
import type { RunSpec } from "../../../../src/core/run.ts";
import { makeWait } from "../../../../src/ingress/waits/make-wait.ts";
import { compileMapping } from "../../../../src/mapping/compile-mapping.ts";
import { agentSpec, wakeSpec } from "../../../conformance/store/new-delivery.ts";
import { read } from "../../config/hooks-context.ts";

const MAPPING = { id: "opened", messageTemplate: "m", sessionMode: "persistent" };
const WAIT = { hook: "opened", withinSeconds: 60, note: "{{text}}" };
const ACTOR = { id: "7", name: "eve", bot: false, level: "known" } as const;
const rendered = { actions: [] };

function judge(
  specs: readonly RunSpec[],
  { wait = {}, config = {} }: { wait?: object; config?: Partial<MappingConfig> } = {},
) {
  const hooks = { mappings: [{ ...MAPPING, respond: { wait: { ...WAIT, ...wait } } }] };
  const route = compileMapping({ ...read(hooks).config.mappings[0]!, ...config }, undefined);
  const context: PayloadContext = {
    path: "opened",
    headers: {},
    query: {},
    payload: { text: "a fix" },
    now: new Date(1_000),
    actor: ACTOR,
  };
  return { resolved: { route, context }, rendered, specs };
}

describe("the wait that an event makes", () => {
  it("leaves the run that ends it no more than the event's own run has, and replies where that does", () => {
    const target = { channel: "console", to: "owner" };
    const rights = { permissions: "reads", tools: "none", egress: ["example.com"] } as const;
    const spec = agentSpec({ ...rights, delivery: target, level: "known", sessionKey: "agent:main:hook:1" });
    expect(makeWait(judge([spec, agentSpec()]))?.wait).toMatchObject({
      agentId: spec.agentId,
      sessionKey: "agent:main:hook:1",
      note: "a fix",
      level: "known",
      rights,
      delivery: target,
      until: 61_000,
      mapping: "opened",
      madeBy: null,
    });
  });

  it("leaves the turn of a main session what its text leaves", () => {
    const spec = { ...wakeSpec(), rights: { permissions: "deny" } } as const;
    expect(makeWait(judge([spec]))?.wait).toMatchObject({ level: "known", rights: { permissions: "deny" } });
  });

  it("begins no run beside the wait where the mapping says so, also when there is no place for the wait", () => {
    const judged = judge([agentSpec()], { wait: { run: false } });
    const made = makeWait(judged)!;
    expect(made).toMatchObject({
      specs: [],
      rendered: { ended: { state: "skipped", reason: "it makes a wait, and begins no run" } },
    });
    expect(makeWait(judged, () => "full")).toMatchObject({
      wait: undefined,
      problem: "full",
      specs: [],
      rendered: { ended: { state: "skipped", reason: "it makes no wait, and begins no run" } },
    });
    const beside = judge([agentSpec()]);
    expect(makeWait(beside, () => "full")).toMatchObject({ wait: undefined, specs: beside.specs, rendered });
  });

  it.each([
    ["begins no run", judge([])],
    [
      "is held for its level",
      judge([agentSpec()], { config: { leastLevel: { level: "trusted", below: "quarantine" } } }),
    ],
  ])("is none for an event that %s", (_what, judged) => {
    expect(makeWait(judged)).toBeUndefined();
  });
});
