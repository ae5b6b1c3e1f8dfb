import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Approval } from "../../../src/core/agent-rights.ts";
import type { DeliveryDetail } from "../../../src/core/delivery.ts";
import { canConfine } from "../../../src/hosts/embedded/programs/probe.ts";
import { GatewayProcess, HOOK_TOKEN } from "../gateway-process.ts";
import { program, ToolModel } from "./acting-gateway.ts";

const NOTE = '[issues__add_note {"text":"noted"}]';
const folder = mkdtempSync(join(tmpdir(), "reveille-killed-"));
const notes = join(folder, "notes.txt");
/** In the arguments of each process that an agent of this test starts. */
const MARK = `killed-${process.pid}`;
/** Hangs at its first start, with a child that ignores the request to end, and replies at the next one. */
const HANGS_ONCE = `mktemp > /dev/null; [ -e ~/begun ] && echo "after all" && exit; touch ~/begun; sh -c 'trap "" TERM; sleep 60' ${MARK} & wait`;
const problem = await canConfine();
let model: ToolModel;
let gateway: GatewayProcess;

beforeAll(async () => {
  process.env["NOTES"] = notes;
  model = await ToolModel.start();
  const mapping = {
    acceptAllThree: "what it can do is tested here",
    deliver: false,
    wakeMode: "next-heartbeat",
    messageTemplate: "{{text}}",
  };
  const commandOf = (name: string): readonly string[] => [process.execPath, program(name)];
  gateway = new GatewayProcess({
    models: { providers: { local: { baseUrl: `${model.origin}/v1` } } },
    agents: {
      defaults: { model: "local/m", heartbeat: { every: "0m" } },
      list: [
        {
          id: "asker",
          permissions: "ask",
          tools: {
            mcp: { issues: { command: commandOf("mcp-server.mjs"), env: ["NOTES"], isolation: "none" } },
            allow: ["issues.*"],
          },
        },
        {
          id: "coder",
          permissions: "ask",
          runtime: { type: "acp", command: commandOf("acp-agent.mjs"), isolation: "none" },
        },
        { id: "free", runtime: { type: "command", command: ["sh", "-c", HANGS_ONCE, MARK], isolation: "none" } },
        { id: "confined", runtime: { type: "command", command: ["sh", "-c", HANGS_ONCE, MARK] } },
      ],
    },
    hooks: {
      enabled: true,
      token: HOOK_TOKEN,
      mappings: [
        { ...mapping, match: { path: "asker" }, agentId: "asker" },
        { ...mapping, match: { path: "coder" }, agentId: "coder" },
        { ...mapping, match: { path: "free" }, agentId: "free" },
        { ...mapping, match: { path: "confined" }, agentId: "confined" },
      ],
    },
  });
  await gateway.start();
});
afterAll(async () => {
  await gateway.close();
  await model.stop();
  rmSync(folder, { recursive: true, force: true });
  delete process.env["NOTES"];
});

async function question(): Promise<Approval> {
  return await vi.waitFor(async () => {
    const { approvals } = await gateway.api<{ approvals: Approval[] }>("/approvals");
    expect(approvals).toHaveLength(1);
    return approvals[0]!;
  }, 20_000);
}

async function ended(id: string): Promise<DeliveryDetail> {
  return await vi.waitFor(async () => {
    const delivery = await gateway.delivery(id);
    expect(delivery.settledAt).toBeDefined();
    return delivery;
  }, 30_000);
}

async function accepted(path: string, text: string): Promise<string> {
  return String((await gateway.post(`/hooks/${path}`, { text })).body["deliveryId"]);
}

/** An act of each kind of agent that can be asked, and whether it was done. */
const ACTS = {
  asker: { text: NOTE, title: "issues.add_note", isDone: () => existsSync(notes) },
  coder: {
    text: "do:run touch made",
    title: "touch made",
    isDone: () => existsSync(join(gateway.stateDir, "agents/coder/work/made")),
  },
} as const;

describe("a question to the owner, when the gateway is killed while it waits", () => {
  it.for([
    { agent: "asker", answer: "deny" },
    { agent: "coder", answer: "deny" },
    { agent: "asker", answer: "approve" },
    { agent: "coder", answer: "approve" },
  ] as const)("is the same one in the next attempt, which does what the answer says, once: %o", async (given) => {
    const { text, title, isDone } = ACTS[given.agent];
    const id = await accepted(given.agent, text);
    const asked = await question();
    await gateway.end("SIGKILL");
    await gateway.start();
    expect(await question()).toMatchObject({ id: asked.id });
    await vi.waitFor(async () => {
      const { runs } = await gateway.delivery(id);
      expect(runs[0]!.attempts.map(({ status }) => status)).toEqual(["interrupted", "running"]);
    }, 20_000);
    expect(isDone()).toBe(false);
    await gateway.api(`/approvals/${asked.id}/${given.answer}`, "POST");
    const { runs, state } = await ended(id);
    const kinds = runs[0]!.attempts[1]!.activity?.map(({ kind }) => kind);
    const isApproved = given.answer === "approve";
    expect([isDone(), kinds]).toEqual(isApproved ? [true, ["approved", "call"]] : [false, ["denied"]]);
    if (isApproved) expect(state).toBe("done");
    expect(runs[0]!.attempts[1]!.activity![0]!.title).toBe(title);
    if (given.agent === "asker" && isApproved) expect(readFileSync(notes, "utf8")).toBe("noted\n");
  });
});

function marked(): string[] {
  const listed = execFileSync("ps", ["-eo", "pid=,args="], { encoding: "utf8" });
  return listed.split("\n").filter((line) => line.includes(MARK) && !line.includes("ps -eo"));
}

/** Sockets of the proxies of confined programs, by the process that confines. */
function sockets(pids: readonly number[]): string[] {
  return readdirSync(tmpdir()).filter((name) => pids.some((pid) => name.startsWith(`srt-mux-${pid}-`)));
}

describe("the programs of a gateway that is killed", () => {
  it.for(problem === undefined ? ["free", "confined"] : ["free"])("end with it: %s", async (path) => {
    const id = await accepted(path, "go");
    await vi.waitFor(() => expect(existsSync(join(gateway.stateDir, `agents/${path}/home/begun`))).toBe(true), 20_000);
    await vi.waitFor(() => expect(marked().length).toBeGreaterThan(1), 20_000);
    const pids = marked().map((line) => Number.parseInt(line, 10));
    expect(sockets(pids)).toHaveLength(path === "confined" ? 1 : 0);
    await gateway.end("SIGKILL");
    await vi.waitFor(() => expect(marked()).toEqual([]), 20_000);
    expect(sockets(pids)).toEqual([]);
    await gateway.start();
    const { runs, state } = await ended(id);
    expect([state, runs[0]!.reply]).toEqual(["done", "after all"]);
    expect(runs[0]!.attempts.map(({ status }) => status)).toEqual(["interrupted", "ok"]);
    expect(readdirSync(join(gateway.stateDir, `agents/${path}/home/tmp`))).toEqual([]);
  });
});
