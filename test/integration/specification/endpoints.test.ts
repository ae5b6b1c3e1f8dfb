import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RunningGateway } from "../http/running-gateway.ts";
import type { HookAnswer } from "../http/running-gateway.ts";
import { ModelEndpoint } from "../model-endpoint.ts";
import { outbox, pendingTexts, runOf, transcript } from "./session-reads.ts";
import { readSummary } from "../../fixtures/read-summary.ts";

const QUIET = { wakeMode: "next-heartbeat", deliver: false };

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
      presets: ["gmail"],
      mappings: [
        { match: { path: "ingest", source: "ci" }, messageTemplate: "From CI: {{text}}", ...QUIET },
        { match: { path: "ingest", source: "shop" }, messageTemplate: "From the shop: {{text}}", ...QUIET },
        { match: { path: "wakes" }, action: "wake", textTemplate: "{{text}}", wakeMode: "next-heartbeat" },
        { match: { path: "coded" }, transform: { module: "code.ts" }, ...QUIET },
      ],
    },
    transforms: { "code.ts": "export default (ctx: { path: string }) => ({ message: `By code, on ${ctx.path}.` });" },
  });
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  model.close();
});

const agent = (payload: object): Promise<HookAnswer> => gateway.post("/hooks/agent", { ...QUIET, ...payload });

describe("the endpoints", () => {
  it.each(["GET", "PUT", "DELETE", "PATCH"])(
    "spec 4: all of them use the method POST, and %s is refused",
    async (method) => {
      for (const name of ["wake", "agent", "ingest"]) {
        const response = await fetch(`${gateway.url}/hooks/${name}`, { method });
        expect([response.status, response.headers.get("allow")]).toEqual([405, "POST"]);
      }
    },
  );

  it("spec 4: each request carries a JSON body, Content-Type: application/json and the hook token", async () => {
    const answer = await gateway.send({
      target: "/hooks/wake",
      headers: [`Authorization: Bearer ${hookToken()}`, "Content-Type: application/json"],
      body: '{"text":"x","mode":"next-heartbeat"}',
    });
    expect(answer.status).toBe(200);
    expect((await gateway.post("/hooks/wake", "no JSON")).status).toBe(400);
  });

  it("spec 4.1: the request is a wake payload, and its success status is 200", async () => {
    expect((await gateway.post("/hooks/wake", { text: "x", mode: "next-heartbeat" })).status).toBe(200);
    expect((await gateway.post("/hooks/wake", { message: "x" })).status).toBe(400);
  });

  it("spec 4.1: a wake enqueues a system event for the main session, and mode=now triggers an immediate heartbeat", async () => {
    const answer = await gateway.post("/hooks/wake", { text: "The bell rings.", mode: "now" });
    await gateway.ended(answer.body["deliveryId"]);
    await expect.poll(async () => JSON.stringify(await transcript(gateway, "main"))).toContain("The bell rings.");
    expect(await pendingTexts(gateway)).toEqual([]);
  });

  it("spec 4.2: the request is an agent payload, and its success status is 202: the run continues after the answer", async () => {
    model.delayMs = 300;
    const answer = await agent({ message: "x" });
    expect(answer.status).toBe(202);
    expect(["queued", "running"]).toContain((await gateway.delivery(answer.body["deliveryId"])).state);
    expect((await gateway.ended(answer.body["deliveryId"])).state).toBe("done");
    model.delayMs = 0;
    expect((await agent({ text: "x" })).status).toBe(400);
  });

  it("spec 4.2: it runs an isolated agent turn with its own session key", async () => {
    const [first, second] = [await agent({ message: "first run" }), await agent({ message: "second run" })];
    for (const { body } of [first, second]) await gateway.ended(body["deliveryId"]);
    const keys = [(await runOf(gateway, first)).sessionKey, (await runOf(gateway, second)).sessionKey];
    expect(new Set(keys).size).toBe(2);
    expect(JSON.stringify(model.requests.at(-1)!.body.messages)).not.toContain("first run");
    expect(JSON.stringify(await transcript(gateway, keys[0]))).toContain("first run");
  });

  it("spec 4.2: it always posts a summary into the main session, also when the run fails", async () => {
    model.reply = "All is well.";
    const good = await agent({ message: "x", name: "Good" });
    await gateway.ended(good.body["deliveryId"]);
    const bad = await agent({ message: "x", name: "Bad", model: "nowhere/x" });
    expect((await gateway.ended(bad.body["deliveryId"])).state).toBe("failed");
    const texts = (await pendingTexts(gateway)).map(readSummary);
    expect(texts).toContain('Hook "Good": [All is well.]');
    expect(texts).toContainEqual(expect.stringMatching(/^Hook "Bad" \(error\): /));
  });

  it("spec 4.2: when wakeMode=now, it triggers an immediate heartbeat", async () => {
    const answer = await agent({ message: "x", name: "Urgent", wakeMode: "now" });
    const reason = `hook:${answer.body["runId"] as string}`;
    await expect
      .poll(() => model.prompts.some((prompt) => prompt.includes('Hook \\"Urgent\\": ') && prompt.includes(reason)))
      .toBe(true);
  });

  it("spec 4.2: when deliver=true, it sends the reply to the resolved channel and recipient, but no heartbeat acknowledgment", async () => {
    model.reply = "Dinner is ready.";
    const sent = await agent({ message: "x", deliver: true, channel: "console", to: "kitchen" });
    await gateway.ended(sent.body["deliveryId"]);
    model.reply = "**HEARTBEAT_OK**";
    await gateway.ended((await agent({ message: "x", deliver: true })).body["deliveryId"]);
    expect((await outbox(gateway)).at(-1)).toMatchObject({
      channel: "console",
      to: "kitchen",
      text: "Dinner is ready.",
    });
  });

  it("spec 4.3: a name is resolved through hooks.mappings and enabled presets", async () => {
    const mail = { messages: [{ id: "m1", from: "a", subject: "s", snippet: "x", body: "x" }] };
    const statuses = [
      await gateway.post("/hooks/ingest", { source: "ci", text: "x" }),
      await gateway.post("/hooks/gmail", mail),
      await gateway.post("/hooks/unknown", {}),
    ].map(({ status }) => status);
    expect(statuses).toEqual([202, 200, 404]);
  });

  it("spec 4.3: a mapping converts an arbitrary payload into a wake action or an agent action, by templates or by code", async () => {
    const wake = await gateway.post("/hooks/wakes", { text: "x", anything: [1, { else: null }] });
    expect(wake.status).toBe(200);
    expect((await runOf(gateway, await gateway.post("/hooks/coded", [1, 2]))).message).toBe("By code, on coded.");
  });

  it("spec 4.3: routing on a generic ingest endpoint is driven by the payload, through match.source", async () => {
    const messages: string[] = [];
    for (const source of ["shop", "ci"]) {
      messages.push((await runOf(gateway, await gateway.post("/hooks/ingest", { source, text: "hi" }))).message);
    }
    expect(messages).toEqual(["From the shop: hi", "From CI: hi"]);
    expect((await gateway.post("/hooks/ingest", { source: "stranger", text: "hi" })).status).toBe(404);
  });

  it.each(["../outside.mjs", "a/../../outside.mjs", "/etc/outside.mjs", "~/outside.mjs"])(
    "spec 4.3: the transform module path %s, which leaves the transforms directory, is rejected",
    async (module) => {
      gateway.writeTransform("../outside.mjs", "export default () => ({ message: 'outside' });");
      gateway.writeHooks({ mappings: [{ match: { path: "t" }, transform: { module } }] });
      expect((await gateway.reload()).applied).toBe(false);
      expect((await gateway.post("/hooks/t", {})).status).toBe(404);
    },
  );

  it("spec 4.3: a TypeScript transform needs no loader of its own, and a precompiled .js file is taken as well", async () => {
    gateway.writeTransform("typed.ts", "export default (): object => ({ message: 'typed' as string });");
    gateway.writeTransform("built.js", "export default () => ({ message: 'built' });");
    const mappings = ["typed.ts", "built.js"].map((module) => ({
      match: { path: module },
      transform: { module },
      ...QUIET,
    }));
    gateway.writeHooks({ mappings });
    expect((await gateway.reload()).applied).toBe(true);
    expect((await runOf(gateway, await gateway.post("/hooks/typed.ts", {}))).message).toBe("typed");
    expect((await runOf(gateway, await gateway.post("/hooks/built.js", {}))).message).toBe("built");
  });
});

function hookToken(): string {
  return (gateway.configWith({}) as { hooks: { token: string } }).hooks.token;
}
