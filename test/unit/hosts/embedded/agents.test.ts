import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { agentCatalog, type EmbeddedAgents } from "../../../../src/hosts/embedded/agents.ts";
import { DEFAULT_MODEL_TURN_LIMITS } from "../../../../src/hosts/embedded/agents/model-turn.ts";
import type { AgentsConfig } from "../../../../src/hosts/embedded/config/file.ts";
import { type AgentRunRequest, HostError } from "../../../../src/core/host.ts";
import { agentConfig, embeddedAgents, gatewayConfig, TemporaryGateway } from "./state/temporary-gateway.ts";
import { answers, beginsStream, type ModelBehavior, ModelServer, streams } from "./agents/model-server.ts";

const KEY = "sk-very-secret-0123456789";

let gateway: TemporaryGateway;
let agents: EmbeddedAgents;

beforeAll(async () => {
  gateway = await TemporaryGateway.open();
});

beforeEach(async () => {
  await gateway.reset();
  agents = embeddedAgents(gateway, { ...DEFAULT_MODEL_TURN_LIMITS, retryDelaysMs: [5] });
});

afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
});

function request(overrides: Partial<AgentRunRequest> = {}): AgentRunRequest {
  return {
    runId: "run-1",
    agentId: "main",
    sessionKey: "hook:build",
    prompt: "The build failed.",
    trust: "untrusted" as const,
    timeoutMs: 10_000,
    signal: new AbortController().signal,
    ...overrides,
  };
}

/** Starts an endpoint, configures it as the provider `local`, and gives agents that use it. */
async function serve(behaviors: ModelBehavior[], overrides: Partial<AgentsConfig> = {}): Promise<ModelServer> {
  const server = await ModelServer.start(behaviors);
  const provider = { baseUrl: server.baseUrl, apiKey: KEY, headers: {} };
  gateway.config = gatewayConfig({
    models: { providers: new Map([["local", provider]]) },
    agents: { ...gateway.config.agents, list: [agentConfig({ model: "local/base" })], ...overrides },
  });
  return server;
}

describe("the catalog", () => {
  const list = [agentConfig({ id: "ops", isDefault: false }), agentConfig({ id: "main" })];

  it("lists the agents of the active configuration", () => {
    expect(agents.list()).toEqual([{ id: "main", isDefault: true }]);
    gateway.config = gatewayConfig({ agents: { ...gateway.config.agents, list } });
    expect(agents.list()).toEqual([
      { id: "ops", isDefault: false },
      { id: "main", isDefault: true },
    ]);
  });

  it.each([
    ["ops", "ops"],
    ["main", "main"],
    ["nobody", "main"],
    ["__proto__", "main"],
    [undefined, "main"],
  ])("spec 2.3: an unknown agent falls back to the default agent: %s -> %s", (asked, resolved) => {
    gateway.config = gatewayConfig({ agents: { ...gateway.config.agents, list } });
    expect(agents.resolve(asked).id).toBe(resolved);
  });

  it("gives allowed models by reference and alias, and none when no allowlist is enforced", () => {
    expect(agents.allowedModels("main")).toBeUndefined();
    const allowedModels = [
      { ref: "local/big", alias: "smart" },
      { ref: "local/small", alias: undefined },
    ];
    const config = gatewayConfig({ agents: { ...gateway.config.agents, allowedModels } });
    expect(agentCatalog(config).allowedModels("main")).toEqual(["local/big", "smart", "local/small"]);
    gateway.config = config;
    expect(agents.allowedModels("main")).toEqual(["local/big", "smart", "local/small"]);
  });
});

describe("run", () => {
  it("spec 4.2: runs an isolated turn and keeps its transcript under the session key", async () => {
    await using server = await serve([streams("It is ", "fixed.")]);
    expect(await agents.run(request())).toEqual({ status: "ok", reply: "It is fixed." });
    expect(server.requests[0]!.body).toMatchObject({
      model: "base",
      messages: [{ role: "user", content: "The build failed." }],
    });
    expect(await gateway.texts("hook:build")).toEqual(["user: The build failed.", "assistant: It is fixed."]);
  });

  it("shows a run nothing of earlier runs with the same session key", async () => {
    await using server = await serve([streams("one"), streams("two")]);
    await agents.run(request());
    await agents.run(request({ runId: "run-2", prompt: "And now?" }));
    expect(server.requests[1]!.body.messages).toEqual([{ role: "user", content: "And now?" }]);
  });

  it("has the prompt on disk before the model is asked", async () => {
    let stored: Promise<string[]> | undefined;
    await using _server = await serve([
      (res, sent) => {
        stored = gateway.texts("hook:build");
        streams("x")(res, sent);
      },
    ]);
    await agents.run(request());
    expect(await stored).toEqual(["user: The build failed."]);
  });

  it("never runs the same id twice, also after a restart", async () => {
    await using server = await serve([streams("x")]);
    await agents.run(request());
    const repeated = () => agents.run(request({ sessionKey: "hook:other" })).catch((error: unknown) => error);
    expect(await repeated()).toMatchObject({ name: "HostError", retryable: false });
    await gateway.restart();
    agents = embeddedAgents(gateway);
    expect(await repeated()).toMatchObject({ name: "HostError", retryable: false });
    expect(server.requests).toHaveLength(1);
  });

  it("rejects retryably when the prompt cannot be stored", async () => {
    await using server = await serve([streams("x")]);
    await gateway.database.close();
    const error = await agents.run(request()).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(HostError);
    expect(error).toMatchObject({ retryable: true, message: "The run could not be stored (CLOSED)." });
    expect(server.requests).toEqual([]);
    await gateway.restart();
  });

  it("uses the agent's model, system prompt and thinking", async () => {
    const agent = agentConfig({
      id: "ops",
      isDefault: false,
      model: "local/ops",
      systemPrompt: "You run ops.",
      thinking: "low",
    });
    await using server = await serve([streams("x")], { list: [agentConfig(), agent] });
    await agents.run(request({ agentId: "ops" }));
    expect(server.requests[0]!.body).toMatchObject({
      model: "ops",
      reasoning_effort: "low",
      messages: [{ role: "system", content: "You run ops." }, { role: "user" }],
    });
  });

  it("spec 2.3: model and thinking override the agent's own for this run", async () => {
    const list = [agentConfig({ model: "local/base", thinking: "low" })];
    await using server = await serve([streams("x")], { list, allowedModels: [{ ref: "local/big", alias: "smart" }] });
    await agents.run(request({ model: "smart", thinking: "high" }));
    expect(server.requests[0]!.body).toMatchObject({ model: "big", reasoning_effort: "high" });
  });

  it("spec 2.3: a model override must be in the allowed model list if one is enforced", async () => {
    await using server = await serve([streams("x")], { allowedModels: [{ ref: "local/big", alias: undefined }] });
    expect(await agents.run(request({ model: "local/other" }))).toEqual({
      status: "error",
      reply: "",
      error: 'The model "local/other" is not in agents.defaults.models.',
    });
    expect(server.requests).toEqual([]);
  });

  it("ends in an error that says which provider is missing", async () => {
    const result = await agents.run(request({ model: "nowhere/model" }));
    expect(result).toEqual({
      status: "error",
      reply: "",
      error: 'Model "nowhere/model" names the provider "nowhere", which models.providers does not define.',
    });
    expect(await gateway.texts("hook:build")).toEqual(["user: The build failed.", `error: ${result.error}`]);
  });

  it("ends in an error without the key when the endpoint refuses it", async () => {
    await using _server = await serve([answers(401, `no such key: ${KEY}`)]);
    const result = await agents.run(request());
    expect(result.status).toBe("error");
    expect(result.error).toContain("401");
    const kept = JSON.stringify([result, await gateway.texts("hook:build"), gateway.logger.lines]);
    expect(kept).not.toContain(KEY);
  });

  it.each([429, 503])(
    "says of a model that answers %i, and continues to, that the run may succeed later",
    async (status) => {
      await using server = await serve([answers(status, "overloaded")]);
      expect(await agents.run(request())).toEqual({
        status: "error",
        reply: "",
        error: `The model endpoint of the provider "local" answered ${status}: overloaded.`,
        retryable: true,
      });
      expect(server.requests).toHaveLength(2);
    },
  );

  it("does not say so of what the model refuses, nor once an answer has begun", async () => {
    const breaks: ModelBehavior = (res, sent) => {
      beginsStream("half")(res, sent);
      setTimeout(() => res.destroy(), 5);
    };
    await using server = await serve([answers(400, "no"), breaks]);
    for (const runId of ["run-1", "run-2"]) {
      const result = await agents.run(request({ runId }));
      expect(result.status).toBe("error");
      expect(result).not.toHaveProperty("retryable");
    }
    expect(server.requests).toHaveLength(2);
  });

  it("spec 2.3: timeoutSeconds is the maximum duration: the turn is aborted at its end", async () => {
    await using server = await serve([beginsStream("still thinking")]);
    expect(await agents.run(request({ timeoutMs: 200 }))).toEqual({
      status: "timeout",
      reply: "",
      error: "The run was aborted after its 200 ms.",
    });
    // On a slow machine the time may be up before the model was asked.
    await expect.poll(() => server.requests.length - server.abandoned).toBe(0);
  });

  it("is not cut short by a time limit longer than a timer can be", async () => {
    await using _server = await serve([
      (res, sent) => {
        setTimeout(() => streams("slow")(res, sent), 30);
      },
    ]);
    expect(await agents.run(request({ timeoutMs: 1e12 }))).toEqual({ status: "ok", reply: "slow" });
  });

  it("is aborted through its signal", async () => {
    await using server = await serve([beginsStream("still thinking")]);
    const abort = new AbortController();
    const run = agents.run(request({ signal: abort.signal }));
    await expect.poll(() => server.requests.length).toBe(1);
    abort.abort();
    expect(await run).toEqual({ status: "aborted", reply: "", error: "The run was aborted." });
    expect(await gateway.texts("hook:build")).toEqual(["user: The build failed.", "error: The run was aborted."]);
  });

  it("that was aborted before it began leaves no trace and may begin later under its id", async () => {
    expect(await agents.run(request({ signal: AbortSignal.abort() }))).toMatchObject({ status: "aborted", reply: "" });
    expect(await gateway.texts("hook:build")).toEqual([]);
    expect(await agents.run(request())).toMatchObject({ status: "ok" });
  });

  it("keeps its result when the transcript cannot be ended", async () => {
    await using _server = await serve([
      (res, sent) => {
        void gateway.database.close().then(() => streams("done")(res, sent));
      },
    ]);
    expect(await agents.run(request())).toEqual({ status: "ok", reply: "done" });
    expect(gateway.logger.lines.at(-1)).toMatchObject({ level: "warn", fields: { runId: "run-1" } });
    await gateway.restart();
  });

  it("answers by the built-in offline agent when no model is configured", async () => {
    const result = await agents.run(request());
    expect(result.status).toBe("ok");
    expect(result.reply).toContain("built-in offline agent");
    expect(result.reply).toContain('Received 17 characters: "The build failed."');
    expect(result.reply).toContain("agents.defaults.model");
    expect(result.reply).toContain("models.providers");
    expect((await gateway.texts("hook:build"))[1]).toBe(`assistant: ${result.reply}`);
  });
});

describe("converse", () => {
  it("gives the model the conversation so far and stores nothing", async () => {
    await using server = await serve([streams("four")]);
    const result = await agents.converse({
      agentId: "main",
      sessionKey: "agent:main:main",
      messages: [
        { role: "user", text: "one" },
        { role: "assistant", text: "two" },
        { role: "user", text: "three" },
      ],
      idle: false,
      trust: "untrusted" as const,
      timeoutMs: 10_000,
      signal: new AbortController().signal,
    });
    expect(result).toEqual({ status: "ok", reply: "four" });
    expect(server.requests[0]!.body.messages.map(({ content }) => content)).toEqual(["one", "two", "three"]);
    expect((await gateway.sessions.list({ limit: 10 })).sessions).toEqual([]);
  });

  it("counts as a turn of the owner from its begin to its end, however it ends, and a run never does", async () => {
    const counts: number[] = [];
    const count: ModelBehavior = (res, sent) => {
      counts.push(agents.ownerTurns());
      streams("x")(res, sent);
    };
    await using _server = await serve([count, count, answers(400, "no")]);
    const turn = {
      agentId: "main",
      sessionKey: "agent:main:main",
      messages: [{ role: "user" as const, text: "hi" }],
      idle: false,
      trust: "untrusted" as const,
      timeoutMs: 10_000,
    };
    const { signal } = new AbortController();
    counts.push(agents.ownerTurns());
    await agents.converse({ ...turn, signal });
    counts.push(agents.ownerTurns());
    await agents.run(request());
    await agents.converse({ ...turn, signal });
    counts.push(agents.ownerTurns());
    expect(counts).toEqual([0, 1, 0, 0, 0]);
  });
});

describe("what was accepted for an agent that the configuration has no more", () => {
  const gone = 'The agent "gone" is in the configuration no more, and no other one takes its place.';

  it("is carried out by no other agent, which may do more", async () => {
    await using server = await serve([streams("x")]);
    await expect(agents.run(request({ agentId: "gone" }))).rejects.toMatchObject({ message: gone, retryable: false });
    const messages = [{ role: "user", text: "Events." }] as const;
    const { signal } = new AbortController();
    const turn = { messages, sessionKey: "agent:gone:main", idle: false, trust: "untrusted", timeoutMs: 5_000, signal };
    expect(await agents.converse({ ...turn, agentId: "gone", trust: "untrusted" })).toMatchObject({ error: gone });
    expect(server.requests).toHaveLength(0);
  });
});

describe("a tool server that cannot be used", () => {
  it("fails the runs of its agent, and none of others with the same provider", async () => {
    await using server = await serve([streams("fine")]);
    const broken = { url: "http://127.0.0.1:3/mcp", headers: {}, isPrivate: undefined, isOutward: undefined };
    const tools = { servers: new Map([["broken", broken]]), allow: ["broken.*"], maxSteps: 2 };
    const list = [agentConfig({ model: "local/base" }), agentConfig({ id: "tooled", model: "local/base", tools })];
    gateway.config = { ...gateway.config, agents: { ...gateway.config.agents, list } };
    for (let number = 1; number <= 6; number++) {
      const result = await agents.run(request({ runId: `tooled-${number}`, agentId: "tooled" }));
      expect(result).toMatchObject({ status: "error", retryable: true });
    }
    expect(server.requests).toHaveLength(0);
    expect(await agents.run(request())).toEqual({ status: "ok", reply: "fine" });
  });
});

describe("a working copy that cannot be made", () => {
  it.each([
    ["as its server does not answer, is a failure that may pass", "http://127.0.0.1:3/x.git", true],
    ["as there is no repository, is a failure for good", "/no/such/repository", undefined],
  ])("%s, and the model is not asked", async (_why, url, retryable) => {
    await using server = await serve([streams("fine")]);
    const tools = { servers: new Map(), allow: [], maxSteps: 2 };
    const list = [agentConfig({ model: "local/base", tools })];
    gateway.config = { ...gateway.config, agents: { ...gateway.config.agents, list } };
    const result = await agents.run(request({ workspace: { git: { url, ref: "main" } } }));
    const error = expect.stringContaining(`The working copy of ${url} at main could not be made`) as string;
    expect(result).toMatchObject({ status: "error", error });
    expect(result.retryable).toBe(retryable);
    expect(server.requests).toHaveLength(0);
  });
});
