import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ModelEndpoint } from "../model-endpoint.ts";
import { wireRequest } from "./http-connection.ts";
import { AUTHORIZED, RunningGateway } from "./running-gateway.ts";
import type { HookAnswer } from "./running-gateway.ts";

/** For what happens by itself; how long it takes is no matter. */
const SOON = { timeout: 15_000, interval: 5 };
const AGENT_CALL = { message: "x", deliver: false, wakeMode: "next-heartbeat" };
const WAKE = JSON.stringify({ text: "x", mode: "next-heartbeat" });
/** Longer than any of these tests takes. */
const NEVER_MS = 30_000;

let model: ModelEndpoint;
beforeEach(async () => {
  model = await ModelEndpoint.listen();
  model.reply = "NO_REPLY";
});
afterEach(() => {
  model.close();
});

/** A gateway whose runs take as long as the model does. */
function startWithModel(hooks: object, gateway: object = {}): Promise<RunningGateway> {
  return RunningGateway.start({
    hooks,
    gateway,
    config: {
      agents: { defaults: { model: "test/model", heartbeat: { every: "0m" } } },
      models: { providers: { test: { baseUrl: model.baseUrl } } },
    },
  });
}

function expectUnavailable(answer: HookAnswer, code: string): void {
  expect([answer.status, answer.body["code"], answer.body["ok"]]).toEqual([503, code, false]);
  expect(answer.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
}

describe("a full queue", () => {
  it("is answered 503 with Retry-After, nothing is stored, and what was accepted is not evicted", async () => {
    model.delayMs = NEVER_MS;
    await using gateway = await startWithModel({ maxQueuedRuns: 2, concurrency: 1 }, { shutdownSeconds: 0 });
    const accepted = [await gateway.post("/hooks/agent", AGENT_CALL), await gateway.post("/hooks/agent", AGENT_CALL)];
    expect(accepted.map(({ status }) => status)).toEqual([202, 202]);
    expectUnavailable(await gateway.post("/hooks/agent", AGENT_CALL), "QUEUE_FULL");
    expectUnavailable(await gateway.post("/hooks/wake", { text: "x", mode: "next-heartbeat" }), "QUEUE_FULL");
    const stored = (await gateway.deliveries()).map(({ id }) => id);
    expect(stored.toSorted()).toEqual(accepted.map(({ body }) => String(body["deliveryId"])).toSorted());
  });

  it("takes calls again when there is room", async () => {
    await using gateway = await startWithModel({ maxQueuedRuns: 1, concurrency: 1 });
    const letGo = model.holdBack();
    const first = await gateway.post("/hooks/agent", AGENT_CALL);
    expectUnavailable(await gateway.post("/hooks/agent", AGENT_CALL), "QUEUE_FULL");
    letGo();
    await gateway.ended(first.body["deliveryId"]);
    await vi.waitFor(async () => expect((await gateway.post("/hooks/agent", AGENT_CALL)).status).toBe(202), SOON);
  });

  it("refuses several items as a whole when there is no room for all of them", async () => {
    model.delayMs = NEVER_MS;
    const mappings = [{ match: { path: "many" }, forEach: "i", messageTemplate: "{{i[0]}}", deliver: false }];
    await using gateway = await startWithModel({ maxQueuedRuns: 2, mappings }, { shutdownSeconds: 0 });
    expectUnavailable(await gateway.post("/hooks/many", { i: ["a", "b", "c"] }), "QUEUE_FULL");
    expect(await gateway.deliveries()).toEqual([]);
    expect((await gateway.post("/hooks/many", { i: ["a", "b"] })).status).toBe(202);
  });

  it("is not overfilled by calls that arrive at once", async () => {
    model.delayMs = NEVER_MS;
    await using gateway = await startWithModel({ maxQueuedRuns: 5, concurrency: 1 }, { shutdownSeconds: 0 });
    const call = wireRequest({ target: "/hooks/agent", headers: [AUTHORIZED], body: JSON.stringify(AGENT_CALL) });
    const connections = await Promise.all(Array.from({ length: 5 }, () => gateway.connect()));
    for (const connection of connections) connection.send(Buffer.concat(Array.from({ length: 10 }, () => call)));
    const answers = await Promise.all(connections.map((connection) => connection.answers(10)));
    const statuses = answers.flat().map(({ status }) => status);
    expect(statuses.filter((status) => status === 202)).toHaveLength(5);
    expect(statuses.filter((status) => status === 503)).toHaveLength(45);
    expect(await gateway.deliveries()).toHaveLength(5);
  });
});

describe("too many requests in progress", () => {
  it("are answered 503 with Retry-After until one has been answered", async () => {
    await using gateway = await RunningGateway.start({ hooks: { maxInFlight: 2 } });
    const slow = [await gateway.connect(), await gateway.connect()];
    const [head, tail] = [WAKE.slice(0, 5), WAKE.slice(5)];
    for (const connection of slow) {
      connection.send(wireRequest({ headers: [AUTHORIZED, "Expect: 100-continue", `Content-Length: ${WAKE.length}`] }));
      // Told to go on, it holds its place.
      expect((await connection.answer()).status).toBe(100);
      connection.send(head);
    }
    expectUnavailable(await gateway.post("/hooks/wake", WAKE), "BUSY");
    // No one without a token can take a place, or learn that there is none.
    expect((await gateway.send({ method: "GET" })).status).toBe(405);
    slow[0]!.send(tail);
    expect((await slow[0]!.answer()).status).toBe(200);
    expect((await gateway.post("/hooks/wake", WAKE)).status).toBe(200);
    slow[1]!.destroy();
    await vi.waitFor(async () => {
      const both = await Promise.all([gateway.post("/hooks/wake", WAKE), gateway.post("/hooks/wake", WAKE)]);
      expect(both.map(({ status }) => status)).toEqual([200, 200]);
    }, SOON);
  });

  it("give their places back whatever the answer was", async () => {
    await using gateway = await RunningGateway.start({
      hooks: {
        maxInFlight: 1,
        lockout: { failures: 1_000 },
        mappings: [{ match: { path: "throws" }, transform: { module: "t.mjs" } }],
      },
      transforms: { "t.mjs": "export default () => { throw new Error('no'); };" },
    });
    const requests = [
      { body: WAKE },
      { headers: [AUTHORIZED], body: "{" },
      { headers: [AUTHORIZED], target: "/hooks/x", body: WAKE },
      { headers: [AUTHORIZED], target: "/hooks/throws", body: WAKE },
      { headers: [AUTHORIZED, "Content-Length: 99999999"] },
      { method: "GET" },
    ];
    for (const request of requests) {
      expect((await gateway.send(request)).status).toBeLessThan(503);
      expect((await gateway.post("/hooks/wake", WAKE)).status).toBe(200);
    }
  });
});

describe("a gateway that is shutting down", () => {
  it("answers 503 with Retry-After on connections that are open, and closes them", async () => {
    await using gateway = await startWithModel({});
    const letGo = model.holdBack();
    const idle = await gateway.connect();
    const running = await gateway.connect();
    running.send(wireRequest({ target: "/hooks/agent", headers: [AUTHORIZED], body: JSON.stringify(AGENT_CALL) }));
    expect((await running.answer()).status).toBe(202);
    await vi.waitFor(() => expect(model.requests).toHaveLength(1), SOON);
    // The head is on its way when the shutdown begins, so the connection is not idle.
    idle.send("POST /hooks/wake HTTP/1.1\r\nHost: gateway.test\r\n");
    await idle.flushed();
    const stopped = gateway.stop();
    idle.send([AUTHORIZED, `Content-Length: ${WAKE.length}`, "", WAKE].join("\r\n"));
    const answer = await idle.answer();
    expect(answer.status).toBe(503);
    expect(answer.headers).toMatchObject({ connection: "close", "retry-after": expect.stringMatching(/^[1-9]/) });
    expect(JSON.parse(answer.text)).toMatchObject({ ok: false, code: "SHUTTING_DOWN" });
    letGo();
    await stopped;
  });

  it("either accepts a request in progress, which then runs at the next start, or answers 503", async () => {
    model.delayMs = 300;
    await using gateway = await startWithModel({});
    const body = JSON.stringify(AGENT_CALL);
    await gateway.post("/hooks/agent", AGENT_CALL);
    const slow = await gateway.connect();
    slow.send(
      wireRequest({
        target: "/hooks/agent",
        headers: [AUTHORIZED, "Expect: 100-continue", `Content-Length: ${body.length}`],
      }),
    );
    expect((await slow.answer()).status).toBe(100);
    const restarted = gateway.restart();
    slow.send(body);
    const answer = await slow.answer();
    expect([202, 503]).toContain(answer.status);
    await restarted;
    const { deliveryId } = JSON.parse(answer.text) as { deliveryId?: string };
    if (answer.status === 202) expect((await gateway.ended(deliveryId)).state).toBe("done");
    else expect(await gateway.deliveries()).toHaveLength(1);
  });

  it("loses none of the calls that it answered with a 2xx", async () => {
    await using gateway = await RunningGateway.start();
    const acknowledged = new Set<string>();
    const calling = Array.from({ length: 8 }, async () => {
      for (;;) {
        const answer = await gateway.post("/hooks/wake", WAKE).catch(() => undefined);
        if (answer?.status !== 200) return;
        acknowledged.add(String(answer.body["deliveryId"]));
      }
    });
    await vi.waitFor(() => expect(acknowledged.size).toBeGreaterThan(40), SOON);
    await gateway.stop();
    await Promise.all(calling);
    await gateway.restart();
    for (const id of acknowledged) expect((await gateway.ended(id)).state).toBe("done");
  });
});
