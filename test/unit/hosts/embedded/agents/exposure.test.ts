import { describe, expect, it } from "vitest";
import type { ExposedTurn } from "../../../../../src/core/exposure.ts";
import { exposureOf, isOutward } from "../../../../../src/hosts/embedded/agents/exposure.ts";
import type { AgentConfig } from "../../../../../src/hosts/embedded/config/file.ts";
import type { ProgramRuntime } from "../../../../../src/hosts/embedded/config/runtime.ts";
import type { ToolServer } from "../../../../../src/hosts/embedded/config/tools.ts";

const AGENT: AgentConfig = {
  id: "a",
  isDefault: true,
  model: "x/y",
  systemPrompt: undefined,
  thinking: undefined,
  permissions: "reads",
  allowUntrusted: false,
  approvalTimeoutMs: 1,
  egress: [],
};
const PROGRAM = { command: ["p"], cwd: undefined, env: [], read: [], write: [], isConfined: true };
const UNMARKED = { isPrivate: undefined, isOutward: undefined };
const url: ToolServer = { ...UNMARKED, url: "https://tools.example", headers: {} };
const tools = (server: ToolServer, allow = ["s.*"]) => ({ servers: new Map([["s", server]]), allow, maxSteps: 1 });

/** `p`: reaches private data; `o`: acts outward; `?`: asks. */
function brief(agent: Partial<AgentConfig>, turn: Partial<ExposedTurn> = {}): string {
  const found = exposureOf({ ...AGENT, ...agent }, "agents.list[0]", { agentId: "a", turn: "run", ...turn });
  return `${found.private.length > 0 ? "p" : "-"}${found.outward.length > 0 ? "o" : "-"}${found.isAsked ? "?" : ""}`;
}

describe("what an agent reaches", () => {
  it.each([
    ["a model that only writes", {}, "--"],
    ["a server at a URL that is not marked", { tools: tools(url) }, "po"],
    ["one marked not private", { tools: tools({ ...url, isPrivate: false }) }, "-o"],
    ["one marked not outward", { tools: tools({ ...url, isOutward: false }) }, "p-"],
    ["a confined program without egress", { tools: tools({ ...UNMARKED, program: PROGRAM }) }, "p-"],
    ["the same with egress", { tools: tools({ ...UNMARKED, program: PROGRAM }), egress: ["x.com"] }, "po"],
    ["an unconfined program", { tools: tools({ ...UNMARKED, program: { ...PROGRAM, isConfined: false } }) }, "po"],
    ["a server whose tools are not shown", { tools: tools(url, ["other.*"]) }, "--"],
    ["tools that are denied", { tools: tools(url), permissions: "deny" }, "--"],
    ["tools that ask", { tools: tools(url), permissions: "ask" }, "po?"],
    ["a rule for another server", { tools: tools(url), permissions: { allow: [{ tool: "other.x" }] } }, "--"],
    ["a rule for a kind", { tools: tools(url), permissions: { allow: [{ kind: "other" }] } }, "po"],
    ["a rule for commands", { tools: tools(url), permissions: { allow: [{ command: "ls" }] } }, "--"],
    ["an agent whose runs never begin", { tools: tools(url), permissions: "all" }, "--"],
    ["an agent that may do everything", { tools: tools(url), permissions: "all", allowUntrusted: true }, "po"],
    ["an ACP agent that reads", { runtime: { ...PROGRAM, type: "acp" } }, "p-"],
    [
      "an ACP agent that edits",
      { runtime: { ...PROGRAM, type: "acp" }, permissions: { allow: [{ kind: "edit" }] } },
      "po",
    ],
    ["a command without egress", { runtime: { ...PROGRAM, type: "command" }, permissions: "deny" }, "p-"],
    [
      "a command with egress",
      { runtime: { ...PROGRAM, type: "command" }, permissions: "deny", egress: ["x.com"] },
      "po",
    ],
    ["a command that is not confined", { runtime: { ...PROGRAM, type: "command", isConfined: false } }, "po"],
  ] as readonly [string, Partial<AgentConfig>, string][])("by a run of %s", (_what, agent, expected) => {
    expect(brief(agent)).toBe(expected);
  });

  it("is lowered by what a mapping leaves", () => {
    const agent = { tools: tools({ ...UNMARKED, program: PROGRAM }), egress: ["x.com"] };
    expect(brief(agent, { egress: [] })).toBe("p-");
    expect(brief(agent, { tools: "none" })).toBe("--");
    expect(brief(agent, { permissions: "ask" })).toBe("po?");
  });

  it("is asked for in the main session, where an agent is not told to do without", () => {
    const list = { allow: [{ tool: "s.*" }] };
    expect(brief({ tools: tools(url), permissions: list }, { turn: "session" })).toBe("po?");
    const open = { tools: tools(url), permissions: "all", allowUntrusted: true } as const;
    expect(brief(open, { turn: "session" })).toBe("po");
    const runtime: ProgramRuntime = { ...PROGRAM, type: "command" };
    expect(brief({ runtime, egress: ["x.com"] }, { turn: "session" })).toBe("po");
  });

  it("counts the workspace only for an agent that has a way to read it", () => {
    const { private: reached } = exposureOf({ ...AGENT, tools: tools(url) }, "agents.list[0]", {
      agentId: "a",
      turn: "run",
      hasWorkspace: true,
    });
    expect(reached).toContain("the workspace");
    expect(brief({}, { hasWorkspace: true })).toBe("--");
  });
});

it("an act is outward unless its server is marked, or shut, or its kind reads", () => {
  const agent = { tools: tools({ ...url, isOutward: false }), egress: [] };
  const act = { title: "t", kind: "other" } as const;
  expect(isOutward(agent, { ...act, tool: "s.x" })).toBe(false);
  expect(isOutward(agent, { ...act, tool: "unknown.x" })).toBe(true);
  expect(isOutward({ ...agent, tools: tools(url) }, { ...act, tool: "s.x" })).toBe(true);
  expect(isOutward(agent, { ...act, kind: "read" })).toBe(false);
  expect(isOutward(agent, { ...act, kind: "execute" })).toBe(true);
});
