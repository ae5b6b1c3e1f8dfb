import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AgentSpec } from "../../../src/core/run.ts";
import { RunningGateway } from "./running-gateway.ts";
import type { HookAnswer } from "./running-gateway.ts";

const AGENTS = {
  defaults: { heartbeat: { every: "0m" }, models: { "test/small": { alias: "small" }, "test/large": {} } },
  list: [{ id: "main", default: true }, { id: "ops" }, { id: "dev" }],
};
const CONFIG = { agents: AGENTS, models: { providers: { test: { baseUrl: "http://127.0.0.1:9/v1" } } } };
const QUIET = { message: "x", deliver: false };

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await RunningGateway.start({
    config: CONFIG,
    hooks: {
      mappings: [
        { match: { path: "templated" }, messageTemplate: "x", model: "{{model}}", to: "{{to}}", sessionKey: "fixed" },
        { match: { path: "of-ops" }, messageTemplate: "x", agentId: "ops", deliver: false },
      ],
    },
  });
});
afterAll(() => gateway[Symbol.asyncDispose]());

async function specOf(answer: HookAnswer, running = gateway): Promise<AgentSpec> {
  expect(answer.status).toBe(202);
  return (await running.delivery(answer.body["deliveryId"])).runs[0]!.spec as AgentSpec;
}

/** Expects a refusal that leaves nothing in the store. */
async function expectRefused(post: () => Promise<HookAnswer>, code: string, running = gateway): Promise<HookAnswer> {
  const before = (await running.deliveries())[0]?.id;
  const answer = await post();
  expect([answer.status, answer.body["code"]]).toEqual([400, code]);
  expect((await running.deliveries())[0]?.id).toBe(before);
  return answer;
}

describe("spec 2.3: the model of a run", () => {
  it("must be an allowed one: another is 400 before anything is accepted", async () => {
    const answer = await expectRefused(
      () => gateway.post("/hooks/agent", { ...QUIET, model: "test/other" }),
      "MODEL_NOT_ALLOWED",
    );
    expect(answer.body["error"]).toContain("test/small");
    await expectRefused(() => gateway.post("/hooks/templated", { model: "evil/model" }), "MODEL_NOT_ALLOWED");
  });

  it("may be an allowed one, by reference or alias", async () => {
    for (const model of ["test/small", "small", "test/large"]) {
      expect((await specOf(await gateway.post("/hooks/agent", { ...QUIET, model }))).model).toBe(model);
    }
  });

  it("leaves no trace when one item of several is refused", async () => {
    await using many = await RunningGateway.start({
      config: CONFIG,
      hooks: {
        mappings: [{ match: { path: "m" }, forEach: "i", messageTemplate: "x", model: "{{i[0]}}", deliver: false }],
      },
    });
    await expectRefused(() => many.post("/hooks/m", { i: ["test/small", "evil/model"] }), "MODEL_NOT_ALLOWED", many);
  });
});

describe("spec 2.3: the channel of a reply", () => {
  it("must be one of the gateway's: another is 400, and the answer names them", async () => {
    const answer = await expectRefused(
      () => gateway.post("/hooks/agent", { message: "x", channel: "pigeon" }),
      "UNKNOWN_CHANNEL",
    );
    expect(answer.body["error"]).toBe("channel must be one of last, console.");
  });

  it("is not asked about when nothing is to be delivered", async () => {
    expect(
      (await specOf(await gateway.post("/hooks/agent", { ...QUIET, channel: "pigeon" }))).delivery,
    ).toBeUndefined();
  });

  it("and recipient are fixed when the call is accepted", async () => {
    const spec = await specOf(await gateway.post("/hooks/agent", { message: "x", channel: "Console", to: "me" }));
    expect(spec.delivery).toEqual({ channel: "console", to: "me" });
    expect((await specOf(await gateway.post("/hooks/templated", { to: "you" }))).delivery).toMatchObject({ to: "you" });
  });
});

describe("spec 4.2: the agent of a run", () => {
  async function agentOf(allowedAgentIds: readonly string[] | undefined, agentId: string | undefined): Promise<string> {
    await using own = await RunningGateway.start({ config: CONFIG, hooks: { allowedAgentIds } });
    const answer = await own.post("/hooks/agent", { ...QUIET, agentId });
    if (answer.status === 202) return (await specOf(answer, own)).agentId;
    expect(await own.deliveries()).toEqual([]);
    return `${answer.status} ${String(answer.body["code"])}`;
  }
  const REFUSED = "400 AGENT_NOT_ALLOWED";

  it.each([
    ["any agent may be chosen when nothing is configured", undefined, "ops", "ops"],
    ["an unknown agentId falls back to the default agent", undefined, "nobody", "main"],
    ["hooks.allowedAgentIds [] denies explicit agentId routing", [], "ops", REFUSED],
    ["hooks.allowedAgentIds [] denies the default agent's own id, too", [], "main", REFUSED],
    ["hooks.allowedAgentIds [] leaves calls without agentId alone", [], undefined, "main"],
    ["a list without * lets only listed ids be chosen", ["ops"], "ops", "ops"],
    ["a list without * refuses others", ["ops"], "dev", REFUSED],
    ["an unknown id counts as the default agent that it falls back to: not listed", ["ops"], "nobody", REFUSED],
    ["an unknown id counts as the default agent that it falls back to: listed", ["main"], "nobody", "main"],
    ["a list with * allows any", ["ops", "*"], "dev", "dev"],
  ])("%s", async (_case, allowed, agentId, expected) => {
    expect(await agentOf(allowed, agentId)).toBe(expected);
  });

  it("may be fixed by a mapping", async () => {
    expect((await specOf(await gateway.post("/hooks/of-ops", {}))).agentId).toBe("ops");
  });
});

describe("spec 4.2: the session of a run", () => {
  it("is not the caller's to choose by default: 400", async () => {
    await expectRefused(() => gateway.post("/hooks/agent", { ...QUIET, sessionKey: "hook:x" }), "SESSION_KEY_DISABLED");
  });

  it("is hooks.defaultSessionKey, and one of its own without it", async () => {
    const keys = new Set<string>();
    for (let call = 0; call < 2; call++) keys.add((await specOf(await gateway.post("/hooks/agent", QUIET))).sessionKey);
    expect(keys.size).toBe(2);
    for (const key of keys) expect(key).toMatch(/^agent:main:hook:[0-9a-f-]{36}$/);
    await using own = await RunningGateway.start({ hooks: { defaultSessionKey: "hook:all" } });
    expect((await specOf(await own.post("/hooks/agent", QUIET), own)).sessionKey).toBe("agent:main:hook:all");
  });

  it("may be the caller's under the listed prefixes, and is put under the agent that runs", async () => {
    await using own = await RunningGateway.start({
      config: CONFIG,
      hooks: { allowRequestSessionKey: true, allowedSessionKeyPrefixes: ["hook:"] },
    });
    const post = (sessionKey: string, more: object = {}) => own.post("/hooks/agent", { ...QUIET, sessionKey, ...more });
    expect((await specOf(await post("hook:ci"), own)).sessionKey).toBe("agent:main:hook:ci");
    expect((await specOf(await post("HOOK:ci", { agentId: "ops" }), own)).sessionKey).toBe("agent:ops:HOOK:ci");
    await expectRefused(() => post("main"), "SESSION_KEY_PREFIX", own);
    await expectRefused(() => post("agent:main:main"), "SESSION_KEY_PREFIX", own);
    await expectRefused(() => post("agent:ops:hook:ci"), "SESSION_KEY_PREFIX", own);
    await expectRefused(() => post("hook:a\nb"), "INVALID_PAYLOAD", own);
  });

  it("that a mapping makes from the payload counts as the caller's", async () => {
    const mappings = [
      { match: { path: "t" }, messageTemplate: "x", sessionKey: "hook:{{id}}", deliver: false },
      { match: { path: "code" }, messageTemplate: "x", transform: { module: "key.mjs" }, deliver: false },
    ];
    const transforms = {
      "key.mjs": "export default ({ payload }) => ({ sessionKey: payload.key, sessionKeySource: payload.source });",
    };
    const prefixes = { allowedSessionKeyPrefixes: ["hook:"] };
    await using off = await RunningGateway.start({ hooks: { mappings, ...prefixes }, transforms });
    await expectRefused(() => off.post("/hooks/t", { id: 1 }), "SESSION_KEY_DISABLED", off);
    await expectRefused(() => off.post("/hooks/code", { key: "hook:a" }), "SESSION_KEY_DISABLED", off);
    await expectRefused(() => off.post("/hooks/code", { key: "a", source: "static" }), "SESSION_KEY_PREFIX", off);
    const own = await off.post("/hooks/code", { key: "hook:a", source: "static" });
    expect((await specOf(own, off)).sessionKey).toBe("agent:main:hook:a");
    await using on = await RunningGateway.start({
      hooks: { mappings, allowRequestSessionKey: true, ...prefixes },
      transforms,
    });
    expect((await specOf(await on.post("/hooks/t", { id: 7 }), on)).sessionKey).toBe("agent:main:hook:7");
    await expectRefused(() => on.post("/hooks/code", { key: "main" }), "SESSION_KEY_PREFIX", on);
  });
});

describe("the Rule of Two for what a caller chooses", () => {
  const hooks = { allowRequestSessionKey: true, allowedSessionKeyPrefixes: ["hook:"] };
  const call = { message: "x", sessionKey: "hook:a", sessionMode: "persistent", channel: "console", to: "someone" };

  it("answers 403 to a conversation whose replies go to others", async () => {
    await using own = await RunningGateway.start({ config: CONFIG, hooks });
    const answer = await own.post("/hooks/agent", call);
    expect([answer.status, answer.body["code"]]).toEqual([403, "DENIED"]);
    expect(answer.body["error"]).toContain("acceptAllThree");
    expect(await own.deliveries()).toEqual([]);
    for (const { to, sessionMode, ...less } of [
      { ...call, to: undefined },
      { ...call, sessionMode: "isolated" },
    ]) {
      expect((await own.post("/hooks/agent", { ...less, to, sessionMode })).status).toBe(202);
    }
  });

  it("takes it where the owner accepts it", async () => {
    await using own = await RunningGateway.start({
      config: CONFIG,
      hooks: { ...hooks, acceptAllThree: "my own caller" },
    });
    expect((await own.post("/hooks/agent", call)).status).toBe(202);
  });
});
