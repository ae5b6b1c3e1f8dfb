import { describe, expect, it } from "vitest";
import { rightsProblem } from "../../../../src/hosts/openclaw/enforceable.ts";
import { agentCatalog } from "../../../../src/hosts/openclaw/read-config.ts";

describe("what OpenClaw can hold an agent to", () => {
  it.each([
    { kind: "agent" },
    { kind: "agent", permissions: "all" },
    { kind: "agent", permissions: "deny" },
    { kind: "agent", tools: "none" },
    { kind: "wake" },
    { kind: "wake", permissions: "all" },
  ] as const)("are %j", (asked) => {
    expect(rightsProblem(asked)).toBeUndefined();
  });

  it.each([
    [{ kind: "agent", permissions: "reads" }, "cannot hold a run to these permissions"],
    [{ kind: "agent", permissions: "ask" }, "cannot hold a run to these permissions"],
    [{ kind: "agent", permissions: { allow: [] } }, "cannot hold a run to these permissions"],
    [{ kind: "agent", egress: [] }, "cannot limit the hosts"],
    [{ kind: "agent", hasWorkspace: true }, "a workspace of its own"],
    [{ kind: "wake", permissions: "deny" }, "cannot limit what a main session does"],
    [{ kind: "wake", tools: "none" }, "cannot limit what a main session does"],
  ] as const)("are not %j", (asked, words) => {
    expect(rightsProblem(asked)).toContain(words);
  });

  it("is known when a configuration is loaded, and that it has no model on its own", () => {
    const catalog = agentCatalog({}, "reveille");
    expect(catalog.rightsProblem?.({ kind: "agent", egress: [] })).toContain("cannot limit the hosts");
    expect(catalog).not.toHaveProperty("extractionProblem");
  });
});
