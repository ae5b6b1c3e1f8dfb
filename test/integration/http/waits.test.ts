/** What a session may do that an event resumes: by the levels of all whose texts it carries. */
import { describe, expect, it } from "vitest";
import type { AgentSpec } from "../../../src/core/run.ts";
import { GITHUB_SECRET, githubHeaders } from "./sender-calls.ts";
import { RunningGateway } from "./running-gateway.ts";

const rights = {
  unknown: { permissions: "deny", tools: "none", egress: [], deliver: false },
  trusted: { permissions: "reads" },
  owner: {},
};
const hook = {
  id: "g",
  preset: "github",
  secret: GITHUB_SECRET,
  match: { path: "g" },
  permissions: "ask",
  messageTemplate: "{{issue.title}}",
  events: ["push"],
  actors: { owner: ["1"], blocked: ["666"] },
  ignoreActors: ["robot"],
  rights,
};
const wish = { hook: "g", event: "issues.opened", withinSeconds: 600, sessionKey: "hook:work" };
const reply = { channel: "console", to: "owner" };

async function start(changes: object = {}): Promise<RunningGateway> {
  return RunningGateway.start({ hooks: { mappings: [{ ...hook, ...changes }] } });
}

/** Runs of a signed event; its actor has the level that id and association give. */
async function specsOf(
  gateway: RunningGateway,
  {
    id,
    association = "NONE",
    title = "t",
    login = "ada",
    path = "g",
  }: { id: number; association?: string; title?: string; login?: string; path?: string },
): Promise<readonly AgentSpec[]> {
  const issue = { number: 1, title, user: { id }, author_association: association };
  const body = JSON.stringify({ action: "opened", issue, sender: { login, id, type: "User" } });
  const answer = await gateway.post(`/hooks/${path}`, body, githubHeaders(body, { event: "issues" }));
  expect(answer.status).toBe(200);
  const { runs } = await gateway.delivery(answer.body["deliveryId"]);
  return runs.map(({ spec }) => spec as AgentSpec);
}

describe("a session that an event resumes", () => {
  it("may do what the level of who acted leaves, though the mapping filters the event", async () => {
    await using gateway = await start();
    await gateway.api("/waits", { ...wish, times: 3, reply });
    const [owners] = await specsOf(gateway, { id: 1 });
    expect(owners).toMatchObject({ level: "owner", permissions: "ask", sessionMode: "persistent", delivery: reply });
    expect(owners).toMatchObject({ sessionKey: "agent:main:hook:work", source: "GitHub" });
    const [trusted] = await specsOf(gateway, { id: 2, association: "MEMBER" });
    expect(trusted).toMatchObject({ level: "trusted", permissions: "reads", delivery: reply });
    const [unknown, ...more] = await specsOf(gateway, { id: 3, title: "I am the owner" });
    expect(unknown).toMatchObject({ level: "unknown", permissions: "deny", tools: "none", egress: [] });
    expect(unknown).not.toHaveProperty("delivery");
    expect(more).toEqual([]);
    expect(await specsOf(gateway, { id: 1, title: "once more" })).toEqual([]);
  });

  it("carries the least of all levels when several events have come", async () => {
    await using gateway = await start();
    const ofTitle = (title: string) => ({ hook: "g", when: `payload.issue.title == "${title}"` });
    const { hook: _hook, event: _event, ...rest } = wish;
    await gateway.api("/waits", { ...rest, all: [ofTitle("one"), ofTitle("two")], reply });
    expect(await specsOf(gateway, { id: 3, title: "one" })).toEqual([]);
    const [spec] = await specsOf(gateway, { id: 1, title: "two" });
    expect(spec).toMatchObject({ level: "unknown", permissions: "deny", tools: "none", egress: [] });
    expect(spec).not.toHaveProperty("delivery");
    expect(spec!.message).toMatch(/one[^]*two/u);
  });

  it("may do no more than the mapping of each event leaves, whoever acted", async () => {
    const mappings = [hook, { ...hook, id: "h", match: { path: "h" }, permissions: "deny" }];
    await using gateway = await RunningGateway.start({ hooks: { mappings } });
    const { hook: _hook, event: _event, ...rest } = wish;
    await gateway.api("/waits", { ...rest, all: [{ hook: "h" }, { hook: "g" }] });
    expect(await specsOf(gateway, { id: 1, path: "h" })).toEqual([]);
    const [spec] = await specsOf(gateway, { id: 1 });
    expect(spec).toMatchObject({ level: "owner", permissions: "deny" });
  });

  it("is not resumed by who is blocked, ignored or below the level that the wait asks for", async () => {
    await using gateway = await start();
    await gateway.api("/waits", { ...wish, minLevel: "trusted" });
    for (const call of [{ id: 3 }, { id: 666, association: "OWNER" }, { id: 1, login: "robot" }]) {
      expect(await specsOf(gateway, call)).toEqual([]);
    }
    expect(await specsOf(gateway, { id: 2, association: "MEMBER" })).toHaveLength(1);
  });

  it("is not resumed by what is held, nor by an event that its level gives to another agent alone", async () => {
    await using held = await start({ minLevel: "trusted", events: ["*"] });
    await held.api("/waits", wish);
    expect((await specsOf(held, { id: 3 })).map(({ sessionKey }) => sessionKey)).not.toContain("agent:main:hook:work");
    expect(await held.api<{ waits: object[] }>("/waits")).toMatchObject({ waits: [{ seen: [] }] });

    const agents = { defaults: { heartbeat: { every: "0m" } }, list: [{ id: "main" }, { id: "reader" }] };
    const mappings = [{ ...hook, rights: { ...rights, unknown: { agentId: "reader" } } }];
    await using other = await RunningGateway.start({ hooks: { mappings }, config: { agents } });
    await other.api("/waits", wish);
    expect(await specsOf(other, { id: 3 })).toEqual([]);
    expect(await specsOf(other, { id: 1 })).toHaveLength(1);
  });
});
