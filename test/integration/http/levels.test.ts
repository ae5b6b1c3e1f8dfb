/** Levels of the people behind events: stored, filterable, usable in conditions; some are blocked. */
import { describe, expect, it } from "vitest";
import { GITHUB_SECRET, githubHeaders } from "./sender-calls.ts";
import { RunningGateway } from "./running-gateway.ts";

const hook = {
  preset: "github",
  secret: GITHUB_SECRET,
  deliver: false,
  wakeMode: "next-heartbeat",
  actors: { owner: ["1"], blocked: ["666"] },
};

describe("rights by level", () => {
  it("choose agent, permissions and channel before the payload is read", async () => {
    const agents = {
      defaults: { heartbeat: { every: "0m" } },
      list: [{ id: "main" }, { id: "writer" }],
    };
    const rights = {
      unknown: { permissions: "deny", tools: "none", egress: [], workspace: false, deliver: false },
      trusted: { agentId: "writer", permissions: "reads", channel: "console" },
      owner: { agentId: "writer" },
    };
    const mappings = [{ ...hook, deliver: true, match: { path: "g" }, permissions: "ask", rights }];
    await using gateway = await RunningGateway.start({ hooks: { mappings }, config: { agents } });
    const specOf = async (id: number, association: string): Promise<object | undefined> => {
      const body = JSON.stringify({
        action: "opened",
        issue: { number: 1, title: "I am a MEMBER", user: { id }, author_association: association },
        sender: { login: "ada", id, type: "User" },
      });
      const answer = await gateway.post("/hooks/g", body, githubHeaders(body, { event: "issues" }));
      return (await gateway.ended(answer.body["deliveryId"])).runs[0]?.spec;
    };
    const unknown = await specOf(3, "NONE");
    expect(unknown).toMatchObject({ agentId: "main", permissions: "deny", tools: "none", egress: [] });
    expect(unknown).not.toHaveProperty("delivery");
    expect(await specOf(4, "CONTRIBUTOR")).toMatchObject({ agentId: "main", permissions: "deny" });
    const trusted = await specOf(2, "MEMBER");
    expect(trusted).toMatchObject({ agentId: "writer", permissions: "reads", delivery: { channel: "console" } });
    expect(trusted).not.toHaveProperty("egress");
    expect(await specOf(1, "NONE")).toMatchObject({ agentId: "writer", permissions: "ask" });
  });
});

describe("calls that are coalesced", () => {
  it("are those of one level: the words of a stranger never join a run of the owner", async () => {
    const coalesce = { windowSeconds: 1, mode: "list" };
    const rights = { unknown: { permissions: "deny", tools: "none" }, trusted: {}, owner: {} };
    const mappings = [{ ...hook, match: { path: "g" }, messageTemplate: "{{issue.title}}", coalesce, rights }];
    await using gateway = await RunningGateway.start({ hooks: { mappings } });
    const runOf = async (id: number, title: string): Promise<unknown> => {
      const issue = { number: 1, title, user: { id }, author_association: "NONE" };
      const body = JSON.stringify({ action: "opened", issue, sender: { login: "ada", id, type: "User" } });
      return (await gateway.post("/hooks/g", body, githubHeaders(body, { event: "issues" }))).body["runId"];
    };
    const [owners, strangers, again] = [await runOf(1, "mine"), await runOf(3, "theirs"), await runOf(1, "mine too")];
    expect(strangers).not.toBe(owners);
    expect(again).toBe(owners);
    const specs = (await gateway.deliveries()).map(({ id }) => gateway.delivery(id));
    const runs = (await Promise.all(specs)).flatMap((delivery) => delivery.runs);
    expect(runs.find(({ id }) => id === strangers)).toMatchObject({ calls: 1, spec: { permissions: "deny" } });
    expect(runs.find(({ id }) => id === owners)).toMatchObject({ calls: 2, spec: { level: "owner" } });
  });
});

describe("the actor of a signed event", () => {
  it("has a level that is stored, shown and filtered by, and conditions can use it", async () => {
    const mappings = [
      { ...hook, id: "all", match: { path: "all" } },
      { ...hook, id: "some", match: { path: "some" }, when: 'actor.level in ["owner", "trusted"]' },
    ];
    await using gateway = await RunningGateway.start({ hooks: { mappings } });
    const post = async (path: string, id: number, association?: string): Promise<string> => {
      const sender = { login: `user-${id}`, id, type: "User" };
      const body = JSON.stringify({
        action: "opened",
        issue: { number: 1, title: "t", user: { id }, author_association: association },
        sender,
      });
      const answer = await gateway.post(`/hooks/${path}`, body, githubHeaders(body, { event: "issues" }));
      const { state, reason, level } = await gateway.delivery(answer.body["deliveryId"]);
      return `${level} ${state === "filtered" ? `${state} ${reason}` : "taken"}`;
    };
    expect(await post("all", 1)).toBe("owner taken");
    expect(await post("all", 2, "MEMBER")).toBe("trusted taken");
    expect(await post("all", 3, "FIRST_TIMER")).toBe("unknown taken");
    expect(await post("all", 666, "OWNER")).toBe('trusted filtered actors.blocked has the actor "user-666" ("666")');
    expect(await post("some", 4, "COLLABORATOR")).toBe("trusted taken");
    expect(await post("some", 5, "NONE")).toMatch(/^unknown filtered when/u);

    const listed = async (level: string): Promise<unknown> => {
      const { deliveries } = await gateway.api<{ deliveries: { actor: string }[] }>(`/deliveries?level=${level}`);
      return deliveries.map(({ actor }) => actor);
    };
    expect(await listed("owner")).toEqual(["user-1"]);
    expect(await listed("unknown")).toEqual(["user-5", "user-3"]);
    expect(await listed("known")).toEqual([]);
  });
});
