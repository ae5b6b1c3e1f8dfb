import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import type { EmbeddedGateway } from "../../../src/hosts/embedded/gateway.ts";
import { MailServer } from "../../conformance/channel/mail-server.ts";
import { HttpPlatform } from "../../conformance/channel/platform.ts";
import { baseConfig, GatewayFixture } from "../../unit/hosts/embedded/gateway/fixture.ts";
import { GITHUB_SECRET, githubHeaders } from "../http/sender-calls.ts";
import { acts, ended, program, ToolModel } from "./acting-gateway.ts";

const fixture = new GatewayFixture();
const repository = join(fixture.folder, "repository");
const BOT = "123456:token-of-the-bot";
let model: ToolModel;
let telegram: HttpPlatform;
let mail: MailServer;
let gateway: EmbeddedGateway;

beforeAll(async () => {
  mkdirSync(repository);
  const git = (...args: string[]): unknown =>
    execFileSync("git", ["-c", "user.name=A", "-c", "user.email=a@example.com", ...args], { cwd: repository });
  git("init", "--quiet", "--initial-branch=main");
  writeFileSync(join(repository, "CHANGES"), "");
  git("add", ".");
  git("commit", "--quiet", "-m", "first");
  model = await ToolModel.start();
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
  const command = (name: string): readonly string[] => [process.execPath, program(name)];
  const mapping = (id: string, more: object): object => ({
    acceptAllThree: "what it can do is tested here",
    id,
    match: { path: id },
    preset: "github",
    secret: GITHUB_SECRET,
    agentId: id,
    events: ["issues.opened"],
    instructions: "Find out what the issue needs.",
    messageTemplate: "{{payload.issue.title}}",
    wakeMode: "next-heartbeat",
    ...more,
  });
  const chat = { channel: "chat", to: "42" };
  fixture.write({
    ...baseConfig,
    models: { providers: { local: { baseUrl: `${model.origin}/v1` } } },
    channels: {
      chat: { preset: "telegram", secret: BOT, url: `${telegram.url}/bot{{secret}}/sendMessage` },
      mail: { kind: "email", smtp: { host: "127.0.0.1", port: mail.port }, from: "agent@example.com" },
    },
    agents: {
      defaults: { heartbeat: { every: "0m" } },
      list: [
        { id: "main", default: true },
        {
          id: "reader",
          model: "local/m",
          permissions: "reads",
          tools: { mcp: { issues: { command: command("mcp-server.mjs"), isolation: "none" } }, allow: ["issues.*"] },
        },
        {
          id: "shell",
          runtime: { type: "command", command: ["sh", "-c", "grep -v ^Canary | tail -n 20; pwd"], isolation: "none" },
        },
        {
          id: "coder",
          runtime: { type: "acp", command: command("acp-agent.mjs"), isolation: "none" },
          permissions: { allow: [{ kind: "execute", command: "ls CHANGES" }] },
        },
      ],
    },
    hooks: {
      ...baseConfig.hooks,
      mappings: [
        mapping("reader", chat),
        mapping("shell", { channel: "mail", to: "owner@example.com" }),
        mapping("coder", { ...chat, workspace: { git: `file://${repository}`, ref: "main" } }),
      ],
    },
  });
  gateway = await fixture.start();
});
afterAll(async () => {
  await fixture.remove();
  await Promise.all([model.stop(), telegram[Symbol.asyncDispose](), mail[Symbol.asyncDispose]()]);
});

async function issue(path: string, title: string): ReturnType<typeof ended> {
  const body = JSON.stringify({
    action: "opened",
    issue: { number: 7, title },
    repository: { full_name: "example/app" },
    sender: { login: "ada", id: 1, type: "User" },
  });
  const headers = githubHeaders(body, { event: "issues" });
  const answer = await fetch(`${gateway.url}/hooks/${path}`, { method: "POST", headers, body });
  const { deliveryId } = (await answer.json()) as { deliveryId: string };
  return ended(gateway, deliveryId);
}

it("a signed issue runs each kind of agent, and its reply arrives in the chat or by mail", async () => {
  const read = await issue("reader", '[issues__get_issue {"number":7}]');
  expect(acts(read)).toMatchObject([{ kind: "call", title: "issues.get_issue" }]);
  await vi.waitFor(() => expect(telegram.taken).toHaveLength(1), 15_000);
  expect(telegram.taken[0]).toContain("42: Done.");
  expect(telegram.taken[0]).toContain("Issue 7: the build is red.");

  await issue("shell", "The door is open");
  await vi.waitFor(() => expect(mail.taken).toHaveLength(1), 15_000);
  expect(mail.taken[0]).toContain("The door is open");

  const coded = await issue("coder", "do:run ls CHANGES");
  expect(acts(coded)).toMatchObject([{ kind: "call", title: "ls CHANGES" }]);
  await vi.waitFor(() => expect(telegram.taken).toHaveLength(2), 15_000);
  expect(telegram.taken[1]).toContain("Ran it: CHANGES");

  for (const { messages } of model.requests) {
    const [prompt = ""] = messages.filter(({ role }) => role === "user").map(({ content }) => content ?? "");
    expect(prompt.startsWith("Instructions of this gateway's owner:\nFind out what the issue needs.\n\n")).toBe(true);
  }
});
