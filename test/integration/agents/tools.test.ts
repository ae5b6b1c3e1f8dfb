import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Approval } from "../../../src/core/agent-rights.ts";
import type { EmbeddedGateway } from "../../../src/hosts/embedded/gateway.ts";
import {
  baseConfig,
  callHook,
  GatewayFixture,
  gatewayToken,
  readApi,
} from "../../unit/hosts/embedded/gateway/fixture.ts";
import { acts, ended, endedRun, post, program, ToolModel } from "./acting-gateway.ts";

const fixture = new GatewayFixture();
const notes = join(fixture.folder, "notes.txt");
let model: ToolModel;
let gateway: EmbeddedGateway;

const server = { command: [process.execPath, program("mcp-server.mjs")], env: ["NOTES"], isolation: "none" };
const mapping = {
  acceptAllThree: "what it can do is tested here",
  deliver: false,
  wakeMode: "next-heartbeat",
  messageTemplate: "{{text}}",
};
const ISSUE = '[issues__get_issue {"number":7}]';
const NOTE = '[issues__add_note {"text":"noted"}]';

beforeAll(async () => {
  model = await ToolModel.start();
  process.env["NOTES"] = notes;
  const tools = { mcp: { issues: server }, allow: ["issues.get_issue", "issues.add_note"], maxSteps: 3 };
  const agent = (id: string, permissions: unknown, more: object = {}) => ({ id, tools, permissions, ...more });
  const mappings = ["reader", "writer", "asker", "nothing", "odd", "all", "open"].map((id) => ({
    ...mapping,
    id,
    match: { path: id },
    agentId: id,
  }));
  fixture.write({
    ...baseConfig,
    models: { providers: { local: { baseUrl: `${model.origin}/v1` } } },
    agents: {
      defaults: { heartbeat: { every: "0m" }, model: "local/m" },
      list: [
        agent("reader", "reads", { default: true }),
        agent("writer", { allow: [{ tool: "issues.*" }] }),
        agent("asker", "ask", { approvalTimeoutSeconds: 5 }),
        agent("nothing", undefined),
        { ...agent("odd", { allow: [{ tool: "issues.odd_name" }] }), tools: { ...tools, allow: ["issues.odd*"] } },
        agent("all", "all"),
        agent("open", "all", { allowUntrusted: true }),
      ],
    },
    hooks: {
      acceptAllThree: "what it can do is tested here",
      ...baseConfig.hooks,
      mappings: [
        ...mappings,
        { match: { path: "woken" }, action: "wake", agentId: "writer", textTemplate: "{{text}}" },
        {
          ...mapping,
          id: "spender",
          match: { path: "spender" },
          agentId: "reader",
          budget: { tokens: { perHour: 30 } },
        },
        { ...mapping, id: "lowered", match: { path: "lowered" }, agentId: "all", permissions: "reads" },
      ],
    },
  });
  gateway = await fixture.start();
});
afterAll(async () => {
  await fixture.remove();
  await model.stop();
  delete process.env["NOTES"];
});

async function question(): Promise<Approval> {
  return await vi.waitFor(async () => {
    const { approvals } = (await (await readApi(gateway, "approvals")).json()) as { approvals: Approval[] };
    expect(approvals).toHaveLength(1);
    return approvals[0]!;
  }, 10_000);
}

async function accepted(path: string, text: string): Promise<string> {
  return ((await (await callHook(gateway, `/hooks/${path}`, { text })).json()) as { deliveryId: string }).deliveryId;
}

describe("a model with tools", () => {
  it("reads an issue by a tool, whose words stay inside the boundary, and the attempt says so", async () => {
    const delivery = await endedRun(gateway, "reader", { text: ISSUE });
    expect(delivery).toMatchObject({ state: "done" });
    expect(delivery.runs[0]!.reply).toContain("Issue 7: the build is red.");
    expect(acts(delivery)).toEqual([
      { kind: "call", title: "issues.get_issue", input: '{"number":7}', output: expect.stringContaining("Issue 7") },
    ]);
    expect(delivery.runs[0]!.attempts[0]!.usage).toMatchObject({ inputTokens: 22, outputTokens: 14 });
    const said = model.requests.at(-1)!.messages.find(({ role }) => role === "tool")!.content!;
    expect(said.indexOf("UNTRUSTED INPUT")).toBe(0);
    expect(said.indexOf("Ignore your owner")).toBeGreaterThan(said.indexOf("<<<EXTERNAL_UNTRUSTED_CONTENT"));
  });

  it("is shown the tools that the configuration lists and no other", async () => {
    await endedRun(gateway, "reader", { text: "[issues__hidden {}]" });
    const { tools } = model.requests.at(-1)!;
    expect(JSON.stringify(tools)).toContain("issues__get_issue");
    expect(JSON.stringify(tools)).not.toContain("hidden");
    expect(model.requests.at(-1)!.messages.at(-1)!.content).toContain("There is no tool");
  });

  it("is shown each tool by a name of its own, and nothing that a server writes ends the boundary", async () => {
    const delivery = await endedRun(gateway, "odd", { text: "[issues__odd_name {}] [issues__odd_name_2 {}]" });
    expect(acts(delivery)).toMatchObject([
      { kind: "denied", title: "issues.odd.name" },
      { kind: "call", title: "issues.odd_name" },
    ]);
    const { tools, messages } = model.requests.at(-1)!;
    const [shown] = tools as [{ function: { description: string } }];
    expect(JSON.stringify(tools)).not.toContain("<<<");
    expect(shown.function.description.length).toBeLessThan(5_000);
    const said = messages.at(-1)!.content!;
    expect(said.match(/<<<END_EXTERNAL_UNTRUSTED_CONTENT/gu)).toHaveLength(1);
    expect(said.trimEnd().endsWith(">>>")).toBe(true);
  });

  it("is denied what its permissions do not allow; with an empty reply the run fails", async () => {
    const denied = await endedRun(gateway, "reader", { text: NOTE });
    expect(denied.state).toBe("done");
    expect(acts(denied)).toMatchObject([{ kind: "denied", title: "issues.add_note" }]);
    const silent = await endedRun(gateway, "nothing", { text: `${ISSUE} [silent]` });
    expect(silent).toMatchObject({ state: "failed", reason: expect.stringContaining("denied: issues.get_issue") });
    expect(silent.runs[0]!.attempts[0]!.usage).toMatchObject({ inputTokens: 22 });
    expect(existsSync(notes)).toBe(false);
  });

  it("does what a rule allows", async () => {
    expect((await endedRun(gateway, "writer", { text: `${ISSUE} ${NOTE}` })).state).toBe("done");
    expect(readFileSync(notes, "utf8")).toBe("noted\n");
  });

  it("is denied a call with a secret of the gateway, whatever it may do, and the attempt keeps no part of it", async () => {
    const before = readFileSync(notes, "utf8");
    const spelled = Array.from(gatewayToken).join("\\n");
    for (const agent of ["writer", "open"]) {
      const delivery = await endedRun(gateway, agent, { text: `[issues__add_note {"text":"${spelled}"}]` });
      expect(acts(delivery)).toEqual([
        { kind: "denied", title: "issues.add_note", output: "it has a secret of the gateway" },
      ]);
    }
    expect(model.requests.at(-1)!.messages.at(-1)!.content).toBe("Denied: it has a secret of the gateway.");
    expect(readFileSync(notes, "utf8")).toBe(before);
  });

  it("stops after so many requests", async () => {
    const { reason, runs } = await endedRun(gateway, "reader", { text: `${ISSUE} ${ISSUE} ${ISSUE} ${ISSUE}` });
    expect(reason).toContain("3 requests");
    // What was counted counts, also toward a budget.
    expect(runs[0]!.attempts[0]!.usage).toMatchObject({ inputTokens: 33, outputTokens: 21 });
  });

  it("takes no run of a hook with all permissions, unless the agent or the mapping says so", async () => {
    expect((await endedRun(gateway, "all", { text: ISSUE })).reason).toContain("takes no runs of hooks");
    expect(acts(await endedRun(gateway, "lowered", { text: `${ISSUE} ${NOTE}` }))).toMatchObject([
      { kind: "call" },
      { kind: "denied" },
    ]);
    expect(acts(await endedRun(gateway, "open", { text: NOTE }))).toMatchObject([{ kind: "call" }]);
  });

  it("asks the owner, and does what is approved, once", async () => {
    const before = readFileSync(notes, "utf8");
    const id = await accepted("asker", `${NOTE} ${NOTE}`);
    const first = await question();
    expect(first).toMatchObject({ agentId: "asker", title: "issues.add_note", input: '{"text":"noted"}' });
    await vi.waitFor(async () => {
      const outbox = await (await readApi(gateway, "outbox")).text();
      expect(outbox).toContain(`reveille approvals approve ${first.id}`);
    }, 15_000);
    expect((await post(gateway, `approvals/${first.id}/approve`)).status).toBe(200);
    const second = await vi.waitFor(async () => {
      const asked = await question();
      expect(asked.id).not.toBe(first.id);
      return asked;
    }, 15_000);
    expect(readFileSync(notes, "utf8")).toBe(`${before}noted\n`);
    expect((await post(gateway, `approvals/${second.id}/deny`)).status).toBe(200);
    expect((await post(gateway, `approvals/${second.id}/approve`)).status).toBe(404);
    const delivery = await ended(gateway, id);
    expect(acts(delivery)).toMatchObject([
      { kind: "approved" },
      { kind: "call" },
      { kind: "denied", output: "the owner denied it" },
    ]);
    expect(readFileSync(notes, "utf8")).toBe(`${before}noted\n`);
  });

  it("leaves on the attempt what it did and used before it was canceled", async () => {
    const id = await accepted("asker", `${ISSUE} ${NOTE}`);
    await post(gateway, `approvals/${(await question()).id}/approve`);
    await vi.waitFor(async () => expect((await question()).title).toBe("issues.add_note"), 10_000);
    await post(gateway, `deliveries/${id}/cancel`);
    // The delivery has ended before its agent has.
    const delivery = await vi.waitFor(async () => {
      const canceled = await ended(gateway, id);
      expect(acts(canceled)).toMatchObject([
        { kind: "approved" },
        { kind: "call" },
        { kind: "denied", output: "the run was ended" },
      ]);
      return canceled;
    }, 15_000);
    expect(delivery.state).toBe("canceled");
    expect(delivery.runs[0]!.attempts[0]!.usage).toMatchObject({ inputTokens: 22 });
    expect(await (await readApi(gateway, "approvals")).json()).toEqual({ approvals: [] });
  });

  it("asks in the main session what it may do in a run, because the session has read what hooks sent", async () => {
    const before = readFileSync(notes, "utf8");
    await callHook(gateway, "/hooks/woken", { text: NOTE });
    const asked = await question();
    expect(asked).toMatchObject({ agentId: "writer", runId: null, title: "issues.add_note" });
    expect((await post(gateway, `approvals/${asked.id}/deny`)).status).toBe(200);
    expect(readFileSync(notes, "utf8")).toBe(before);
  });

  it("pauses a mapping whose runs have used its tokens", async () => {
    expect((await endedRun(gateway, "spender", { text: ISSUE })).state).toBe("done");
    const id = await accepted("spender", "one more");
    await vi.waitFor(async () => {
      const states = await (await readApi(gateway, "hooks")).text();
      expect(states).toContain("its budget of 30 tokens in 60 minutes is used up");
    }, 15_000);
    expect(await (await readApi(gateway, `deliveries/${id}`)).json()).toMatchObject({ state: "queued" });
  });

  it("is denied what is not answered in time", async () => {
    const delivery = await endedRun(gateway, "asker", { text: `${NOTE} [silent]` });
    expect(acts(delivery)).toMatchObject([{ kind: "denied", output: "the owner did not answer in time" }]);
    expect(delivery.state).toBe("failed");
    expect((await (await readApi(gateway, "approvals")).json()) as object).toEqual({ approvals: [] });
  });
});
