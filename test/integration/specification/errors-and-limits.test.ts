import { afterAll, beforeAll, expect, it } from "vitest";
import { RunningGateway } from "../http/running-gateway.ts";
import type { HookAnswer } from "../http/running-gateway.ts";

const QUIET = { deliver: false, wakeMode: "next-heartbeat" };

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await RunningGateway.start({
    config: {
      agents: { defaults: { heartbeat: { every: "0m" }, models: { "test/small": {} } } },
      models: { providers: { test: { baseUrl: "http://127.0.0.1:9/v1" } } },
    },
    hooks: {
      maxBodyBytes: 1_000,
      concurrency: 1,
      retry: { attempts: 1 },
      mappings: [{ match: { path: "mapped" }, messageTemplate: "{{a}}" }],
    },
  });
});
afterAll(() => gateway[Symbol.asyncDispose]());

/** Status and code of an answer. */
const outcome = ({ status, body }: HookAnswer): unknown => [status, body["code"] ?? null];

it("spec 3: states and transitions are left open: a delivery is queued, running and done, or ends with a reason, and the API says which", async () => {
  const states = new Set<string>();
  const answer = await gateway.post("/hooks/agent", { ...QUIET, message: "x" });
  for (let state = ""; state !== "done"; states.add(state)) {
    ({ state } = await gateway.delivery(answer.body["deliveryId"]));
  }
  expect(["queued", "running", "done"]).toEqual(expect.arrayContaining([...states]));
  const failed = await gateway.post("/hooks/agent", { ...QUIET, message: "x", model: "test/small" });
  expect(await gateway.ended(failed.body["deliveryId"])).toMatchObject({
    state: "failed",
    reason: expect.stringMatching(/^error: /),
  });
}, 30_000);

it.each<[string, string, unknown]>([
  ["that is not JSON", "/hooks/wake", "{"],
  ["without its required field", "/hooks/agent", {}],
  ["with a field of a wrong type", "/hooks/agent", { message: "x", deliver: "yes" }],
  ["of which a mapping makes nothing", "/hooks/mapped", {}],
])("spec 7: 400 is the status for an invalid payload: one %s", async (_case, path, payload) => {
  expect((await gateway.post(path, payload)).status).toBe(400);
});

it("spec 7: 400 is the status for a token in the query string", async () => {
  expect(outcome(await gateway.post("/hooks/wake?token=x", { text: "x" }))).toEqual([400, "TOKEN_IN_QUERY"]);
});

it("spec 7: 401 is the status for an authentication failure", async () => {
  const answer = await gateway.post("/hooks/wake", { text: "x" }, { authorization: "Bearer wrong" });
  expect(outcome(answer)).toEqual([401, "UNAUTHORIZED"]);
});

it("spec 7: 413 is the status for an oversized payload", async () => {
  expect(outcome(await gateway.post("/hooks/wake", { text: "x".repeat(1_000) }))).toEqual([413, "BODY_TOO_LARGE"]);
});

it("spec 7: 429 is the status after repeated authentication failures from the same client address, with Retry-After", async () => {
  await using other = await RunningGateway.start({ hooks: { lockout: { failures: 2 } } });
  const tried: HookAnswer[] = [];
  for (let at = 0; at < 3; at++) tried.push(await other.post("/hooks/wake", {}, { authorization: "Bearer wrong" }));
  expect(tried.map(({ status }) => status)).toEqual([401, 401, 429]);
  expect(tried[2]!.headers.get("retry-after")).toBe("60");
});

it("spec 7: a model override that is not in the enforced list is 400, before anything is accepted", async () => {
  const before = await gateway.deliveries();
  const answer = await gateway.post("/hooks/agent", { ...QUIET, message: "x", model: "test/large" });
  expect(outcome(answer)).toEqual([400, "MODEL_NOT_ALLOWED"]);
  expect(await gateway.deliveries()).toHaveLength(before.length);
});

it("spec 7: a request sessionKey is rejected with 400 when overrides are disabled, and outside of the allowed prefixes", async () => {
  const call = { ...QUIET, message: "x", sessionKey: "other:1" };
  expect(outcome(await gateway.post("/hooks/agent", call))).toEqual([400, "SESSION_KEY_DISABLED"]);
  await using open = await RunningGateway.start({
    hooks: { allowRequestSessionKey: true, allowedSessionKeyPrefixes: ["hook:"] },
  });
  expect(outcome(await open.post("/hooks/agent", call))).toEqual([400, "SESSION_KEY_PREFIX"]);
});

it("spec 7: the format of error bodies, which is left open, is { ok: false, error, code }", async () => {
  for (const path of ["/hooks/wake", "/hooks/nowhere", "/hooks/mapped"]) {
    const { body } = await gateway.post(path, {});
    expect(Object.keys(body)).toEqual(["ok", "error", "code"]);
    expect(body["ok"]).toBe(false);
    expect(body["error"]).toMatch(/^\S.*\.$/);
    expect(body["code"]).toMatch(/^[A-Z][A-Z0-9_]+$/);
  }
});

it("spec 8: payloads over the maximum size, 256 KiB where none is configured, yield 413", async () => {
  await using other = await RunningGateway.start();
  const wake = (bytes: number) => `{"mode":"next-heartbeat","text":"${"x".repeat(bytes - 35)}"}`;
  expect(wake(262_144)).toHaveLength(262_144);
  expect((await other.post("/hooks/wake", wake(262_144))).status).toBe(200);
  expect((await other.post("/hooks/wake", wake(262_145))).status).toBe(413);
});

it("spec 8: authentication failures are rate-limited per client address: 20 within 60 seconds, for 60 seconds, where nothing is configured", async () => {
  await using other = await RunningGateway.start();
  other.stopClock();
  const fail = () => other.post("/hooks/wake", {}, { authorization: "Bearer wrong" });
  for (let at = 0; at < 20; at++) expect((await fail()).status).toBe(401);
  expect((await fail()).headers.get("retry-after")).toBe("60");
  other.advance(60_000);
  expect((await fail()).status).toBe(401);
});

it("spec 8: timeoutSeconds caps the duration of one run; 600 seconds where none is given, a day at most", async () => {
  const timeoutOf = async (timeoutSeconds?: number): Promise<unknown> => {
    const answer = await gateway.post("/hooks/agent", { ...QUIET, message: "x", timeoutSeconds });
    if (answer.status !== 202) return answer.status;
    return (await gateway.delivery(answer.body["deliveryId"])).runs[0]!.spec;
  };
  expect(await timeoutOf(30)).toMatchObject({ timeoutMs: 30_000 });
  expect(await timeoutOf()).toMatchObject({ timeoutMs: 600_000 });
  expect(await timeoutOf(86_400)).toMatchObject({ timeoutMs: 86_400_000 });
  expect(await timeoutOf(86_401)).toBe(400);
});

it("spec 9: sessionKey overrides in /hooks/agent payloads are disabled by default", async () => {
  await using fresh = await RunningGateway.start({ hooks: {} });
  const answer = await fresh.post("/hooks/agent", { ...QUIET, message: "x", sessionKey: "hook:x" });
  expect(outcome(answer)).toEqual([400, "SESSION_KEY_DISABLED"]);
});

it("spec 9: hooks.allowRequestSessionKey=true with restricted prefixes restores the earlier behavior", async () => {
  await using compatible = await RunningGateway.start({
    hooks: { allowRequestSessionKey: true, allowedSessionKeyPrefixes: ["hook:"] },
  });
  const answer = await compatible.post("/hooks/agent", { ...QUIET, message: "x", sessionKey: "hook:x" });
  expect((await compatible.delivery(answer.body["deliveryId"])).runs[0]!.spec.sessionKey).toBe("agent:main:hook:x");
});

it("spec 9: no version is in the paths or headers of the endpoints", async () => {
  const answer = await gateway.post("/hooks/wake", { text: "x", mode: "next-heartbeat" });
  expect(answer.status).toBe(200);
  expect([...answer.headers.keys()].filter((name) => /version|deprecation|sunset/.test(name))).toEqual([]);
  expect((await gateway.post("/v1/hooks/wake", { text: "x" })).status).toBe(404);
});
