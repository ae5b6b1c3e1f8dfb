/** What commands print of answers that a gateway gives seldom. */
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { DeliveryDetail, DeliverySummary } from "../../../src/core/delivery.ts";
import type { RunDetail } from "../../../src/core/run.ts";
import { agentSpec, wakeSpec } from "../../conformance/store/new-delivery.ts";
import { RecordedProcess } from "./recorded-process.ts";

let terminal: RecordedProcess;
let server: Server;
let answers: { status: number; body: string }[];
let asked: string[];

beforeEach(async () => {
  answers = [];
  asked = [];
  terminal = new RecordedProcess();
  server = createServer((req, res) => {
    if (req.url === "/api/v1/status") {
      res.writeHead(404).end();
      return;
    }
    asked.push(`${req.method} ${req.url}`);
    const { status, body } = answers.shift()!;
    res.writeHead(status).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  mkdirSync(dirname(terminal.configFile), { recursive: true });
  const config = { gateway: { port, auth: { token: "gateway-token-of-these-tests" } } };
  writeFileSync(terminal.configFile, JSON.stringify(config), { mode: 0o600 });
});
afterEach(() => {
  server.close();
  server.closeAllConnections();
  terminal.remove();
});

async function run(documents: readonly object[], ...args: readonly string[]): Promise<{ code: number; out: string }> {
  answers = documents.map((body) => ({ status: 200, body: JSON.stringify(body) }));
  return { code: await terminal.run(...args), out: terminal.out };
}

function summary(changes: Partial<DeliverySummary> = {}): DeliverySummary {
  return {
    id: "dlv_1",
    state: "done",
    reason: null,
    route: "github",
    mappingId: "github",
    name: "GitHub",
    receivedAt: "2026-02-27T10:00:00.123Z",
    runIds: [],
    event: null,
    actor: null,
    level: null,
    relatedTo: null,
    ...changes,
  };
}

function runDetail(changes: Partial<RunDetail> = {}): RunDetail {
  return {
    id: "run_1",
    state: "queued",
    reason: null,
    spec: agentSpec({ message: "Look at\u001B[2J this." }),
    attempts: [],
    reply: null,
    delivery: "none",
    dueAt: null,
    calls: 1,
    steps: [],
    settledAt: null,
    ...changes,
  };
}

describe("reveille deliveries show", () => {
  it("prints everything that is known of a delivery and its runs", async () => {
    const attempts = [
      { number: 1, startedAt: "t1", endedAt: "t2", status: "error", error: "the model\nis down" } as const,
      { number: 2, startedAt: "t3", endedAt: null, status: "running", error: null } as const,
    ];
    const dueAt = "2026-02-27T11:00:00.000Z";
    const detail: DeliveryDetail = {
      ...summary({ state: "queued", reason: "tried again", event: "push", actor: "ada" }),
      relatedTo: { how: "replay", deliveryId: "dlv_0" },
      headers: { "x-event": "push\r\nx" },
      query: {},
      bodyBytes: 12,
      runs: [
        runDetail({ reason: "tried again", attempts, dueAt, calls: 7, reply: "Seen.", delivery: "pending" }),
        runDetail({ id: "run_2", spec: wakeSpec({ text: "Wake." }) }),
      ],
    };
    const { out } = await run([detail], "deliveries", "show", "dlv_1");
    expect(out.split("\n")).toEqual([
      "dlv_1  queued",
      "  reason     tried again",
      "  received   2026-02-27T10:00:00.123Z",
      "  route      github",
      "  mapping    github",
      "  name       GitHub",
      "  event      push",
      "  actor      ada",
      "  replay of  dlv_0",
      "  body       12 bytes",
      "    x-event: push  x",
      "run_1  agent  queued",
      "  reason     tried again",
      "  due        2026-02-27T11:00:00.000Z",
      "  calls      7",
      "  session    agent:main:hook:1",
      "  text       Look at�[2J this.",
      "  attempt 1  t1 to t2  error: the model is down",
      "  attempt 2  t3 to now  running",
      "  reply      Seen.",
      "  delivery   pending",
      "run_2  wake  queued",
      "  session    agent:main:main",
      "  text       Wake.",
      "",
    ]);
  });
});

describe("of a call whose transform failed", () => {
  const reason = "The transform build.js failed: hooks/transforms/build.js:3: TypeError: no branch\u001B[2J.";
  const failed = summary({ state: "failed", reason, name: "ci" });

  it("reveille deliveries show prints why, and the request that is kept", async () => {
    const detail: DeliveryDetail = { ...failed, headers: { "x-event": "push" }, query: {}, bodyBytes: 12, runs: [] };
    const { out } = await run([detail], "deliveries", "show", "dlv_1");
    expect(out.split("\n")).toEqual([
      "dlv_1  failed",
      "  reason     The transform build.js failed: hooks/transforms/build.js:3: TypeError: no branch�[2J.",
      "  received   2026-02-27T10:00:00.123Z",
      "  route      github",
      "  mapping    github",
      "  name       ci",
      "  body       12 bytes",
      "    x-event: push",
      "",
    ]);
  });

  it("reveille deliveries list shows it among what failed", async () => {
    const { out } = await run([{ deliveries: [failed], nextCursor: null }], "deliveries", "list", "--state", "failed");
    expect(asked).toEqual(["GET /api/v1/deliveries?state=failed&limit=20"]);
    expect(out).toMatch(/^dlv_1 +2026-02-27T10:00:00Z +github +failed +ci +The transform build\.js failed: hooks/mu);
  });

  it("reveille deliveries replay says in words why it failed again, and fails", async () => {
    const outcome = { outcome: "refused", code: "TRANSFORM_FAILED", error: reason };
    const deliveries = [{ id: "dlv_1", state: "failed", route: "github", receivedAt: failed.receivedAt, ...outcome }];
    const document = { ok: true, dryRun: false, matched: 1, more: false, stopped: null, deliveries };
    const { code, out } = await run([document], "deliveries", "replay", "--state", "failed", "--yes");
    expect(code).toBe(1);
    expect(out).toContain(
      "refused: The transform build.js failed: hooks/transforms/build.js:3: TypeError: no branch�[2J.",
    );
  });
});

describe("reveille deliveries list --state held", () => {
  it("prints what each would give to its agent, without what a terminal obeys", async () => {
    const held = summary({ id: "dlv_2", state: "held", reason: "quarantine: x" });
    const spec = agentSpec({ message: `Look at\u001B[2J this.\n\n${"long ".repeat(300)}` });
    const detail = { ...held, headers: {}, query: {}, bodyBytes: 0, runs: [runDetail({ state: "held", spec })] };
    const pages = [{ deliveries: [held], nextCursor: null }, detail];
    const { out } = await run(pages, "deliveries", "list", "--state", "held");
    expect(asked).toEqual(["GET /api/v1/deliveries?state=held&limit=20", "GET /api/v1/deliveries/dlv_2"]);
    expect(out).toContain("dlv_2\n  Look at\uFFFD[2J this.\n  \n  long long");
    expect(out).toContain("… (1518 characters; reveille deliveries show has all)");
  });
});

describe("reveille deliveries list", () => {
  it("asks for further pages while one is short, and shows why a delivery is as it is", async () => {
    const filtered = summary({ state: "filtered", reason: `ignoreActors: ${"x".repeat(100)}`, event: "push" });
    const pages = [
      { deliveries: [], nextCursor: "c1" },
      { deliveries: [filtered], nextCursor: null },
    ];
    const { out } = await run(pages, "deliveries", "list", "--text", "a b");
    expect(asked).toEqual([
      "GET /api/v1/deliveries?text=a+b&limit=20",
      "GET /api/v1/deliveries?text=a+b&limit=20&cursor=c1",
    ]);
    expect(out).toMatch(/^dlv_1 +2026-02-27T10:00:00Z +github +filtered +push +ignoreActors: x{66}…$/mu);
  });
});

describe("a change of deliveries", () => {
  const facts = { state: "done", route: "github", receivedAt: "2026-02-27T10:00:00.123Z" };
  const changed = { ok: true, dryRun: false, matched: 1, more: false, stopped: null };

  it.each([
    [
      { outcome: "emptied" },
      "its request is removed; it stays listed for now: it is the newest delivery, or copies of it could arrive",
      0,
    ],
    [{ outcome: "refused", code: "NOT_FOUND", error: "No hook\u0007." }, "refused: No hook�.", 1],
    [{ outcome: "canceled", runs: 2 }, "canceled (2 runs)", 0],
    [{ outcome: "left", reason: "it is done" }, "left alone: it is done", 0],
  ])("prints %j", async (outcome, text, code) => {
    const deliveries = [{ id: "dlv_1", ...facts, ...outcome }];
    const result = await run([{ ...changed, deliveries }], "deliveries", "purge", "--route", "github", "--yes");
    expect(result.code).toBe(code);
    expect(result.out).toContain(`${text}\n`);
    expect(asked).toEqual(["POST /api/v1/deliveries/purge"]);
  });

  it.each([
    [{ runs: 1, repeated: 1, done: 1, calls: 1 }, "would be replayed"],
    [{ runs: 1, repeated: 1, done: 0, calls: 7 }, "would be replayed, with the 7 calls that its run serves"],
    [{ runs: 5, repeated: 5, done: 0, calls: 1 }, "would be replayed: 5 items"],
    [{ runs: 5, repeated: 5, done: 3, calls: 1 }, "would be replayed: 3 of 5 items were done and would run again"],
    [{ runs: 5, repeated: 2, done: 3, calls: 1 }, "would be replayed: 2 of 5 items, the others are done"],
  ])("that is planned says what a replay would run: %j", async (replay, text) => {
    const deliveries = [{ id: "dlv_1", ...facts, outcome: "planned", replay }];
    const planned = { ...changed, dryRun: true, deliveries };
    const result = await run([planned], "deliveries", "replay", "--route", "github", "--dry-run");
    expect(result.code).toBe(0);
    expect(result.out).toContain(`${text}\n`);
  });

  it("prints the new delivery of each call that was coalesced, and the ids of those that were not reached", async () => {
    const stopped = { code: "QUEUE_FULL", error: "The queue is full." };
    const gathered = [
      { id: "dlv_2", outcome: "replayed", replay: { deliveryId: "dlv_12", state: "coalesced" } },
      { id: "dlv_3", outcome: "refused", code: "NOT_FOUND", error: "No hook." },
    ];
    const replay = { deliveryId: "dlv_11", runIds: [], state: "queued", gathered, left: ["dlv_4"], stopped };
    const deliveries = [{ id: "dlv_1", ...facts, state: "failed", outcome: "replayed", replay }];
    const result = await run([{ ...changed, ok: false, stopped, deliveries }], "deliveries", "replay", "dlv_1");
    expect(result.code).toBe(1);
    expect(result.out.split("\n").map((line) => line.replaceAll(/ {2,}/gu, "|"))).toEqual([
      "ID|RECEIVED|ROUTE|STATE|OUTCOME",
      "dlv_1|2026-02-27T10:00:00Z|github|failed|replayed as dlv_11 (queued)",
      "dlv_2|github|coalesced|replayed as dlv_12 (coalesced)",
      "dlv_3|github|coalesced|refused: No hook.",
      "dlv_4|github|coalesced|not reached; replay it by this id",
      "",
      "It stopped: The queue is full.",
      "",
    ]);
    const refused = { ...replay, gathered: gathered.slice(1), left: [], stopped: null };
    const whole = [{ id: "dlv_1", ...facts, outcome: "replayed", replay: refused }];
    expect((await run([{ ...changed, deliveries: whole }], "deliveries", "replay", "dlv_1")).code).toBe(1);
    const taken = { ...replay, gathered: gathered.slice(0, 1), left: [], stopped: null };
    const all = [{ id: "dlv_1", ...facts, outcome: "replayed", replay: taken }];
    expect((await run([{ ...changed, deliveries: all }], "deliveries", "replay", "dlv_1")).code).toBe(0);
  });

  it.each([
    ["run it again for the rest", { outcome: "replayed", replay: { deliveryId: "dlv_2", state: "queued" } }],
    ["narrow the search with --until", { outcome: "replayed", replay: { deliveryId: "dlv_2", state: "filtered" } }],
    ["narrow the search with --until", { outcome: "replayed", replay: { deliveryId: "dlv_2", state: "failed" } }],
    ["narrow the search with --until", { outcome: "refused", code: "NOT_FOUND", error: "No hook." }],
  ])("that left some says how to come to them: %s", async (text, outcome) => {
    const deliveries = [{ id: "dlv_1", ...facts, ...outcome }];
    const more = { ...changed, more: true, deliveries };
    const { out } = await run([more], "deliveries", "replay", "--route", "github", "--limit", "1", "--yes");
    expect(out).toContain(text);
  });

  it("that is stopped says how much is left, and fails", async () => {
    const stopped = { code: "QUEUE_FULL", error: "The queue of this gateway is full; try again later." };
    const document = { ...changed, ok: false, matched: 1, stopped, deliveries: [] };
    const result = await run([document], "deliveries", "replay", "--route", "github", "--yes");
    expect(result).toEqual({
      code: 1,
      out: "\nIt stopped with 1 delivery left: The queue of this gateway is full; try again later.\n",
    });
  });

  it("continues with no further ids when it is stopped", async () => {
    const document = { ...changed, ok: false, stopped: { code: "SHUTTING_DOWN", error: "It stops." }, deliveries: [] };
    const ids = Array.from({ length: 1_500 }, (_, at) => `dlv_${at}`);
    const { code, out } = await run([document], "deliveries", "replay", ...ids);
    expect([code, out]).toEqual([1, "\nIt stopped with 1500 deliveries left: It stops.\n"]);
    expect(asked).toHaveLength(1);
  });
});

describe("reveille hooks", () => {
  it("prints mappings that take a source or any call, and those that are gone", async () => {
    const none = { paused: null, budget: null, preset: null, broken: null, kept: null };
    const calls = { lastAcceptedAt: "2026-01-01T00:00:00.000Z", lastRefused: null };
    const lastRefused = { at: "2026-01-02T00:00:00.000Z", code: "UNAUTHORIZED", reason: null };
    const mapping = (changes: object) => ({
      ...none,
      ...calls,
      where: "hooks.mappings[0]",
      route: null,
      source: null,
      ...changes,
    });
    const perDay = { used: 5, limit: 50 };
    const states = {
      all: { ...none, scope: "*", budget: { perHour: { used: 1, limit: 10 }, perDay } },
      mappings: [
        mapping({ scope: "notes", source: "notes", action: "wake", lastRefused }),
        mapping({ scope: "rest", action: "agent", budget: { perHour: null, perDay } }),
        mapping({ scope: "old", where: null, action: null, paused: { since: "t", reason: "over its budget" } }),
        mapping({ scope: "half", route: "half", action: "agent", broken: "the environment variable X is not set" }),
      ],
    };
    const { out } = await run([states], "hooks");
    expect(out.split("\n").map((line) => line.replaceAll(/ {2,}/gu, "|"))).toEqual([
      "MAPPING|ROUTE|ACTION|PRESET|BUDGET|LAST CALL|PAUSED",
      "*|all runs|1 of 10 in an hour, 5 of 50 in a day",
      "notes|source notes|wake|2026-01-02T00:00:00Z UNAUTHORIZED",
      "rest|any|agent|5 of 50 in a day|2026-01-01T00:00:00Z",
      "old|no longer configured|2026-01-01T00:00:00Z|since t: over its budget",
      "half|half|agent|2026-01-01T00:00:00Z|set aside: the environment variable X is not set",
      "",
    ]);
  });
});

describe("an answer that is no JSON", () => {
  it("is recognized by its status", async () => {
    answers = [{ status: 502, body: "Bad Gateway" }];
    expect(await terminal.run("hooks")).toBe(1);
    expect(terminal.err).toBe("The gateway's API answered 502 to /hooks.\n");
    answers = [{ status: 503, body: "{}" }];
    expect(await terminal.run("deliveries", "list")).toBe(1);
    expect(terminal.err).toContain("The gateway's API answered 503 to /deliveries.\n");
  });
});
