import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Approval } from "../../src/core/agent-rights.ts";
import type { DeliveryDetail } from "../../src/core/delivery.ts";
import { canConfine } from "../../src/hosts/embedded/programs/probe.ts";
import { MailServer } from "../conformance/channel/mail-server.ts";
import { HttpPlatform } from "../conformance/channel/platform.ts";
import { acts } from "../integration/agents/acting-gateway.ts";
import { GatewayProcess, HOOK_TOKEN } from "../integration/gateway-process.ts";
import { GITHUB_SECRET, githubHeaders } from "../integration/http/sender-calls.ts";
import { ShellModel } from "./shell-model.ts";

/** The program of its npm package; there is one package for each platform, and this is that of Linux on x64. */
const opencode = join(import.meta.dirname, "node_modules/opencode-linux-x64/bin/opencode");
const BOT = "123456:token-of-the-bot";
const AGENTS = ["allowed", "denied", "asker", "confined"];
const folder = mkdtempSync(join(tmpdir(), "reveille-opencode-"));
const repository = join(folder, "repository");
const problem = await canConfine();
let model: ShellModel;
let telegram: HttpPlatform;
let mail: MailServer;
let gateway: GatewayProcess;

/** What the agent reads as its own configuration comes from its home, and never from a checkout. */
function configureAgent(id: string): void {
  const config = join(gateway.stateDir, "agents", id, "home/.config/opencode");
  mkdirSync(config, { recursive: true });
  const provider = {
    npm: "@ai-sdk/openai-compatible",
    options: { baseURL: `${model.origin}/v1`, apiKey: "none" },
    models: { small: { tool_call: true } },
  };
  const settings = { provider: { local: provider }, model: "local/small", permission: { bash: "ask", edit: "ask" } };
  writeFileSync(join(config, "opencode.json"), JSON.stringify(settings));
}

beforeAll(async () => {
  mkdirSync(repository);
  const git = (...args: string[]): unknown =>
    execFileSync("git", ["-c", "user.name=A", "-c", "user.email=a@example.com", ...args], { cwd: repository });
  git("init", "--quiet", "--initial-branch=main");
  writeFileSync(join(repository, "CHANGES"), "");
  // A checkout that would have its agent do everything, if its word counted.
  writeFileSync(join(repository, "opencode.json"), JSON.stringify({ permission: { bash: "allow", edit: "allow" } }));
  git("add", ".");
  git("commit", "--quiet", "-m", "first");
  model = await ShellModel.start();
  mail = await MailServer.listen();
  const refused = { status: 400, body: { ok: false } };
  telegram = await HttpPlatform.listen({
    answers: { takes: { status: 200, body: { ok: true } }, "is busy": refused, fails: refused, refuses: refused },
    textOf: ({ req, body }) => {
      expect(req.url).toBe(`/bot${BOT}/sendMessage`);
      const { chat_id: to, text } = JSON.parse(body) as Record<string, string>;
      return `${to}: ${text}`;
    },
  });
  const runtime = { type: "acp", command: [opencode, "acp"], isolation: "none" };
  const rule = { allow: [{ kind: "execute", command: "ls *" }] };
  const mapping = (path: string, agentId: string, to: object): object => ({
    acceptAllThree: "what it can do is tested here",
    match: { path },
    preset: "github",
    secret: GITHUB_SECRET,
    agentId,
    events: ["issues.opened"],
    instructions: "Do what is written below, if it is about a file.",
    messageTemplate: "{{payload.issue.title}}",
    workspace: { git: `file://${repository}`, ref: "main" },
    wakeMode: "next-heartbeat",
    ...to,
  });
  const chat = { channel: "chat", to: "42" };
  gateway = new GatewayProcess({
    channels: {
      chat: { preset: "telegram", secret: BOT, url: `${telegram.url}/bot{{secret}}/sendMessage` },
      mail: { kind: "email", smtp: { host: "127.0.0.1", port: mail.port }, from: "agent@example.com" },
    },
    agents: {
      defaults: { heartbeat: { every: "0m" } },
      list: [
        { id: "main", default: true },
        { id: "allowed", runtime, permissions: rule },
        { id: "denied", runtime },
        { id: "asker", runtime, permissions: "ask" },
        {
          id: "confined",
          runtime: { type: "acp", command: [opencode, "acp"], read: [import.meta.dirname] },
          permissions: rule,
          egress: [new URL(model.origin).host],
        },
      ],
    },
    hooks: {
      enabled: true,
      token: HOOK_TOKEN,
      mappings: [
        ...AGENTS.map((id) => mapping(id, id, chat)),
        mapping("mailed", "allowed", { channel: "mail", to: "owner@example.com" }),
      ],
    },
  });
  for (const id of AGENTS) configureAgent(id);
  await gateway.start();
});
afterAll(async () => {
  await gateway.close();
  await Promise.all([model.stop(), telegram[Symbol.asyncDispose](), mail[Symbol.asyncDispose]()]);
  rmSync(folder, { recursive: true, force: true });
});

/** A signed event of an issue whose title is an order to the model. */
async function opened(path: string, command: string): Promise<string> {
  const body = JSON.stringify({
    action: "opened",
    issue: { number: 7, title: `please run: ${command}.` },
    repository: { full_name: "example/app" },
    sender: { login: "ada", id: 1, type: "User" },
  });
  const headers = githubHeaders(body, { event: "issues" });
  const answer = await fetch(`${gateway.url}/hooks/${path}`, { method: "POST", headers, body });
  return ((await answer.json()) as { deliveryId: string }).deliveryId;
}

async function ended(id: string): Promise<DeliveryDetail> {
  return await vi.waitFor(async () => {
    const delivery = await gateway.delivery(id);
    expect(delivery.settledAt).toBeDefined();
    return delivery;
  }, 90_000);
}

async function question(): Promise<Approval> {
  return await vi.waitFor(async () => {
    const { approvals } = await gateway.api<{ approvals: Approval[] }>("/approvals");
    expect(approvals).toHaveLength(1);
    return approvals[0]!;
  }, 90_000);
}

const copies = (id: string): string[] => readdirSync(join(gateway.stateDir, "agents", id, "workspaces/copies"));

describe.skipIf(!existsSync(opencode))("opencode over the Agent Client Protocol, by a signed issue", () => {
  it("does in a working copy what a rule allows, and its reply arrives in the chat", async () => {
    const delivery = await ended(await opened("allowed", "ls CHANGES"));
    expect([delivery.state, delivery.reason]).toEqual(["done", null]);
    expect(acts(delivery)).toContainEqual(
      expect.objectContaining({ kind: "call", output: expect.stringContaining("CHANGES") }),
    );
    await vi.waitFor(() => expect(telegram.taken).toHaveLength(1), 15_000);
    expect(telegram.taken[0]).toMatch(/^42: It is done: [^]*CHANGES/u);
    expect(copies("allowed")).toEqual([]);
    expect(model.prompts[0]).toContain("Instructions of this gateway's owner:\nDo what is written below");
  });

  it("sends its reply by mail", async () => {
    await ended(await opened("mailed", "ls CHANGES"));
    await vi.waitFor(() => expect(mail.taken).toHaveLength(1), 15_000);
    expect(mail.taken[0]).toContain("It is done:");
  });

  it("is denied what no rule allows, whatever the checkout says of itself", async () => {
    const delivery = await ended(await opened("denied", "touch pwned"));
    expect(delivery).toMatchObject({ state: "failed", reason: expect.stringContaining("denied:") });
    expect(acts(delivery).map(({ kind }) => kind)).toEqual(["denied"]);
  });

  it.for([
    { answer: "approve", isKilled: false },
    { answer: "deny", isKilled: false },
    { answer: "approve", isKilled: true },
    { answer: "deny", isKilled: true },
  ])("asks its owner, and does what the answer says: %o", async ({ answer, isKilled }) => {
    const command = `touch ${answer}-${isKilled}`;
    const id = await opened("asker", command);
    const asked = await question();
    expect(asked.input).toContain(command);
    if (isKilled) {
      await gateway.end("SIGKILL");
      await gateway.start();
      await vi.waitFor(async () => {
        const { runs } = await gateway.delivery(id);
        expect(runs[0]!.attempts.map(({ status }) => status)).toEqual(["interrupted", "running"]);
      }, 90_000);
      expect(await question()).toMatchObject({ id: asked.id });
    }
    await gateway.api(`/approvals/${asked.id}/${answer}`, "POST");
    const delivery = await ended(id);
    const kinds = acts(delivery).map(({ kind }) => kind);
    if (answer === "approve") expect([delivery.state, kinds]).toEqual(["done", ["approved", "call"]]);
    else expect([delivery.state, kinds]).toEqual(["failed", ["denied"]]);
  });

  it.skipIf(problem !== undefined)("does the same confined, with its model as the only host", async () => {
    const delivery = await ended(await opened("confined", "ls CHANGES"));
    expect([delivery.state, delivery.reason]).toEqual(["done", null]);
    expect(delivery.runs[0]!.reply).toContain("CHANGES");
    // It looks for news of itself, which its egress does not name.
    expect(acts(delivery).map(({ kind }) => kind)).toContain("refused-host");
  });
});
