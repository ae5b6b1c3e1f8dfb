import { describe, expect, it } from "vitest";
import type { ProgramRuntime } from "../../../../../src/hosts/embedded/config/runtime.ts";
import { commonHosts, decide, ownPermissions } from "../../../../../src/hosts/embedded/agents/permissions.ts";

describe("the hosts that two lists have in common", () => {
  it.each([
    [["a.com"], undefined, ["a.com"]],
    [["a.com", "b.com"], ["b.com", "c.com"], ["b.com"]],
    [["*.a.com"], ["x.a.com", "a.com", "xa.com", "*.a.com"], ["x.a.com", "*.a.com"]],
    [["a.com"], ["*.a.com", "a.com:8080"], ["a.com:8080"]],
    [["a.com:443"], ["a.com", "a.com:80", "a.com:443"], ["a.com:443"]],
    [["a.com"], [], []],
  ])("%j and %j have %j", (own, lowered, common) => {
    expect(commonHosts(own, lowered)).toEqual(common);
  });
});

describe("an act under several permissions", () => {
  const read = { kind: "read", tool: "issues.get", title: "get" } as const;

  it.each([
    [["all"], "allow"],
    [["all", "reads"], "allow"],
    [["reads", "ask"], "ask"],
    [["ask", "deny"], "deny"],
    [["all", { allow: [{ tool: "issues.*" }] }, { allow: [{ tool: "mail.*" }] }], "deny"],
  ] as const)("%j: %s", (permissions, decision) => {
    expect(decide(permissions, read, "/")).toBe(decision);
  });
});

describe("what an agent that may do everything may do", () => {
  const all = { permissions: "all", allowUntrusted: false } as const;
  const command = { runtime: { type: "command" } as ProgramRuntime };

  it.each([
    [all, { trust: "untrusted", isRun: true }, "all"],
    [all, { trust: "untrusted", isRun: false }, "deny"],
    [all, { trust: "owner", isRun: false }, "ask"],
    [{ ...all, ...command }, { trust: "owner", isRun: false }, "deny"],
    [{ ...all, allowUntrusted: true }, { trust: "untrusted", isRun: false }, "all"],
    [{ ...all, permissions: "reads" }, { trust: "untrusted", isRun: false }, "reads"],
  ] as const)("%j in %j is %s", (agent, turn, permissions) => {
    expect(ownPermissions(agent, turn)).toBe(permissions);
  });
});
