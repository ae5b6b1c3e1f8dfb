/** Agents of each kind that let their own session wait, and are resumed. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { DeliveryDetail } from "../../../src/core/delivery.ts";
import type { AgentSpec } from "../../../src/core/run.ts";
import { canConfine } from "../../../src/hosts/embedded/programs/probe.ts";
import type { EmbeddedGateway } from "../../../src/hosts/embedded/gateway.ts";
import type { WaitView } from "../../../src/index.ts";
import {
  baseConfig,
  callHook,
  GatewayFixture,
  gatewayToken,
  readApi,
} from "../../unit/hosts/embedded/gateway/fixture.ts";
import { acts, ended, endedRun, program, ToolModel } from "./acting-gateway.ts";

const fixture = new GatewayFixture();
let model: ToolModel;
let gateway: EmbeddedGateway;
const problem = await canConfine();

const WISH = '{"hook":"ci","withinSeconds":600,"note":"the build"}';
const ASK = { model: `[reveille__wait_for_event ${WISH}]`, program: `do:wait ${WISH}` };
const RULE = { allow: [{ tool: "reveille.wait_for_event" }] };
const acp = { type: "acp", command: [process.execPath, program("acp-agent.mjs")], isolation: "none" };
const command = { type: "command", command: [process.execPath, program("waiting-agent.mjs")] };
const mapping = {
  acceptAllThree: "what it can do is tested here",
  deliver: false,
  wakeMode: "next-heartbeat",
  messageTemplate: "{{text}}",
};

beforeAll(async () => {
  model = await ToolModel.start();
  const list = [
    { id: "thinker", default: true, permissions: RULE, waits: true, model: "local/m" },
    { id: "reader", permissions: "reads", waits: true, model: "local/m" },
    { id: "denied", permissions: "deny", waits: true, model: "local/m" },
    { id: "without", permissions: RULE, model: "local/m" },
    { id: "coder", permissions: RULE, waits: true, runtime: acp },
    { id: "coder-denied", permissions: "deny", waits: true, runtime: acp },
    { id: "coder-without", permissions: RULE, runtime: acp },
    { id: "script", permissions: "reads", waits: true, runtime: { ...command, isolation: "none" } },
    { id: "script-denied", permissions: "deny", waits: true, runtime: { ...command, isolation: "none" } },
    { id: "script-without", permissions: "reads", runtime: { ...command, isolation: "none" } },
    {
      id: "confined",
      permissions: "reads",
      waits: true,
      runtime: { ...command, read: [program("waiting-agent.mjs")] },
    },
  ];
  fixture.write({
    ...baseConfig,
    models: { providers: { local: { baseUrl: `${model.origin}/v1` } } },
    agents: { defaults: { heartbeat: { every: "0m" } }, list },
    hooks: {
      acceptAllThree: "what it can do is tested here",
      ...baseConfig.hooks,
      mappings: [
        ...list.map(({ id }) => ({ ...mapping, id, match: { path: id }, agentId: id, sessionKey: `hook:${id}` })),
        { ...mapping, id: "no-tools", match: { path: "no-tools" }, agentId: "thinker", tools: "none" },
        { ...mapping, id: "low", match: { path: "low" }, agentId: "thinker", permissions: "deny" },
        { ...mapping, id: "ci", match: { path: "ci" }, mode: "deliver", deliver: true, channel: "console", to: "o" },
      ],
    },
  });
  gateway = await fixture.start();
});
afterAll(async () => {
  await fixture.remove();
  await model.stop();
});
afterEach(async () => {
  for (const { id } of await waits()) await api(`waits/${id}`, "DELETE");
});

async function api(path: string, method: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${gatewayToken}` };
  return (await fetch(`${gateway.url}/api/v1/${path}`, { method, headers })).json();
}

async function waits(): Promise<readonly WaitView[]> {
  return ((await (await readApi(gateway, "waits")).json()) as { waits: WaitView[] }).waits;
}

/** The run that the event begins in the session. */
async function resumedBy(text: string): Promise<AgentSpec | undefined> {
  const answer = (await (await callHook(gateway, "/hooks/ci", { text })).json()) as { deliveryId: string };
  const { runs } = await ended(gateway, answer.deliveryId);
  return runs.map(({ spec }) => spec as AgentSpec).find(({ name }) => name === "Wait");
}

function replyOf({ runs }: DeliveryDetail): string {
  return runs[0]!.reply ?? "";
}

describe("an agent whose configuration lets it wait", () => {
  it.for([
    ["thinker", ASK.model],
    ["reader", ASK.model],
    ["coder", ASK.program],
    ["script", ASK.program],
    ...(problem === undefined ? [["confined", ASK.program] as const] : []),
  ] as const)("has its own session resumed: %s", async ([agent, ask]) => {
    const delivery = await endedRun(gateway, agent, { text: ask });
    const [wait, ...more] = await waits();
    expect(more).toEqual([]);
    expect(wait).toMatchObject({ sessionKey: `agent:${agent}:hook:${agent}`, note: "the build", agentId: agent });
    expect(wait!.madeBy).toBe(delivery.runs[0]!.id);
    expect(acts(delivery)).toMatchObject([{ kind: "call", title: "reveille.wait_for_event" }]);
    const spec = await resumedBy(`the build for ${agent}`);
    expect(spec).toMatchObject({ agentId: agent, sessionKey: `agent:${agent}:hook:${agent}`, level: "unknown" });
    expect(spec!.message).toContain(`the build for ${agent}`);
    // An agent of this test does again what its conversation has said, so that another one may be open by now.
    expect((await waits()).map(({ id }) => id)).not.toContain(wait!.id);
  });

  it.for([
    ["denied", ASK.model],
    ["coder-denied", ASK.program],
    ["script-denied", ASK.program],
    ["low", ASK.model],
  ] as const)("is denied that by permissions that allow nothing: %s", async ([path, ask]) => {
    const delivery = await endedRun(gateway, path, { text: ask });
    expect(acts(delivery)).toMatchObject([{ kind: "denied", title: "reveille.wait_for_event" }]);
    expect(await waits()).toEqual([]);
  });

  it("is told what is wrong with its wish", async () => {
    const delivery = await endedRun(gateway, "script", { text: 'do:wait {"hook":"nowhere","withinSeconds":60}' });
    expect(replyOf(delivery)).toMatch(/400 .*there is no mapping/u);
    const other = await endedRun(gateway, "thinker", { text: '[reveille__wait_for_event {"hook":"ci"}]' });
    expect(replyOf(other)).toContain("withinSeconds");
  });
});

describe("an agent whose configuration says nothing of it", () => {
  it.for([
    ["coder-without", ASK.program],
    ["script-without", ASK.program],
  ] as const)("is given no way to wait: %s", async ([path, ask]) => {
    expect(replyOf(await endedRun(gateway, path, { text: ask }))).toContain("no server");
  });

  it("is not shown the tool, nor is a run without tools", async () => {
    for (const path of ["without", "no-tools"]) {
      await endedRun(gateway, path, { text: ASK.model });
      expect(await waits()).toEqual([]);
      expect(model.requests.at(-1)!.tools).toBeUndefined();
    }
    await endedRun(gateway, "thinker", { text: "Which tools?" });
    expect(JSON.stringify(model.requests.at(-1)!.tools)).toContain("reveille__wait_for_event");
  });
});

describe("the token of a turn", () => {
  it.for(["coder", "script"])("is worth nothing after it, nor is any other: %s", async (agent) => {
    const reply = replyOf(await endedRun(gateway, agent, { text: ASK.program }));
    const [, url, token] = /(http:\S+) Bearer (\S+) 20\d/u.exec(reply)!;
    for (const bearer of [token!, "x".repeat(43), gatewayToken]) {
      const headers = { authorization: `Bearer ${bearer}`, "content-type": "application/json" };
      expect((await fetch(url!, { method: "POST", headers, body: WISH })).status).toBe(401);
    }
    expect((await fetch(new URL("/api/v1/waits", url))).status).toBe(401);
    expect(await waits()).toHaveLength(1);
  });
});
