import { afterAll, beforeAll, expect, it } from "vitest";
import { ConfigError } from "../../../src/config/errors.ts";
import { RunningGateway } from "../http/running-gateway.ts";

const TOKEN = "hook-token-of-24-characters-x";
const WAKE = { text: "x", mode: "next-heartbeat" };

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await RunningGateway.start({
    hooks: { token: TOKEN, mappings: [{ match: { path: "mapped" }, messageTemplate: "x", deliver: false }] },
  });
});
afterAll(() => gateway[Symbol.asyncDispose]());

/** The status for a set of headers, none of which is added. */
async function statusWith(headers: Readonly<Record<string, string>>, path = "/hooks/wake"): Promise<number> {
  const response = await fetch(`${gateway.url}${path}`, { method: "POST", headers, body: JSON.stringify(WAKE) });
  await response.text();
  return response.status;
}

it("spec 5.1: every request has to include the hook token, equal to hooks.token", async () => {
  for (const path of ["/hooks/wake", "/hooks/agent", "/hooks/mapped", "/hooks/nothing-there"]) {
    expect(await statusWith({}, path)).toBe(401);
    expect(await statusWith({ authorization: `Bearer ${TOKEN}x` }, path)).toBe(401);
  }
  expect(await statusWith({ authorization: `Bearer ${TOKEN}` })).toBe(200);
});

it("spec 5.2: the token is accepted in Authorization: Bearer, and in x-service-token", async () => {
  expect(await statusWith({ authorization: `Bearer ${TOKEN}` })).toBe(200);
  expect(await statusWith({ "x-service-token": TOKEN })).toBe(200);
});

it("spec 5.3: a token in the query string is rejected with status 400, also beside a right one", async () => {
  const response = await fetch(`${gateway.url}/hooks/wake?token=${TOKEN}`, { method: "POST", body: "{}" });
  expect([response.status, await response.json()]).toMatchObject([400, { code: "TOKEN_IN_QUERY" }]);
  expect(await statusWith({ authorization: `Bearer ${TOKEN}` }, `/hooks/wake?token=${TOKEN}`)).toBe(400);
});

it("spec 5.4: on authentication failure the status is 401", async () => {
  expect(await statusWith({ authorization: "Bearer wrong" })).toBe(401);
  expect(await statusWith({ "x-service-token": "wrong" })).toBe(401);
  expect(await statusWith({ authorization: `Basic ${TOKEN}` })).toBe(401);
});

it("spec 5.5: after repeated authentication failures from one client address the status is 429 with Retry-After", async () => {
  const statuses: number[] = [];
  let retryAfter: string | null = null;
  while (statuses.at(-1) !== 429 && statuses.length < 100) {
    const response = await fetch(`${gateway.url}/hooks/wake`, { method: "POST", body: "{}" });
    statuses.push(response.status);
    retryAfter = response.headers.get("retry-after");
  }
  expect(new Set(statuses)).toEqual(new Set([401, 429]));
  expect(retryAfter).toMatch(/^[1-9]\d*$/);
});

it("spec 5.6: the hook token is dedicated: the gateway's auth token is refused as one", async () => {
  const shared = { hooks: { token: TOKEN }, gateway: { auth: { token: TOKEN } } };
  const started: unknown = await RunningGateway.start(shared).catch((error: unknown) => error);
  expect(started).toBeInstanceOf(ConfigError);
  expect(String(started)).toContain("hooks.token: is also a secret of the gateway itself");
});
