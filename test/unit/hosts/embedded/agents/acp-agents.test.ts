import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AcpAgents, type AcpMemory, type AcpTurn } from "../../../../../src/hosts/embedded/agents/acp-agents.ts";
import { RunRights } from "../../../../../src/hosts/embedded/agents/run-rights.ts";
import type { Permissions } from "../../../../../src/core/agent-rights.ts";
import { Program } from "../../../../../src/hosts/embedded/programs/program.ts";
import { recordingLogger } from "../server/recording-logger.ts";

const agent = fileURLToPath(new URL("../../../../fixtures/agents/lying-agent.mjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "reveille-acp-"));
let agents: AcpAgents;

beforeEach(() => {
  agents = new AcpAgents(recordingLogger());
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

/** A session of the gateway, and what its agent called it. */
function memoryOf(of: string, known?: string): AcpMemory & { readonly written: string[] } {
  const written: string[] = [];
  return { of, written, read: async () => written.at(-1) ?? known, write: async (id) => void written.push(id) };
}

const isGone = (pid: number): Promise<void> =>
  vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"), 10_000);

/** Starts the agent with its mode, the file that it writes its process to; resolves with that process. */
function started(mode: string): { readonly start: AcpTurn["start"]; readonly pid: () => Promise<number> } {
  const file = join(folder, mode);
  const { start } = turn("");
  const command = [process.execPath, agent, file];
  return {
    start: { ...start, config: { ...start.config, command } },
    pid: () => vi.waitFor(() => (expect(existsSync(file)).toBe(true), Number(readFileSync(file, "utf8"))), 10_000),
  };
}

it("a reply that is too long ends its own turn, and none of the others in the process", async () => {
  const other = agents.run(turn("take a while"));
  await sleep(200);
  expect(await replyOf("flood", { maxReplyChars: 1_000 })).toContain("longer than 1000 characters");
  expect(await other).toHaveProperty("reply");
});

it("an agent that can close no session has another process after twenty of them, and the first one ends", async () => {
  const { start } = started("keeping");
  const processes: number[] = [];
  for (let number = 1; number <= 21; number++) processes.push(Number(await replyOf("hello", { start })));
  const [first = 0] = processes;
  expect(processes.filter((pid) => pid === first)).toHaveLength(20);
  await isGone(first);
});

it("what an agent says before and after a call of a tool are paragraphs of their own", async () => {
  expect(await replyOf("narrate")).toMatch(/^I will look\.\n\nThere is one file, of \d+$/u);
});

describe("an agent that breaks the protocol", () => {
  it("may refuse a prompt, and its process serves the next one", async () => {
    const before = await replyOf("hello");
    expect(await replyOf("fail")).toContain("Authentication required");
    expect(await replyOf("hello")).toBe(before);
  });

  it("may end between two turns: the next one has a process of its own", async () => {
    const before = await replyOf("leave");
    await isGone(Number(before));
    await sleep(50);
    expect(Number(await replyOf("hello"))).not.toBe(Number(before));
  });

  it("gets no further turn while it is being ended", async () => {
    const { start } = started("stubborn");
    await replyOf("hello", { start });
    const end = vi.spyOn(Program.prototype, "end");
    const ended = new AbortController();
    const late = agents.run(turn("take a while", { start, signal: ended.signal }));
    await sleep(200);
    ended.abort();
    await vi.waitFor(() => expect(end).toHaveBeenCalled(), 10_000);
    expect(Number(await replyOf("take a while", { start }))).toBeGreaterThan(0);
    expect(await late).toHaveProperty("error");
  });

  it("cannot hold a turn by leaving it without a session, and is ended for it", async () => {
    const before = Number(await replyOf("hello"));
    const ended = new AbortController();
    const held = agents.run(turn("hello", { cwd: join(folder, "silent"), signal: ended.signal }));
    await sleep(200);
    ended.abort();
    expect(await held).toEqual({ error: "The turn was aborted." });
    await isGone(before);
    expect(Number(await replyOf("hello"))).not.toBe(before);
  });

  it("cannot hold a turn by not closing its session", async () => {
    expect(Number(await replyOf("hello", { cwd: join(folder, "unclosed") }))).toBeGreaterThan(0);
  });

  it("cannot hold a turn by never answering its start, and is ended with the turn", async () => {
    const { start, pid } = started("mute");
    const ended = new AbortController();
    const held = agents.run(turn("hello", { start, signal: ended.signal }));
    const process = await pid();
    ended.abort();
    expect(await held).toEqual({ error: "The turn was aborted." });
    await isGone(process);
  });

  it("is ended with the gateway while it starts", async () => {
    const { start, pid } = started("second-mute");
    const held = agents.run(turn("hello", { start }));
    const process = await pid();
    await agents.close();
    expect(await held).toHaveProperty("error");
    await isGone(process);
  });

  it("goes on with its start for another turn that waits for it", async () => {
    const { start, pid } = started("late");
    const ended = new AbortController();
    const held = agents.run(turn("hello", { start, signal: ended.signal }));
    const other = replyOf("hello", { start });
    const process = await pid();
    ended.abort();
    await held;
    expect(Number(await other)).toBe(process);
  });

  it("cannot hold a turn by reading no more", async () => {
    const ended = new AbortController();
    const held = agents.run(turn("x".repeat(5_000_000), { cwd: join(folder, "deaf"), signal: ended.signal }));
    await sleep(1_000);
    ended.abort();
    expect(await held).toEqual({ error: "The turn was aborted." });
  });

  it("that ended a canceled prompt in time is not ended for the next one of the session", async () => {
    const memory = memoryOf("one");
    const ended = new AbortController();
    const held = agents.run(turn("wait to be canceled", { memory, signal: ended.signal }));
    await vi.waitFor(() => expect(memory.written).toHaveLength(1), 15_000);
    await sleep(200);
    ended.abort();
    await held;
    expect(Number(await replyOf("take a while", { memory }))).toBeGreaterThan(0);
    expect(memory.written).toHaveLength(1);
  });

  it("gets one prompt of a session at a time", async () => {
    const memory = memoryOf("one");
    await replyOf("hello", { memory });
    const replies = await Promise.all([replyOf("take a moment", { memory }), replyOf("take a moment", { memory })]);
    expect(replies.join()).not.toContain("overlapping");
    expect(memory.written).toHaveLength(1);
  });

  it("cannot continue the session of another one: what it called by the same name begins again", async () => {
    const [first, second] = [memoryOf("first"), memoryOf("second", "s0")];
    await replyOf("hello", { memory: first });
    await replyOf("hello", { memory: second });
    expect([first.written, second.written]).toEqual([["s0"], ["s1"]]);
  });

  it("cannot name a session at such length that the name could not be kept", async () => {
    const memory = memoryOf("one");
    expect(await replyOf("hello", { memory, cwd: join(folder, "long") })).toContain("too long a name");
    expect(memory.written).toEqual([]);
  });

  it("is ended when it sends a message without an end, and the next turn has a process of its own", async () => {
    const before = Number(await replyOf("break the framing"));
    await isGone(before);
    expect(Number(await replyOf("hello"))).not.toBe(before);
  });

  it("fails with a part of its reason, however long that is", async () => {
    const reason = await replyOf("fail at length");
    expect(reason).toContain("why why");
    expect(reason.length).toBeLessThan(3_000);
  });

  it("cannot give two turns one session", async () => {
    const twin = { cwd: join(folder, "twin"), memory: memoryOf("twins") };
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

  it("is reported to have made a denied call only when it says that it did it all the same", async () => {
    const asked = turn("report");
    await agents.run(asked);
    expect(asked.rights.activity.map(({ kind, title }) => [kind, title])).toEqual([
      ["denied", "failing"],
      ["denied", "going on"],
      ["call", "a tool call"],
    ]);
  });
});
