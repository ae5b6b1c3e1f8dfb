import { readFileSync } from "node:fs";
import JSON5 from "json5";
import { afterAll, beforeAll, expect, it } from "vitest";
import { writeFirstConfig } from "../../../src/cli/init-command.ts";
import { RunningGateway } from "../http/running-gateway.ts";
import { ModelEndpoint } from "../model-endpoint.ts";
import { outbox, pendingTexts } from "./session-reads.ts";
import { readSummary } from "../../fixtures/read-summary.ts";

let gateway: RunningGateway;
let model: ModelEndpoint;

beforeAll(async () => {
  model = await ModelEndpoint.listen();
  gateway = await RunningGateway.start({
    config: {
      agents: { defaults: { model: "test/small", heartbeat: { every: "0m" } } },
      models: { providers: { test: { baseUrl: model.baseUrl } } },
    },
    hooks: {
      mappings: [
        { match: { path: "push" }, messageTemplate: "{{ref}}", wakeMode: "next-heartbeat" },
        { match: { path: "ping" }, action: "wake", textTemplate: "{{zen}}", wakeMode: "next-heartbeat" },
      ],
    },
  });
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  model.close();
});

it("spec 1: external triggers reach an HTTP endpoint, which is there only when hooks.enabled is true", async () => {
  expect((await gateway.post("/hooks/wake", { text: "x", mode: "next-heartbeat" })).status).toBe(200);
  await using off = await RunningGateway.start({ hooks: { enabled: false } });
  expect((await off.post("/hooks/wake", { text: "x" })).status).toBe(404);
});

it("spec 1: three kinds of endpoint are under the prefix, which is /hooks by default: wake, agent and mapped names", async () => {
  const quiet = { mode: "next-heartbeat", wakeMode: "next-heartbeat" };
  const calls = { wake: { text: "x", ...quiet }, agent: { message: "x", ...quiet }, push: { ref: "x" } };
  const statuses: number[] = [];
  for (const [name, payload] of Object.entries({ ...calls, unknown: {} })) {
    statuses.push((await gateway.post(`/hooks/${name}`, payload)).status);
  }
  expect(statuses).toEqual([200, 202, 202, 404]);
});

it("spec 1: a wake is a system event for the main session, and an immediate heartbeat is its option", async () => {
  await gateway.post("/hooks/wake", { text: "No hurry.", mode: "next-heartbeat" });
  await expect.poll(() => pendingTexts(gateway)).toContainEqual(expect.stringContaining("No hurry."));
  await gateway.post("/hooks/wake", { text: "At once.", mode: "now" });
  await expect.poll(() => model.prompts.some((prompt) => prompt.includes("At once."))).toBe(true);
  await expect.poll(() => pendingTexts(gateway)).toEqual([]);
});

it("spec 1: an agent call runs one isolated turn after its answer, always posts a summary, and delivers the reply as an option", async () => {
  model.delayMs = 200;
  model.reply = "Three mails.";
  const before = (await outbox(gateway)).length;
  const call = { message: "Count my mails.", name: "Mail", wakeMode: "next-heartbeat", deliver: false };
  const answer = await gateway.post("/hooks/agent", call);
  expect((await gateway.delivery(answer.body["deliveryId"])).runs[0]!.reply).toBeNull();
  await gateway.ended(answer.body["deliveryId"]);
  expect((await pendingTexts(gateway)).map(readSummary)).toContain('Hook "Mail": [Three mails.]');
  expect(await outbox(gateway)).toHaveLength(before);
  const delivered = await gateway.post("/hooks/agent", { ...call, deliver: true });
  await gateway.ended(delivered.body["deliveryId"]);
  model.delayMs = 0;
  expect((await outbox(gateway)).at(-1)).toMatchObject({ text: "Three mails." });
});

it("spec 1: a mapped name turns an arbitrary payload into a wake action or an agent action", async () => {
  const wake = await gateway.post("/hooks/ping", { zen: "Keep it simple.", hook: { id: 1 } });
  const agent = await gateway.post("/hooks/push", { ref: "refs/heads/main", commits: [] });
  expect([wake.status, agent.status]).toEqual([200, 202]);
  const kinds: unknown[] = [];
  for (const { body } of [wake, agent]) kinds.push((await gateway.delivery(body["deliveryId"])).runs[0]!.spec);
  expect(kinds).toMatchObject([
    { kind: "wake", text: "Keep it simple." },
    { kind: "agent", message: "refs/heads/main" },
  ]);
});

it.each(["wake", "agent", "push"])(
  "spec 1: every request carries the hook token: %s without it is refused",
  async (name) => {
    const response = await fetch(`${gateway.url}/hooks/${name}`, {
      method: "POST",
      body: '{"text":"x","message":"x"}',
    });
    expect(response.status).toBe(401);
  },
);

it("spec 1: what hooks bring is untrusted: it reaches the agent inside the safety boundary, from each kind of endpoint", async () => {
  await gateway.post("/hooks/agent", { message: "payload of agent", deliver: false, wakeMode: "next-heartbeat" });
  await gateway.post("/hooks/push", { ref: "payload of push" });
  await gateway.post("/hooks/wake", { text: "payload of wake" });
  for (const kind of ["agent", "push", "wake"]) {
    const isAsked = (prompt: string): boolean => prompt.includes(`payload of ${kind}`);
    await expect.poll(() => model.prompts.some(isAsked)).toBe(true);
    const [before = "", behind = ""] = model.prompts.find(isAsked)!.split(`payload of ${kind}`);
    expect(before).toMatch(/<<<EXTERNAL_UNTRUSTED_CONTENT id=/);
    expect(behind).toMatch(/<<<END_EXTERNAL_UNTRUSTED_CONTENT id=/);
  }
});

it("spec 1: as advised, a first configuration keeps to loopback and gives hooks a token of their own, and no payload is logged", async () => {
  const file = `${gateway.folder}/first/reveille.json5`;
  const { gatewayToken, hookToken } = writeFirstConfig(file);
  const { gateway: written } = JSON5.parse<{ gateway: { bind: string } }>(readFileSync(file, "utf8"));
  expect(written.bind).toBe("loopback");
  expect(hookToken).not.toBe(gatewayToken);
  const answer = await gateway.post("/hooks/agent", { message: "a sensitive payload", wakeMode: "next-heartbeat" });
  await gateway.ended(answer.body["deliveryId"]);
  expect(JSON.stringify(gateway.logger.lines)).not.toContain("sensitive");
});
