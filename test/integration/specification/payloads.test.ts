import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { RunningGateway } from "../http/running-gateway.ts";
import type { HookAnswer } from "../http/running-gateway.ts";
import { ModelEndpoint } from "../model-endpoint.ts";
import { outbox, pendingTexts, runOf, transcript } from "./session-reads.ts";
import { readSummary } from "../../fixtures/read-summary.ts";

/** Where the channel `webhook` posts to. */
const receiver = createServer((req, res) => {
  req.resume();
  res.writeHead(204).end();
});
const QUIET = { wakeMode: "next-heartbeat", deliver: false };

let gateway: RunningGateway;
let model: ModelEndpoint;

beforeAll(async () => {
  model = await ModelEndpoint.listen();
  receiver.listen(0, "127.0.0.1");
  await once(receiver, "listening");
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  gateway = await RunningGateway.start({
    config: {
      agents: {
        defaults: { model: "test/small", heartbeat: { every: "0m" } },
        list: [
          { id: "main", default: true },
          { id: "ops", model: "test/of-ops", systemPrompt: "You are on call." },
          { id: "dev" },
        ],
      },
      models: { providers: { test: { baseUrl: model.baseUrl } } },
      channels: { webhook: { url, to: "#default", secret: `whsec_${Buffer.alloc(24, 7).toString("base64")}` } },
    },
    hooks: {
      allowedAgentIds: ["main", "ops"],
      allowRequestSessionKey: true,
      allowedSessionKeyPrefixes: ["hook:"],
      mappings: [{ match: { path: "mapped" }, messageTemplate: "mapped", wakeMode: "next-heartbeat" }],
    },
  });
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  model.close();
  receiver.close();
});
beforeEach(() => {
  model.reply = "The model has read it.";
  model.requests.length = 0;
});

const agent = (payload: object): Promise<HookAnswer> => gateway.post("/hooks/agent", { ...QUIET, ...payload });

/** What the model was asked for a call of `/hooks/agent`. */
async function asked(payload: object): Promise<(typeof model.requests)[number]["body"]> {
  await gateway.ended((await agent(payload)).body["deliveryId"]);
  return model.requests.at(-1)!.body;
}

it("spec 2.2: text is required, and describes the event", async () => {
  for (const payload of [{}, { text: "" }, { text: 7 }]) {
    expect((await gateway.post("/hooks/wake", payload)).status).toBe(400);
  }
  await gateway.post("/hooks/wake", { text: "The kettle boils.", mode: "next-heartbeat" });
  await expect.poll(() => pendingTexts(gateway)).toContainEqual(expect.stringContaining("The kettle boils."));
});

it("spec 2.2: mode is now, which is the default, for an immediate heartbeat, or next-heartbeat", async () => {
  const later = await gateway.post("/hooks/wake", { text: "Later, please.", mode: "next-heartbeat" });
  expect(later.body["mode"]).toBe("next-heartbeat");
  await gateway.ended(later.body["deliveryId"]);
  expect(model.requests).toHaveLength(0);
  expect((await gateway.post("/hooks/wake", { text: "Now, please." })).body["mode"]).toBe("now");
  await expect.poll(() => model.prompts.filter((prompt) => prompt.includes("Now, please."))).toHaveLength(1);
  expect((await gateway.post("/hooks/wake", { text: "x", mode: "soon" })).status).toBe(400);
});

it("spec 2.3: message is required, and is the prompt for the agent to process", async () => {
  for (const payload of [{ message: undefined }, { message: "" }, { message: ["x"] }]) {
    expect((await agent(payload)).status).toBe(400);
  }
  expect(JSON.stringify(await asked({ message: "Water the plants." }))).toContain("Water the plants.");
});

it("spec 2.3: name is the hook's human-readable name, and the prefix in session summaries", async () => {
  model.reply = "Watered.";
  await asked({ message: "x", name: "Garden" });
  expect((await pendingTexts(gateway)).map(readSummary)).toContain('Hook "Garden": [Watered.]');
});

it("spec 2.3: agentId routes the hook to a specific agent, whose configuration the run uses", async () => {
  const body = await asked({ message: "x", agentId: "ops" });
  expect(body.model).toBe("of-ops");
  expect(body.messages[0]).toMatchObject({ role: "system", content: "You are on call." });
  expect(await pendingTexts(gateway, "agent:ops:main")).toHaveLength(1);
});

it("spec 2.3: an unknown agentId falls back to the default agent", async () => {
  expect((await runOf(gateway, await agent({ message: "x", agentId: "nobody" }))).agentId).toBe("main");
});

it("spec 2.3: agentId is subject to hooks.allowedAgentIds", async () => {
  expect((await agent({ message: "x", agentId: "dev" })).body["code"]).toBe("AGENT_NOT_ALLOWED");
});

it("spec 2.3: sessionKey identifies the agent's session", async () => {
  await asked({ message: "Remember me.", sessionKey: "hook:mine" });
  const [prompt, reply] = await transcript(gateway, "hook:mine");
  expect(prompt).toMatchObject({ role: "user", text: expect.stringContaining("Remember me.") });
  expect(reply).toMatchObject({ role: "assistant", text: model.reply });
});

it("spec 2.3: sessionKey is rejected unless hooks.allowRequestSessionKey is true, and is subject to hooks.allowedSessionKeyPrefixes", async () => {
  expect((await agent({ message: "x", sessionKey: "other:mine" })).body["code"]).toBe("SESSION_KEY_PREFIX");
  await using strict = await RunningGateway.start();
  const answer = await strict.post("/hooks/agent", { message: "x", sessionKey: "hook:mine" });
  expect(answer.body["code"]).toBe("SESSION_KEY_DISABLED");
});

it("spec 2.3: wakeMode is now, which is the default, for an immediate heartbeat, or next-heartbeat", async () => {
  const later = await agent({ message: "x", name: "Later" });
  await gateway.ended(later.body["deliveryId"]);
  const now = await agent({ message: "x", name: "Now", wakeMode: undefined });
  const isHeartbeat = (prompt: string): boolean => prompt.includes('Hook \\"Now\\": ');
  await expect.poll(() => model.prompts.some(isHeartbeat)).toBe(true);
  const heartbeat = model.prompts.find(isHeartbeat);
  expect(heartbeat).toContain(`Heartbeat (hook:${now.body["runId"] as string})`);
  expect(heartbeat).toContain('Hook \\"Later\\": ');
  expect((await agent({ message: "x", wakeMode: "soon" })).status).toBe(400);
});

it("spec 2.3: deliver is true by default: the response is sent to the messaging channel, and with false it is not", async () => {
  model.reply = "For the channel.";
  await asked({ message: "x", deliver: false });
  expect(await outbox(gateway)).toEqual([]);
  await asked({ message: "x", deliver: undefined });
  expect(await outbox(gateway)).toMatchObject([{ channel: "console", text: "For the channel." }]);
});

it("spec 2.3: responses that are only heartbeat acknowledgments are skipped", async () => {
  const before = (await outbox(gateway)).length;
  model.reply = "HEARTBEAT_OK";
  const answer = await agent({ message: "x", deliver: true });
  expect((await gateway.ended(answer.body["deliveryId"])).runs[0]!.delivery).toBe("suppressed");
  expect(await outbox(gateway)).toHaveLength(before);
});

it("spec 2.3: channel is last by default, or one of the gateway's channels", async () => {
  const target = async (payload: object) =>
    (await runOf(gateway, await agent({ message: "x", deliver: true, to: "someone", ...payload }))).delivery;
  expect(await target({})).toEqual({ channel: "console", to: "someone" });
  expect(await target({ channel: "last" })).toEqual({ channel: "console", to: "someone" });
  expect(await target({ channel: "webhook" })).toEqual({ channel: "webhook", to: "someone" });
  expect((await agent({ message: "x", deliver: true, channel: "pigeon" })).status).toBe(400);
});

it("spec 2.3: for mappings, channel is last by default and falls back to the first-listed channel", async () => {
  const { delivery } = await runOf(gateway, await gateway.post("/hooks/mapped", {}));
  expect(delivery).toEqual({ channel: "console", to: "owner" });
});

it("spec 2.3: to is the recipient, by default the last one in the main session", async () => {
  const response = await fetch(`${gateway.url}/api/v1/sessions/main/route`, {
    method: "PUT",
    headers: { authorization: `Bearer ${gatewayToken()}` },
    body: JSON.stringify({ channel: "webhook", to: "#last" }),
  });
  expect(response.status).toBe(200);
  const target = async (payload: object) =>
    (await runOf(gateway, await agent({ message: "x", deliver: true, ...payload }))).delivery;
  expect(await target({})).toEqual({ channel: "webhook", to: "#last" });
  expect(await target({ channel: "webhook" })).toEqual({ channel: "webhook", to: "#last" });
  expect(await target({ to: "#named" })).toEqual({ channel: "webhook", to: "#named" });
});

it("spec 2.3: model overrides the model for this run, as <provider>/<model>", async () => {
  expect((await asked({ message: "x", model: "test/large" })).model).toBe("large");
  expect((await asked({ message: "x" })).model).toBe("small");
});

it("spec 2.3: model may be an alias, and must be in the allowed list if one is enforced", async () => {
  await using strict = await RunningGateway.start({
    config: {
      agents: { defaults: { heartbeat: { every: "0m" }, models: { "test/large": { alias: "big" } } } },
      models: { providers: { test: { baseUrl: model.baseUrl } } },
    },
  });
  const answer = await strict.post("/hooks/agent", { ...QUIET, message: "x", model: "big" });
  await strict.ended(answer.body["deliveryId"]);
  expect(model.requests.at(-1)?.body.model).toBe("large");
  expect((await strict.post("/hooks/agent", { message: "x", model: "test/small" })).status).toBe(400);
});

it("spec 2.3: thinking overrides the thinking level", async () => {
  expect((await asked({ message: "x", thinking: "high" }))["reasoning_effort"]).toBe("high");
  expect((await asked({ message: "x" }))["reasoning_effort"]).toBeUndefined();
});

it("spec 2.3: timeoutSeconds is the maximum duration of the run, in seconds", async () => {
  model.delayMs = 20_000;
  const answer = await agent({ message: "x", timeoutSeconds: 0.2 });
  expect((await runOf(gateway, answer)).timeoutMs).toBe(200);
  expect((await gateway.ended(answer.body["deliveryId"])).runs[0]!.attempts[0]!.status).toBe("timeout");
  model.delayMs = 0;
});

function gatewayToken(): string {
  const { gateway: section } = gateway.configWith({}) as { gateway: { auth: { token: string } } };
  return section.auth.token;
}
