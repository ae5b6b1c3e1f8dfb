import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AcpAgents, type AcpTurn } from "../../../../../src/hosts/embedded/agents/acp-agents.ts";
import type { Act } from "../../../../../src/hosts/embedded/agents/permissions.ts";
import { RunRights } from "../../../../../src/hosts/embedded/agents/run-rights.ts";
import type { Permissions } from "../../../../../src/core/agent-rights.ts";

const agent = fileURLToPath(new URL("../../../../fixtures/agents/lying-agent.mjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "reveille-acp-"));
let agents: AcpAgents;

beforeEach(() => {
  agents = new AcpAgents();
});
afterEach(() => agents.close());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function turn(text: string, overrides: Partial<AcpTurn> & { readonly permissions?: Permissions } = {}): AcpTurn {
  const signal = overrides.signal ?? new AbortController().signal;
  return {
    key: "one",
    start: {
      config: { command: [process.execPath, agent], env: [], read: [], write: [], isConfined: false },
      cwd: folder,
      isReadOnly: false,
      home: join(folder, "home"),
      egress: [],
      ofGateway: [],
      variables: {},
    },
    cwd: folder,
    messages: [{ role: "user", text }],
    systemPrompt: undefined,
    rights: new RunRights({
      own: overrides.permissions ?? "deny",
      lowered: [],
      isWithOwner: false,
      approvals: { ask: () => Promise.resolve("denied") },
      approvalTimeoutMs: 1_000,
      of: { agentId: "a", sessionKey: "s", runId: "r" },
      cwd: folder,
      clock: { now: () => 0 },
      signal,
      onHold: () => {},
    }),
    signal,
    maxReplyChars: 1_000_000,
    ...overrides,
  };
}

async function replyOf(text: string, overrides: Parameters<typeof turn>[1] = {}): Promise<string> {
  const outcome = await agents.run(turn(text, overrides));
  return "reply" in outcome ? outcome.reply : outcome.error;
}

describe("an agent that breaks the protocol", () => {
  it("may refuse a prompt, and its process serves the next one", async () => {
    const before = await replyOf("hello");
    expect(await replyOf("fail")).toContain("Authentication required");
    expect(await replyOf("hello")).toBe(before);
  });

  it("may end between two turns: the next one has a process of its own", async () => {
    const before = await replyOf("leave");
    await vi.waitFor(() => expect(() => process.kill(Number(before), 0)).toThrow("ESRCH"));
    await sleep(50);
    expect(Number(await replyOf("hello"))).not.toBe(Number(before));
  });

  it("cannot hold a turn by leaving it without a session, and is ended for it", async () => {
    const before = Number(await replyOf("hello"));
    const ended = new AbortController();
    const held = agents.run(turn("hello", { cwd: join(folder, "silent"), signal: ended.signal }));
    await sleep(200);
    ended.abort();
    expect(await held).toEqual({ error: "The turn was aborted." });
    await vi.waitFor(() => expect(() => process.kill(before, 0)).toThrow("ESRCH"), 10_000);
    expect(Number(await replyOf("hello"))).not.toBe(before);
  });

  it("cannot hold a turn by not closing its session", async () => {
    expect(Number(await replyOf("hello", { cwd: join(folder, "unclosed") }))).toBeGreaterThan(0);
  });

  it("cannot give two turns one session", async () => {
    const twin = { cwd: join(folder, "twin"), memory: { read: () => undefined, write: () => Promise.resolve() } };
    const outcomes = await Promise.all([replyOf("hello", twin), replyOf("hello", twin)]);
    expect(outcomes.filter((outcome) => outcome.includes("the name of another one"))).toHaveLength(1);
  });

  it("fails with a reason when it stops for one that does not exist, and with a reply that is too long", async () => {
    expect(await replyOf("stop oddly")).not.toBe("");
    expect(await replyOf("flood")).toMatch(/longer than 1000000 characters|ended/u);
  });

  it("gets nothing for a session that it does not have", async () => {
    expect(await replyOf("ask for another", { permissions: "all" })).toContain('{"outcome":{"outcome":"cancelled"}}');
  });

  it("is judged by what it asks for, not by what it said of the same call before", async () => {
    const rules: Permissions = { allow: [{ command: "ls" }, { kind: "read" }] };
    const swap = turn("swap", { permissions: rules });
    expect(await agents.run(swap)).toMatchObject({ reply: expect.stringContaining('"optionId":"no"') });
    expect(swap.rights.activity).toMatchObject([{ kind: "denied", title: "rm" }]);
  });
});

describe("the rights of a run", () => {
  it("ask with all of the arguments, and word a denial by its cause", async () => {
    const asked: (string | undefined)[] = [];
    const ended = new AbortController();
    const of = (answer: "expired" | "left" | "denied"): RunRights =>
      new RunRights({
        own: "ask",
        lowered: [],
        isWithOwner: false,
        approvals: { ask: ({ input }) => (asked.push(input), Promise.resolve(answer)) },
        approvalTimeoutMs: 1_000,
        of: { agentId: "a", sessionKey: "s", runId: "r" },
        cwd: folder,
        clock: { now: () => 0 },
        signal: ended.signal,
        onHold: () => {},
      });
    const act: Act = { kind: "other", title: "files.write", input: "z".repeat(5_000) };
    expect(await of("expired").judge(act)).toMatchObject({ why: "the owner did not answer in time" });
    expect(await of("denied").judge(act)).toMatchObject({ why: "the owner denied it" });
    ended.abort();
    expect(await of("expired").judge(act)).toMatchObject({ why: "the run was ended" });
    expect(asked).toEqual([act.input, act.input, act.input]);
  });
});
