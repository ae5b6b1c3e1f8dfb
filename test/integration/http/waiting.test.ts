import { describe, expect, it, vi } from "vitest";
import { wireRequest } from "./http-connection.ts";
import { AGENT_CALL, ModeledGateway, SOON } from "./modeled-gateway.ts";
import { AUTHORIZED } from "./running-gateway.ts";
import type { RunningGateway } from "./running-gateway.ts";

const ID = expect.stringMatching(/^[A-Za-z0-9_-]{8,}$/) as unknown;
const WAITING_CALL = { ...AGENT_CALL, wait: true };
const AT_ONCE = { ok: true, runId: ID, deliveryId: ID };
const LONG = { waitSeconds: 60 };

/** Sends a call whose answer is not read yet. */
async function sendWaiting(gateway: RunningGateway, payload: object = WAITING_CALL, target = "/hooks/agent") {
  const connection = await gateway.connect();
  connection.send(wireRequest({ target, headers: [AUTHORIZED], body: JSON.stringify(payload) }));
  return connection;
}

describe("a caller who waits", () => {
  it("gets status, reply and delivery of the run that its call became", async () => {
    await using modeled = await ModeledGateway.start(LONG);
    const { status, body } = await modeled.gateway.post("/hooks/agent", WAITING_CALL);
    expect(status).toBe(200);
    expect(body).toEqual({
      ok: true,
      runId: ID,
      deliveryId: ID,
      state: "done",
      status: "ok",
      reply: "The model has read it.",
      delivery: "none",
    });
    const delivery = await modeled.gateway.delivery(body["deliveryId"]);
    expect([delivery.state, delivery.runIds]).toEqual(["done", [body["runId"]]]);
  });

  it("gets the whole reply, of which less is kept", async () => {
    await using modeled = await ModeledGateway.start(LONG);
    modeled.model.reply = "word ".repeat(2_000).trim();
    const { body } = await modeled.gateway.post("/hooks/agent", WAITING_CALL);
    expect(body["reply"]).toBe(modeled.model.reply);
    const [run] = (await modeled.gateway.delivery(body["deliveryId"])).runs;
    expect(run?.reply).toHaveLength(2_000);
  });

  it("gets a run that failed with ok false and the reason", async () => {
    await using modeled = await ModeledGateway.start({ ...LONG, retry: { attempts: 1 } });
    modeled.hold();
    const { status, body } = await modeled.gateway.post("/hooks/agent", { ...WAITING_CALL, timeoutSeconds: 0.05 });
    expect(status).toBe(200);
    expect(body).toMatchObject({ ok: false, state: "failed", status: "timeout", reply: null });
    expect(body).toMatchObject({ code: "RUN_TIMED_OUT", error: "The agent's run took longer than it may." });
  });

  it("is answered as usual when the time is up, and its run continues", async () => {
    await using modeled = await ModeledGateway.start({ waitSeconds: 0.1 });
    const letGo = modeled.model.holdBack();
    const answer = await modeled.gateway.post("/hooks/agent", WAITING_CALL);
    expect([answer.status, answer.body]).toEqual([202, AT_ONCE]);
    letGo();
    expect((await modeled.gateway.ended(answer.body["deliveryId"])).state).toBe("done");
  });

  it("may name a time of its own", async () => {
    await using modeled = await ModeledGateway.start(LONG);
    modeled.hold();
    const answer = await modeled.gateway.post("/hooks/agent", { ...WAITING_CALL, waitSeconds: 0.1 });
    expect(answer.status).toBe(202);
  });

  it("is refused when its wording is not understood, before anything is stored", async () => {
    await using modeled = await ModeledGateway.start(LONG);
    for (const wrong of [{ wait: "yes" }, { wait: true, waitSeconds: "long" }]) {
      const answer = await modeled.gateway.post("/hooks/agent", { ...AGENT_CALL, ...wrong });
      expect([answer.status, answer.body["code"]]).toEqual([400, "INVALID_PAYLOAD"]);
    }
    expect(await modeled.gateway.deliveries()).toEqual([]);
    expect((await modeled.gateway.post("/hooks/agent", { ...AGENT_CALL, wait: false })).status).toBe(202);
  });

  it("does not count among the requests in progress", async () => {
    await using modeled = await ModeledGateway.start({ ...LONG, maxInFlight: 1, concurrency: 8 });
    modeled.hold();
    await sendWaiting(modeled.gateway);
    await vi.waitFor(() => expect(modeled.model.requests).toHaveLength(1), SOON);
    for (let call = 0; call < 3; call++) {
      expect((await modeled.gateway.post("/hooks/agent", AGENT_CALL)).status).toBe(202);
    }
  });

  it("waits only as one of hooks.maxWaiting; others are answered at once", async () => {
    await using modeled = await ModeledGateway.start({ ...LONG, maxWaiting: 1 });
    modeled.hold();
    await sendWaiting(modeled.gateway);
    await vi.waitFor(() => expect(modeled.model.requests).toHaveLength(1), SOON);
    const answer = await modeled.gateway.post("/hooks/agent", WAITING_CALL);
    expect([answer.status, answer.body]).toEqual([202, AT_ONCE]);
  });

  it("makes room when it goes away, and its call is carried out all the same", async () => {
    await using modeled = await ModeledGateway.start({ ...LONG, maxWaiting: 1 });
    modeled.model.delayMs = 1_000;
    const gone = await sendWaiting(modeled.gateway);
    await vi.waitFor(() => expect(modeled.model.requests).toHaveLength(1), SOON);
    gone.destroy();
    modeled.model.delayMs = 0;
    await vi.waitFor(
      async () => expect((await modeled.gateway.post("/hooks/agent", WAITING_CALL)).status).toBe(200),
      SOON,
    );
    const deliveries = await modeled.gateway.deliveries();
    expect((await modeled.gateway.ended(deliveries.at(-1)?.id)).state).toBe("done");
  });

  it("learns at a shutdown that the call was accepted", async () => {
    await using modeled = await ModeledGateway.start(LONG, { shutdownSeconds: 1 });
    modeled.hold();
    const waiting = await sendWaiting(modeled.gateway);
    await vi.waitFor(() => expect(modeled.model.requests).toHaveLength(1), SOON);
    const stopped = modeled.gateway.stop();
    const answer = await waiting.answer();
    expect([answer.status, JSON.parse(answer.text)]).toEqual([202, AT_ONCE]);
    await stopped;
  });

  it("of a call that was made before gets the result of the first one's run", async () => {
    await using modeled = await ModeledGateway.start(LONG);
    modeled.model.delayMs = 300;
    const key = { "idempotency-key": "once" };
    const both = await Promise.all([
      modeled.gateway.post("/hooks/agent", WAITING_CALL, key),
      modeled.gateway.post("/hooks/agent", WAITING_CALL, key),
    ]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    expect(both[0].body).toEqual(both[1].body);
    const later = await modeled.gateway.post("/hooks/agent", WAITING_CALL, key);
    expect([later.status, later.body]).toEqual([200, both[0].body]);
    expect(modeled.model.requests).toHaveLength(1);
  });

  it("many of whom share one connection are answered in the order of their calls", async () => {
    await using modeled = await ModeledGateway.start({ ...LONG, concurrency: 16 });
    modeled.model.delayMs = 50;
    const connection = await modeled.gateway.connect();
    const body = JSON.stringify(WAITING_CALL);
    for (let call = 0; call < 12; call++) {
      connection.send(wireRequest({ target: "/hooks/agent", headers: [AUTHORIZED], body }));
    }
    const answers = await connection.answers(12);
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 12 }, () => 200));
    expect(new Set(answers.map(({ text }) => (JSON.parse(text) as { runId: string }).runId)).size).toBe(12);
  });
});

describe('a mapping with respond: "result"', () => {
  const mapping = { match: { path: "in" }, messageTemplate: "{{text}}", deliver: false, wakeMode: "next-heartbeat" };

  it("makes its callers wait without asking them", async () => {
    await using modeled = await ModeledGateway.start({ ...LONG, mappings: [{ ...mapping, respond: "result" }] });
    const { status, body } = await modeled.gateway.post("/hooks/in", { text: "a" });
    expect([status, body]).toMatchObject([200, { ok: true, state: "done", reply: "The model has read it." }]);
  });

  it("waits as long as the mapping says before what the block says", async () => {
    const mappings = [{ ...mapping, respond: "result", waitSeconds: 0.1 }];
    await using modeled = await ModeledGateway.start({ ...LONG, mappings });
    modeled.hold();
    expect((await modeled.gateway.post("/hooks/in", { text: "a" })).status).toBe(202);
  });

  it("answers with a list when the call became several runs, once the last has ended", async () => {
    const many = { ...mapping, messageTemplate: "{{items[0]}}", forEach: "items", respond: "result" };
    await using modeled = await ModeledGateway.start({ ...LONG, mappings: [many] });
    const { status, body } = await modeled.gateway.post("/hooks/in", { items: ["a", "b"] });
    expect(status).toBe(200);
    const done = { runId: ID, state: "done", status: "ok", reply: "The model has read it.", delivery: "none" };
    expect(body).toEqual({ ok: true, deliveryId: ID, results: [done, done] });
  });

  it("answers a call that has no run as usual", async () => {
    const none = { ...mapping, forEach: "items", respond: "result" };
    await using modeled = await ModeledGateway.start({ ...LONG, mappings: [none] });
    expect((await modeled.gateway.post("/hooks/in", { items: [] })).status).toBe(204);
  });

  it("gives a call that became a part of a run that run's result", async () => {
    const hooksWith = (windowSeconds: number) => ({
      ...LONG,
      mappings: [{ ...mapping, respond: "result", coalesce: { windowSeconds } }],
    });
    await using modeled = await ModeledGateway.start(hooksWith(3_600));
    const calls = [modeled.gateway.post("/hooks/in", { text: "a" })];
    await vi.waitFor(async () => expect(await modeled.gateway.deliveries()).toHaveLength(1), SOON);
    // The next call puts the run off by the window that is active then.
    modeled.gateway.writeHooks(hooksWith(0.1));
    expect((await modeled.gateway.reload()).applied).toBe(true);
    calls.push(modeled.gateway.post("/hooks/in", { text: "b" }));
    const [first, second] = (await Promise.all(calls)) as [Answered, Answered];
    expect([first.status, second.status]).toEqual([200, 200]);
    expect(second.body).toMatchObject({ ok: true, state: "done", coalesced: true, runId: first.body["runId"] });
    expect(second.body["deliveryId"]).not.toBe(first.body["deliveryId"]);
    expect(first.body).not.toHaveProperty("coalesced");
    expect(modeled.model.requests).toHaveLength(1);
  });
});

type Answered = Awaited<ReturnType<RunningGateway["post"]>>;
