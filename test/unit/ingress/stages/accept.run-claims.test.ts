import { describe, expect, it } from "vitest";
import type { CallIdentity } from "../../../../src/ingress/stages/accept.ts";
import { coalesceClaim, overlapClaim } from "../../../../src/ingress/stages/accept.ts";
import { agentSpec, wakeSpec } from "../../dispatch/dispatch-bench.ts";

const COALESCE = { key: "{{repo}}", windowMs: 1_000, maxWaitMs: 10_000, mode: "latest" } as const;
const CALL = { mappingId: "ci", spec: agentSpec({ sessionKey: "agent:main:hook:ci" }), namesSession: true };
const hex = ({ key }: { readonly key: Uint8Array }): string => Buffer.from(key).toString("hex");
const keyOf = (changes: Partial<CallIdentity> = {}, key = "site"): string =>
  hex(coalesceClaim(COALESCE, { ...CALL, ...changes }, key));

describe("the claim of a call that may be one of many", () => {
  it("is 32 bytes that the same calls have in common, with the mapping's times", () => {
    const claim = coalesceClaim(COALESCE, CALL, "site");
    expect(claim.key).toHaveLength(32);
    expect(claim).toMatchObject({ windowMs: 1_000, maxWaitMs: 10_000 });
    expect(hex(claim)).toBe(keyOf());
  });

  it("differs by mapping, session, agent and the mapping's own key", () => {
    const keys = [
      keyOf(),
      keyOf({ mappingId: "other" }),
      keyOf({ spec: agentSpec({ sessionKey: "agent:main:hook:other" }) }),
      keyOf({ spec: agentSpec({ agentId: "ops" }), namesSession: false }),
      keyOf({ namesSession: false }),
      keyOf({}, "docs"),
      keyOf({}, ""),
    ];
    expect(new Set(keys).size).toBe(keys.length);
  });

  it("differs by what the run would be given of rights, and by its chain", () => {
    const spec = CALL.spec;
    const form = { type: "object", properties: {}, required: [] } as const;
    const keys = [
      keyOf(),
      keyOf({ actor: { level: "owner" } }),
      keyOf({ chain: { id: "dlv_1", depth: 1 } }),
      keyOf({ chain: { id: "dlv_1", depth: 2 } }),
      keyOf({ spec: { ...spec, permissions: "deny" } }),
      keyOf({ spec: { ...spec, tools: "none" } }),
      keyOf({ spec: { ...spec, egress: [] } }),
      keyOf({ spec: { ...spec, workspace: { path: "/srv" } } }),
      keyOf({ spec: { ...spec, extract: { form } } }),
      keyOf({ spec: wakeSpec({ rights: { permissions: "deny" } }) }),
      keyOf({ spec: wakeSpec() }),
    ];
    expect(new Set(keys).size).toBe(keys.length);
    expect(keyOf({ actor: { level: "unknown" } })).toBe(keyOf());
  });

  it("cannot be forged by moving text from one part into the next", () => {
    expect(keyOf({ mappingId: 'ci","x' }, "y")).not.toBe(keyOf({ mappingId: "ci" }, 'x","y'));
  });

  it("is the same for every session that was made up for one run", () => {
    const made = (id: string): string =>
      keyOf({ namesSession: false, spec: agentSpec({ sessionKey: `agent:main:${id}` }) });
    expect(made("a")).toBe(made("b"));
  });

  it("of wakes is one for each agent's main session", () => {
    const wake = (agentId: string): string => keyOf({ namesSession: false, spec: wakeSpec({ agentId }) });
    expect(wake("main")).toBe(wake("main"));
    expect(wake("main")).not.toBe(wake("ops"));
  });
});

describe("the claim of a call that looks for open runs", () => {
  it("is that of the mapping and the session it names, and of the mapping alone when it names none", () => {
    const named = hex(overlapClaim("skip", CALL));
    const unnamed = hex(overlapClaim("skip", { ...CALL, namesSession: false }));
    expect(overlapClaim("latest", CALL)).toMatchObject({ mode: "latest" });
    expect(hex(overlapClaim("latest", CALL))).toBe(named);
    expect(named).not.toBe(unnamed);
    expect(hex(overlapClaim("skip", { ...CALL, spec: agentSpec({ sessionKey: "x" }), namesSession: false }))).toBe(
      unnamed,
    );
    expect(named).not.toBe(hex(overlapClaim("skip", { ...CALL, mappingId: "other" })));
    expect(named).not.toBe(keyOf({}, ""));
  });
});
