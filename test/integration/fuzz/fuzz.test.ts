import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GatewayProcess, HOOK_TOKEN } from "../gateway-process.ts";
import { exchange } from "./exchange.ts";
import type { Exchanged } from "./exchange.ts";
import { FAREWELL_STATUS, MAX_BODY_BYTES, planConnection } from "./fuzz-plan.ts";
import type { FuzzConnection } from "./fuzz-plan.ts";

/** A failure prints the seed; `FUZZ_SEED` repeats it, `FUZZ_REQUESTS` goes on for longer. */
const SEED = Number(process.env["FUZZ_SEED"] ?? 20_260_227);
const REQUESTS = Number(process.env["FUZZ_REQUESTS"] ?? 100_000);
const BATCH = 5_000;
const CONNECTIONS_AT_ONCE = 64;
const WITHIN_MS = 15_000;
const IDLE_MS = 150;
/** Longer than the gateway waits for the head of a request. */
const STALLED_MS = 45_000;

const wake = { action: "wake", wakeMode: "next-heartbeat" } as const;

let gateway: GatewayProcess;
let port: number;
beforeAll(async () => {
  gateway = new GatewayProcess({
    gateway: {
      auth: { token: "gateway-token-of-the-integration-tests" },
      shutdownSeconds: 1,
      trustedProxies: ["127.0.0.1"],
    },
    hooks: {
      enabled: true,
      token: HOOK_TOKEN,
      maxBodyBytes: MAX_BODY_BYTES,
      bodyTimeoutSeconds: 2,
      maxInFlight: 4_096,
      allowRequestSessionKey: true,
      allowedSessionKeyPrefixes: ["hook:"],
      presets: ["gmail"],
      mappings: [
        { match: { path: "mapped" }, ...wake, name: "{{title}}", textTemplate: "{{title}}: {{items}} {{deep.a.b[1]}}" },
        { match: { path: "generic", source: "billing" }, ...wake, textTemplate: "{{amount}} {{headers.user-agent}}" },
        { match: { path: "generic" }, ...wake, textTemplate: "{{payload.source}} {{query.a}} {{now}}" },
        { match: { path: "many" }, ...wake, forEach: "items", textTemplate: "item {{items[0]}}" },
        { match: { path: "form" }, ...wake, accept: ["form"], textTemplate: "{{title}} {{x}} {{payload}}." },
        { match: { path: "text" }, ...wake, accept: ["text"], textTemplate: "{{text}}." },
        { ...wake, transform: { module: "look.mjs" } },
      ],
    },
  });
  const transforms = join(gateway.folder, "hooks", "transforms");
  mkdirSync(transforms, { recursive: true });
  writeFileSync(
    join(transforms, "look.mjs"),
    `export default ({ payload, headers, url, path }) => {
       if ({}.polluted !== undefined) throw new Error("Object.prototype is polluted");
       return { text: JSON.stringify([path, url.href, headers, payload]), name: path, agentId: payload.agentId };
     };`,
  );
  await gateway.start();
  port = Number(new URL(gateway.url).port);
});
afterAll(() => gateway.close());

describe("mutated raw requests", () => {
  it(`${REQUESTS} of them: the process never dies or hangs, lets none in without the token, and answers no 5xx but 503`, async () => {
    const seen = new Map<number, number>();
    const stalled = stallEverywhere();
    const progress = { requests: 0, connections: 0 };
    while (progress.requests < REQUESTS) {
      const until = Math.min(REQUESTS, progress.requests + BATCH);
      const send = async (): Promise<void> => {
        while (progress.requests < until) {
          const current = progress.connections++;
          const plan = planConnection(SEED, current, HOOK_TOKEN);
          progress.requests += plan.requests;
          for (const status of await check(plan, current)) seen.set(status, (seen.get(status) ?? 0) + 1);
        }
      };
      await Promise.all(Array.from({ length: CONNECTIONS_AT_ONCE }, send));
      const health = await fetch(`${gateway.url}/health`, { signal: AbortSignal.timeout(WITHIN_MS) });
      expect([health.status, gateway.isRunning], `FUZZ_SEED=${SEED}, connection ${progress.connections}`).toEqual([
        200,
        true,
      ]);
    }
    // The mutations reach every stage, and not the parser of HTTP alone.
    const usual = [200, 202, 400, 401, 404, 405, 413, 415, 422, 429, 431];
    expect([...seen.keys()]).toEqual(expect.arrayContaining(usual));
    for (const { statuses, closed } of await stalled) {
      expect(closed).toBe(true);
      expect([[], [400], [408]]).toContainEqual(statuses);
    }
  }, 600_000);

  it("leave a process that works, says nothing of errors in its log, and ends in order", async () => {
    const answer = await gateway.post("/hooks/wake", { text: "still here", mode: "next-heartbeat" });
    expect(answer.status).toBe(200);
    expect(await gateway.end("SIGTERM")).toBe(0);
    const lines = gateway.log.trim().split("\n");
    const troubles = lines.filter((line) => /"level":"(?:error|fatal)"/.test(line) || !line.startsWith("{"));
    expect(troubles).toEqual([]);
    expect(gateway.log).not.toContain(HOOK_TOKEN);
  });
});

/** Sends what was planned, and gives the statuses of the answers; throws when something is not as it must be. */
async function check(plan: FuzzConnection, number: number): Promise<readonly number[]> {
  const { bytes, pieces, mayPass } = plan;
  const idleMs = mayPass ? undefined : IDLE_MS;
  const exchanged = await exchange({ port, bytes, pieces, withinMs: WITHIN_MS, idleMs });
  const wrong = violation(plan, exchanged);
  if (wrong === undefined) return exchanged.statuses;
  const sent = JSON.stringify(bytes.toString("latin1").slice(0, 8_000));
  throw new Error(
    `FUZZ_SEED=${SEED}, connection ${number}: ${wrong}; answers: ${exchanged.statuses.join(" ")}; sent: ${sent}`,
  );
}

/** What must not be, in words; `undefined` when all is well. */
function violation(plan: FuzzConnection, { statuses, closed }: Exchanged): string | undefined {
  if (!closed) return `the connection was left open for ${WITHIN_MS} ms`;
  const failed = statuses.find((status) => status >= 500 && status !== 503);
  if (failed !== undefined) return `an answer had status ${failed}`;
  if (plan.isStrict && statuses.some((status) => status < 300)) return "a request without the token was let in";
  if (!plan.mayPass) return undefined;
  const final = statuses.filter((status) => status !== 100);
  const farewell = final.length > plan.requests ? final.pop() : undefined;
  if (final.length !== plan.requests) return `${plan.requests} requests had ${final.length} answers`;
  if (plan.staysOpen && farewell !== FAREWELL_STATUS) return `the farewell was answered ${farewell}`;
  const wrong = final.findIndex((status, at) => status < 300 && !plan.mayPass?.[at]);
  return wrong === -1 ? undefined : `request ${wrong} was let in without the token`;
}

/** Clients that send a part of a request and then nothing more, at 40 places of it, in head and body. */
function stallEverywhere(): Promise<Exchanged[]> {
  const body = JSON.stringify({ text: "x".repeat(150) });
  const request = [
    "POST /hooks/wake HTTP/1.1",
    "Host: gateway.test",
    `Authorization: Bearer ${HOOK_TOKEN}`,
    `Content-Length: ${body.length}`,
    "",
    body,
  ].join("\r\n");
  return Promise.all(
    Array.from({ length: 40 }, (_, part) => {
      const bytes = Buffer.from(request.slice(0, Math.floor((request.length * part) / 40)));
      return exchange({ port, bytes, withinMs: STALLED_MS });
    }),
  );
}
