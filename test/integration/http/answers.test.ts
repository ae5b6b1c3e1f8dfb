import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AgentSpec } from "../../../src/core/run.ts";
import { RunningGateway } from "./running-gateway.ts";

const ID = expect.stringMatching(/^[A-Za-z0-9_-]{8,}$/) as unknown;

let gateway: RunningGateway;
beforeAll(async () => {
  gateway = await RunningGateway.start({
    hooks: {
      mappings: [
        { match: { path: "agent-hook" }, messageTemplate: "{{text}}", deliver: false },
        { match: { path: "wake-hook" }, action: "wake", wakeMode: "next-heartbeat", textTemplate: "{{text}}" },
        { match: { path: "many" }, forEach: "items", messageTemplate: "{{items[0]}}", deliver: false },
        {
          match: { path: "many-wakes" },
          action: "wake",
          wakeMode: "next-heartbeat",
          forEach: "items",
          textTemplate: "{{items[0]}}",
        },
        { match: { path: "skips" }, transform: { module: "skip.mjs" }, messageTemplate: "{{text}}" },
        { match: { path: "throws" }, transform: { module: "throw.mjs" }, messageTemplate: "{{text}}" },
        { match: { path: "rejects" }, transform: { module: "throw.mjs", export: "later" }, messageTemplate: "x" },
        { match: { path: "wrong" }, transform: { module: "throw.mjs", export: "wrong" }, messageTemplate: "x" },
        { match: { path: "switches" }, transform: { module: "switch.ts" }, messageTemplate: "x" },
      ],
    },
    transforms: {
      "skip.mjs": "export default ({ payload }) => (payload.skip ? null : undefined);",
      "throw.mjs": `
        export default () => { throw new Error("a secret of the operator"); };
        export const later = async () => { throw new Error("a secret of the operator"); };
        export const wrong = () => 42;`,
      "switch.ts": `
        interface Payload { readonly text: string }
        export default ({ payload }: { payload: Payload }) => ({ kind: "wake", text: payload.text, mode: "next-heartbeat" });`,
    },
  });
});
afterAll(() => gateway[Symbol.asyncDispose]());

describe("a call that was accepted", () => {
  it("spec 4.1: POST {base_url}/hooks/wake is answered 200 { ok, mode, deliveryId }", async () => {
    const answer = await gateway.post("/hooks/wake", { text: "x", mode: "next-heartbeat" });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({ ok: true, mode: "next-heartbeat", deliveryId: ID });
    expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    expect((await gateway.post("/hooks/wake", { text: "x" })).body).toEqual({ ok: true, mode: "now", deliveryId: ID });
  });

  it("spec 4.2: POST {base_url}/hooks/agent is answered 202 { ok, runId, deliveryId }", async () => {
    const answer = await gateway.post("/hooks/agent", { message: "x", deliver: false });
    expect(answer.status).toBe(202);
    expect(answer.body).toEqual({ ok: true, runId: ID, deliveryId: ID });
    const delivery = await gateway.delivery(answer.body["deliveryId"]);
    expect(delivery.runIds).toEqual([answer.body["runId"]]);
  });

  it("spec 4.3: of a mapping is answered as its action is", async () => {
    const agent = await gateway.post("/hooks/agent-hook", { text: "x" });
    expect([agent.status, agent.body]).toEqual([202, { ok: true, runId: ID, deliveryId: ID }]);
    const wake = await gateway.post("/hooks/wake-hook", { text: "x" });
    expect([wake.status, wake.body]).toEqual([200, { ok: true, mode: "next-heartbeat", deliveryId: ID }]);
    const switched = await gateway.post("/hooks/switches", { text: "by code" });
    expect([switched.status, switched.body]).toEqual([200, { ok: true, mode: "next-heartbeat", deliveryId: ID }]);
    const { runs } = await gateway.delivery(switched.body["deliveryId"]);
    expect(runs[0]!.spec).toMatchObject({ kind: "wake", text: "by code" });
  });

  it("for several items is answered with every run, for one as a single call, and for none with 204", async () => {
    const many = await gateway.post("/hooks/many", { items: ["a", "b", "c"] });
    expect(many.status).toBe(202);
    const runIds = many.body["runIds"] as string[];
    expect(many.body).toEqual({ ok: true, runId: runIds[0], runIds, dispatched: 3, deliveryId: ID });
    const { runs } = await gateway.delivery(many.body["deliveryId"]);
    expect(runs.map(({ spec }) => (spec as AgentSpec).message)).toEqual(["a", "b", "c"]);
    const wakes = await gateway.post("/hooks/many-wakes", { items: ["a", "b"] });
    expect([wakes.status, wakes.body["dispatched"]]).toEqual([200, 2]);
    const one = await gateway.post("/hooks/many", { items: ["a"] });
    expect(one.body).toEqual({ ok: true, runId: ID, deliveryId: ID });
    const none = await gateway.post("/hooks/many", { items: [] });
    expect([none.status, none.text]).toEqual([204, ""]);
    expect((await gateway.deliveries())[0]).toMatchObject({ state: "skipped", reason: "payload.items is empty" });
  });

  it("with more items than hooks.maxFanOut is 413, and none of them is accepted", async () => {
    const before = (await gateway.deliveries())[0]?.id;
    const answer = await gateway.post("/hooks/many", { items: Array.from({ length: 201 }, () => "x") });
    expect(answer.status).toBe(413);
    expect((await gateway.deliveries())[0]?.id).toBe(before);
  });

  it("with one item that is wrong is refused as a whole", async () => {
    const before = (await gateway.deliveries())[0]?.id;
    const answer = await gateway.post("/hooks/many", { items: ["a", "  ", "c"] });
    expect([answer.status, answer.body["code"]]).toEqual([400, "INVALID_ACTION"]);
    expect((await gateway.deliveries())[0]?.id).toBe(before);
  });

  it.each([{ items: "a" }, {}])("without the array of forEach is skipped: %j", async (payload) => {
    expect((await gateway.post("/hooks/many", payload)).status).toBe(204);
    const reason = "payload.items must be an array.";
    expect((await gateway.deliveries())[0]).toMatchObject({ state: "skipped", reason });
  });

  it("carries the raw body and its safe headers into the store", async () => {
    const answer = await gateway.post("/hooks/agent-hook", { text: "stored" }, { "x-event": "push" });
    const delivery = await gateway.delivery(answer.body["deliveryId"]);
    expect(delivery).toMatchObject({
      route: "agent-hook",
      mappingId: "mapping-1",
      bodyBytes: JSON.stringify({ text: "stored" }).length,
      headers: { "x-event": "push", "content-type": "application/json" },
    });
    expect(delivery.headers).not.toHaveProperty("authorization");
  });
});

describe("a transform", () => {
  it("that returns null skips the call: 204, and a delivery that is skipped and says why", async () => {
    const answer = await gateway.post("/hooks/skips", { skip: true });
    expect([answer.status, answer.text]).toEqual([204, ""]);
    expect((await gateway.deliveries())[0]).toMatchObject({
      state: "skipped",
      reason: "the transform returned null",
      route: "skips",
      runIds: [],
    });
  });

  it("that returns undefined leaves the mapping's own action", async () => {
    expect((await gateway.post("/hooks/skips", { text: "kept" })).status).toBe(202);
    expect((await gateway.post("/hooks/skips", {})).status).toBe(400);
  });

  it.each(["throws", "rejects"])(
    "that %s is 500 TRANSFORM_FAILED; log and delivery say why, and the caller does not learn it",
    async (path) => {
      const answer = await gateway.post(`/hooks/${path}`, {});
      expect([answer.status, answer.body["code"]]).toEqual([500, "TRANSFORM_FAILED"]);
      expect(answer.text).not.toContain("secret of the operator");
      expect(gateway.errors.at(-1)).toContain("a secret of the operator");
      expect((await gateway.deliveries())[0]).toMatchObject({
        state: "failed",
        reason: expect.stringContaining("a secret of the operator"),
        route: path,
        runIds: [],
      });
    },
  );

  it("that returns no action is 500 TRANSFORM_FAILED", async () => {
    const answer = await gateway.post("/hooks/wrong", {});
    expect([answer.status, answer.body["code"]]).toEqual([500, "TRANSFORM_FAILED"]);
  });

  it("that fails claims no idempotency key: the same call is tried again", async () => {
    const headers = { "Idempotency-Key": "once" };
    const [first, second] = [
      await gateway.post("/hooks/throws", {}, headers),
      await gateway.post("/hooks/throws", {}, headers),
    ];
    expect([first.status, second.status]).toEqual([500, 500]);
    const [newest, before] = await gateway.deliveries();
    expect([newest?.state, before?.state]).toEqual(["failed", "failed"]);
  });
});

describe("spec 7: a payload that is not valid is answered 400 in words for the caller", () => {
  it.each([
    ["wake", {}, "text"],
    ["wake", { text: "  " }, "text"],
    ["wake", { text: 1 }, "text"],
    ["wake", { text: "x", mode: "later" }, "mode"],
    ["agent", {}, "message"],
    ["agent", { message: "" }, "message"],
    ["agent", { message: "x", name: 1 }, "name"],
    ["agent", { message: "x", agentId: [] }, "agentId"],
    ["agent", { message: "x", wakeMode: "soon" }, "wakeMode"],
    ["agent", { message: "x", deliver: "false" }, "deliver"],
    ["agent", { message: "x", channel: 1 }, "channel"],
    ["agent", { message: "x", to: {} }, "to"],
    ["agent", { message: "x", model: " " }, "model"],
    ["agent", { message: "x", thinking: true }, "thinking"],
    ["agent", { message: "x", timeoutSeconds: 0 }, "timeoutSeconds"],
    ["agent", { message: "x", timeoutSeconds: "10" }, "timeoutSeconds"],
  ])("POST /hooks/%s %j names %s", async (path, payload, field) => {
    const answer = await gateway.post(`/hooks/${path}`, payload);
    expect([answer.status, answer.body["code"], answer.body["ok"]]).toEqual([400, "INVALID_PAYLOAD", false]);
    expect(answer.body["error"]).toContain(field);
    expect(Object.keys(answer.body)).toEqual(["ok", "error", "code"]);
  });

  it("accepts null for a field that may be absent, and fields it does not know", async () => {
    const payload = { message: "x", name: null, agentId: null, to: null, model: null, deliver: false, other: 1 };
    expect((await gateway.post("/hooks/agent", payload)).status).toBe(202);
  });
});
