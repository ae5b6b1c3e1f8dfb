import { expect, it } from "vitest";
import { ConfigError } from "../../../src/config/errors.ts";
import { RunningGateway } from "../http/running-gateway.ts";
import type { GatewaySetup } from "../http/running-gateway.ts";
import { pendingTexts, runOf } from "./session-reads.ts";

const QUIET = { message: "x", deliver: false, wakeMode: "next-heartbeat" };
const AGENTS = {
  defaults: { heartbeat: { every: "0m" } },
  list: [{ id: "main", default: true }, { id: "ops" }, { id: "dev" }],
};

/** What the configuration is refused with, a line for each issue. */
async function refusal(setup: GatewaySetup): Promise<string> {
  const started = await RunningGateway.start(setup).catch((error: unknown) => error);
  if (started instanceof ConfigError) return started.message;
  throw new Error("The configuration was accepted.");
}

it("spec 2.1: hooks.enabled turns the endpoint on, and without it there is none", async () => {
  await using gateway = await RunningGateway.start({ hooks: { enabled: undefined } });
  expect((await gateway.post("/hooks/wake", { text: "x" })).status).toBe(404);
  gateway.writeHooks({});
  await gateway.reload();
  expect((await gateway.post("/hooks/wake", { text: "x", mode: "next-heartbeat" })).status).toBe(200);
});

it("spec 2.1: hooks.token is required when hooks.enabled is true, and is the secret that every request presents", async () => {
  expect(await refusal({ hooks: { token: undefined } })).toMatch(/^hooks\.token: is required/);
  await using gateway = await RunningGateway.start({ hooks: { token: "another-hook-token-of-24-characters" } });
  const wake = { text: "x", mode: "next-heartbeat" };
  expect((await gateway.post("/hooks/wake", wake)).status).toBe(401);
  const authorization = "Bearer another-hook-token-of-24-characters";
  expect((await gateway.post("/hooks/wake", wake, { authorization })).status).toBe(200);
});

it("spec 2.1: hooks.path is the prefix of all hook endpoints", async () => {
  await using gateway = await RunningGateway.start({
    hooks: { path: "/in/here", mappings: [{ match: { path: "ping" }, messageTemplate: "x" }] },
  });
  const paths = ["/in/here/agent", "/in/here/ping", "/hooks/agent", "/hooks/ping"];
  const statuses: number[] = [];
  for (const path of paths) statuses.push((await gateway.post(path, QUIET)).status);
  expect(statuses).toEqual([202, 202, 404, 404]);
});

it.each<[string, unknown, readonly number[]]>([
  ["omitted allows any agent", undefined, [202, 202, 202]],
  ["with * allows any agent", ["ops", "*"], [202, 202, 202]],
  ["as a list allows those that are listed", ["ops"], [202, 202, 400]],
  ["as [] denies all explicit agentId routing", [], [202, 400, 400]],
])("spec 2.1: hooks.allowedAgentIds %s", async (_case, allowedAgentIds, statuses) => {
  await using gateway = await RunningGateway.start({ config: { agents: AGENTS }, hooks: { allowedAgentIds } });
  const answers: number[] = [];
  for (const agentId of [undefined, "ops", "dev"]) {
    answers.push((await gateway.post("/hooks/agent", { ...QUIET, agentId })).status);
  }
  expect(answers).toEqual(statuses);
});

it("spec 2.1: hooks.defaultSessionKey is the session of runs that are given no explicit key", async () => {
  await using gateway = await RunningGateway.start({
    hooks: {
      defaultSessionKey: "hook:fixed",
      mappings: [{ match: { path: "own" }, sessionKey: "hook:own", messageTemplate: "x", deliver: false }],
    },
  });
  expect((await runOf(gateway, await gateway.post("/hooks/agent", QUIET))).sessionKey).toBe("agent:main:hook:fixed");
  expect((await runOf(gateway, await gateway.post("/hooks/own", {}))).sessionKey).toBe("agent:main:hook:own");
});

it("spec 2.1: hooks.allowRequestSessionKey says whether a payload may set sessionKey, false when it is absent", async () => {
  await using gateway = await RunningGateway.start();
  const call = { ...QUIET, sessionKey: "hook:mine" };
  expect((await gateway.post("/hooks/agent", call)).body["code"]).toBe("SESSION_KEY_DISABLED");
  gateway.writeHooks({ allowRequestSessionKey: true });
  await gateway.reload();
  expect((await runOf(gateway, await gateway.post("/hooks/agent", call))).sessionKey).toBe("agent:main:hook:mine");
});

it("spec 2.1: hooks.allowedSessionKeyPrefixes restricts the explicit keys of payloads and of mappings", async () => {
  await using gateway = await RunningGateway.start({
    hooks: {
      defaultSessionKey: "ci:default",
      allowRequestSessionKey: true,
      allowedSessionKeyPrefixes: ["ci:"],
      mappings: [
        { match: { path: "inside" }, sessionKey: "ci:inside", messageTemplate: "x", deliver: false },
        { match: { path: "outside" }, sessionKey: "other:key", messageTemplate: "x", deliver: false },
        { match: { path: "templated" }, sessionKey: "{{key}}", messageTemplate: "x", deliver: false },
      ],
    },
  });
  const post = (path: string, payload: object) => gateway.post(`/hooks/${path}`, payload);
  const statuses = [
    await post("agent", { ...QUIET, sessionKey: "ci:1" }),
    await post("agent", { ...QUIET, sessionKey: "other:1" }),
    await post("inside", {}),
    await post("outside", {}),
    await post("templated", { key: "ci:2" }),
    await post("templated", { key: "other:2" }),
  ].map(({ status, body }) => body["code"] ?? status);
  expect(statuses).toEqual([202, "SESSION_KEY_PREFIX", 202, "SESSION_KEY_PREFIX", 202, "SESSION_KEY_PREFIX"]);
});

it("spec 2.1: hooks.presets enables built-in mappings, none when it is absent", async () => {
  await using gateway = await RunningGateway.start();
  const mails = { messages: [{ id: "1", from: "a", subject: "s", snippet: "x", body: "x" }] };
  expect((await gateway.post("/hooks/gmail", mails)).status).toBe(404);
  gateway.writeHooks({ presets: ["gmail"] });
  await gateway.reload();
  expect((await runOf(gateway, await gateway.post("/hooks/gmail", mails))).source).toBe("Email");
});

it("spec 2.1: hooks.mappings are custom mappings for POST /hooks/<name>, none when it is absent", async () => {
  await using gateway = await RunningGateway.start();
  expect((await gateway.post("/hooks/deploy", {})).status).toBe(404);
  gateway.writeHooks({ mappings: [{ match: { path: "deploy" }, messageTemplate: "Deployed {{version}}." }] });
  await gateway.reload();
  expect((await runOf(gateway, await gateway.post("/hooks/deploy", { version: 7 }))).message).toBe("Deployed 7.");
});

it("spec 2.1: hooks.transformsDir is where transform modules load from, within the root under the config directory", async () => {
  const source = (text: string): string => `export default () => ({ message: "${text}" });`;
  const mappings = [{ match: { path: "t" }, transform: { module: "t.mjs" } }];
  await using gateway = await RunningGateway.start({
    hooks: { mappings },
    transforms: { "t.mjs": source("from the root"), "below/t.mjs": source("from below") },
  });
  expect((await runOf(gateway, await gateway.post("/hooks/t", {}))).message).toBe("from the root");
  gateway.writeHooks({ mappings, transformsDir: "below" });
  await gateway.reload();
  expect((await runOf(gateway, await gateway.post("/hooks/t", {}))).message).toBe("from below");
  gateway.writeHooks({ mappings, transformsDir: "../elsewhere" });
  expect((await gateway.reload()).applied).toBe(false);
});

it("spec 2.1: agents.defaults.models is an allowlist of models: where it is enforced, an override must be in it", async () => {
  const models = { "test/small": {} };
  await using gateway = await RunningGateway.start({
    config: {
      agents: { defaults: { heartbeat: { every: "0m" }, models } },
      models: { providers: { test: { baseUrl: "http://127.0.0.1:9/v1" } } },
    },
  });
  expect((await gateway.post("/hooks/agent", { ...QUIET, model: "test/small" })).status).toBe(202);
  expect((await gateway.post("/hooks/agent", { ...QUIET, model: "test/large" })).status).toBe(400);
});

it("spec 2.1: a mapping carries match, action, templates and the options deliver, channel, to, agentId and model", async () => {
  await using gateway = await RunningGateway.start({
    config: { agents: AGENTS, channels: { webhook: { url: "http://127.0.0.1:9/", secret: SIGNING_SECRET } } },
    hooks: {
      mappings: [
        {
          match: { path: "full", source: "ci" },
          action: "agent",
          messageTemplate: "{{text}}",
          name: "Full {{text}}",
          channel: "webhook",
          to: "{{room}}",
          agentId: "ops",
          model: "test/{{size}}",
        },
        { match: { path: "full" }, action: "wake", textTemplate: "{{text}}", wakeMode: "next-heartbeat" },
        { match: { path: "quiet" }, messageTemplate: "x", deliver: false },
      ],
    },
  });
  const full = await gateway.post("/hooks/full", { source: "ci", text: "hello", room: "#ops", size: "small" });
  expect(await runOf(gateway, full)).toMatchObject({
    message: "hello",
    name: "Full hello",
    agentId: "ops",
    model: "test/small",
    delivery: { channel: "webhook", to: "#ops" },
    unsafe: false,
  });
  expect((await gateway.post("/hooks/full", { source: "cd", text: "hello" })).status).toBe(200);
  expect((await runOf(gateway, await gateway.post("/hooks/quiet", {}))).delivery).toBeUndefined();
});

it("spec 2.1: a mapping may name a transform.module, in JavaScript or TypeScript, for logic of its own", async () => {
  await using gateway = await RunningGateway.start({
    hooks: {
      mappings: [
        { match: { path: "js" }, transform: { module: "own.js" } },
        { match: { path: "ts" }, transform: { module: "own.ts" } },
      ],
    },
    transforms: {
      "own.js": "export default ({ payload }) => ({ message: `js ${payload.n + 1}` });",
      "own.ts": "export default ({ payload }: { payload: { n: number } }) => ({ message: `ts ${payload.n + 1}` });",
    },
  });
  const messages: string[] = [];
  for (const name of ["js", "ts"])
    messages.push((await runOf(gateway, await gateway.post(`/hooks/${name}`, { n: 1 }))).message);
  expect(messages).toEqual(["js 2", "ts 2"]);
});

it("spec 2.1: allowUnsafeExternalContent turns the safety wrapper off for one hook, and for no other", async () => {
  const wake = { action: "wake", wakeMode: "next-heartbeat", textTemplate: "{{text}}" };
  await using gateway = await RunningGateway.start({
    hooks: {
      mappings: [
        { match: { path: "trusted" }, ...wake, allowUnsafeExternalContent: true },
        { match: { path: "stranger" }, ...wake },
      ],
    },
  });
  await gateway.post("/hooks/trusted", { text: "plain" });
  await gateway.post("/hooks/stranger", { text: "wrapped", allowUnsafeExternalContent: true });
  await expect.poll(() => pendingTexts(gateway)).toHaveLength(2);
  const [trusted, stranger] = await pendingTexts(gateway);
  expect(trusted).toBe("plain");
  expect(stranger).toMatch(/EXTERNAL_UNTRUSTED_CONTENT[^]*wrapped[^]*END_EXTERNAL_UNTRUSTED_CONTENT/);
});

it("spec 2.1: thinking levels besides the examples are left open: any is taken", async () => {
  await using gateway = await RunningGateway.start();
  for (const thinking of ["low", "medium", "high", "as-you-like"]) {
    expect((await runOf(gateway, await gateway.post("/hooks/agent", { ...QUIET, thinking }))).thinking).toBe(thinking);
  }
});

const SIGNING_SECRET = `whsec_${Buffer.alloc(24, 7).toString("base64")}`;
