import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HOOK_TOKEN, RunningGateway } from "./running-gateway.ts";
import type { HookAnswer } from "./running-gateway.ts";

const OTHER_TOKEN = "another-token-of-the-http-tests";
const HOOKS = {
  token: [HOOK_TOKEN, OTHER_TOKEN],
  mappings: [
    { match: { path: "mapped" }, messageTemplate: "x {{id}}", deliver: false },
    { match: { path: "other" }, messageTemplate: "y {{id}}", deliver: false },
    { match: { path: "many" }, forEach: "items", messageTemplate: "{{items[0]}}", deliver: false },
    { match: { path: "skips" }, transform: { module: "skip.mjs" } },
  ],
};

let gateway: RunningGateway;
let keys = 0;
beforeAll(async () => {
  gateway = await RunningGateway.start({ hooks: HOOKS, transforms: { "skip.mjs": "export default () => null;" } });
});
afterAll(() => gateway[Symbol.asyncDispose]());

/** A key that no other test uses. */
function newKey(): Record<string, string> {
  return { "idempotency-key": `key-${++keys}` };
}

function seen({ status, text }: HookAnswer): [number, string] {
  return [status, text];
}

/** The newest delivery that repeats no other. */
async function newestOwn(): Promise<string | undefined> {
  return (await gateway.firsts())[0]?.id;
}

const QUIET = { message: "x", deliver: false, wakeMode: "next-heartbeat" };

describe("a repeated Idempotency-Key", () => {
  it.each([
    ["/hooks/wake", { text: "x", mode: "next-heartbeat" }],
    ["/hooks/agent", QUIET],
    ["/hooks/mapped", { id: 1 }],
    ["/hooks/many", { items: ["a", "b"] }],
    ["/hooks/skips", {}],
  ])("is answered with the first answer, byte for byte, and makes no run: %s", async (path, payload) => {
    const key = newKey();
    const first = await gateway.post(path, payload, key);
    const newest = await newestOwn();
    for (let round = 0; round < 3; round++) expect(seen(await gateway.post(path, payload, key))).toEqual(seen(first));
    expect(await newestOwn()).toBe(newest);
    const [repeat] = await gateway.deliveries();
    expect(repeat).toMatchObject({
      state: "duplicate",
      relatedTo: { how: "duplicate", deliveryId: newest },
      runIds: [],
    });
  });

  it("is answered with the first answer after a restart, and runs nothing again", async () => {
    const [wakeKey, agentKey, skipKey] = [newKey(), newKey(), newKey()];
    const calls = () =>
      Promise.all([
        gateway.post("/hooks/wake", { text: "x", mode: "next-heartbeat" }, wakeKey),
        gateway.post("/hooks/agent", QUIET, agentKey),
        gateway.post("/hooks/skips", {}, skipKey),
      ]);
    const first = await calls();
    const newest = await newestOwn();
    await gateway.restart();
    expect((await calls()).map(seen)).toEqual(first.map(seen));
    expect(await newestOwn()).toBe(newest);
    const { runs } = await gateway.ended(first[1].body["deliveryId"]);
    expect(runs[0]!.attempts.filter(({ status }) => status === "ok")).toHaveLength(1);
  });

  it("is answered as the first call was, also when the configuration now says otherwise", async () => {
    await using own = await RunningGateway.start({
      hooks: HOOKS,
      transforms: { "skip.mjs": "export default () => null;" },
    });
    const key = newKey();
    const first = await own.post("/hooks/mapped", { id: 1 }, key);
    own.writeHooks({ ...HOOKS, mappings: [{ match: { path: "mapped" }, action: "wake", textTemplate: "now a wake" }] });
    expect(await own.reload()).toMatchObject({ applied: true });
    expect(seen(await own.post("/hooks/mapped", { id: 1 }, key))).toEqual(seen(first));
    expect((await own.post("/hooks/mapped", { id: 1 })).status).toBe(200);
  });

  it("is answered as the first call was, also when its transform fails by now, and nothing of it is kept to run", async () => {
    await using own = await RunningGateway.start({
      hooks: { mappings: [{ match: { path: "made" }, transform: { module: "made.mjs" }, deliver: false }] },
      transforms: { "made.mjs": 'export default () => ({ message: "made" });' },
    });
    const key = newKey();
    const post = (payload: object) => own.post("/hooks/made", payload, key);
    const first = await post({ id: 1 });
    expect(first.status).toBe(202);
    await own.ended(first.body["deliveryId"]);
    own.writeTransform("made.mjs", 'export default () => { throw new Error("broken"); };');
    expect(await own.reload()).toMatchObject({ applied: true });
    expect((await own.post("/hooks/made", { id: 1 })).status).toBe(500);
    expect(seen(await post({ id: 1 }))).toEqual(seen(first));
    await own.restart();
    expect(seen(await post({ id: 1 }))).toEqual(seen(first));
    const conflict = await post({ id: 2 });
    expect([conflict.status, conflict.body["code"]]).toEqual([422, "IDEMPOTENCY_CONFLICT"]);
    const states = (await own.deliveries()).map(({ state }) => state);
    expect(states).toEqual(["duplicate", "duplicate", "failed", "done"]);
  });

  it("with another body is 422, and accepts nothing", async () => {
    const key = newKey();
    await gateway.post("/hooks/agent", QUIET, key);
    const newest = (await gateway.deliveries())[0]?.id;
    const answer = await gateway.post("/hooks/agent", { ...QUIET, message: "y" }, key);
    expect([answer.status, answer.body["code"]]).toEqual([422, "IDEMPOTENCY_CONFLICT"]);
    expect((await gateway.deliveries())[0]?.id).toBe(newest);
  });

  it("is another one on another route", async () => {
    const key = newKey();
    const mapped = await gateway.post("/hooks/mapped", { id: 1 }, key);
    const other = await gateway.post("/hooks/other", { id: 1 }, key);
    expect(other.status).toBe(202);
    expect(other.body["deliveryId"]).not.toBe(mapped.body["deliveryId"]);
  });

  it("is another one with another credential", async () => {
    const key = newKey();
    const first = await gateway.post("/hooks/mapped", { id: 1 }, key);
    const other = await gateway.post("/hooks/mapped", { id: 1 }, { ...key, authorization: `Bearer ${OTHER_TOKEN}` });
    expect(other.status).toBe(202);
    expect(other.body["deliveryId"]).not.toBe(first.body["deliveryId"]);
    const carried = await gateway.post(
      "/hooks/mapped",
      { id: 1 },
      { ...key, authorization: "", "x-service-token": HOOK_TOKEN },
    );
    expect(seen(carried)).toEqual(seen(first));
  });

  it("may be in x-service-idempotency-key, of which the standard header goes first", async () => {
    const key = `key-${++keys}`;
    const first = await gateway.post("/hooks/mapped", { id: 1 }, { "x-service-idempotency-key": key });
    expect(seen(await gateway.post("/hooks/mapped", { id: 1 }, { "idempotency-key": key }))).toEqual(seen(first));
    const both = { "idempotency-key": `${key}-other`, "x-service-idempotency-key": key };
    expect((await gateway.post("/hooks/mapped", { id: 1 }, both)).body["deliveryId"]).not.toBe(
      first.body["deliveryId"],
    );
  });

  it("may be in the payload of /agent, and only there", async () => {
    const payload = { ...QUIET, idempotencyKey: `key-${++keys}` };
    const first = await gateway.post("/hooks/agent", payload);
    expect(seen(await gateway.post("/hooks/agent", payload))).toEqual(seen(first));
    for (const [path, fields] of [
      ["/hooks/mapped", { id: 1 }],
      ["/hooks/wake", { text: "x", mode: "next-heartbeat" }],
    ] as const) {
      const once = await gateway.post(path, { ...fields, idempotencyKey: "in-the-payload" });
      const twice = await gateway.post(path, { ...fields, idempotencyKey: "in-the-payload" });
      expect(twice.body["deliveryId"]).not.toBe(once.body["deliveryId"]);
    }
  });

  it("counts as absent when it is empty, and is 400 when it is no key", async () => {
    const post = (key: string) => gateway.post("/hooks/mapped", { id: 1 }, { "idempotency-key": key });
    expect((await post("")).body["deliveryId"]).not.toBe((await post("")).body["deliveryId"]);
    for (const key of ["x".repeat(257), "a\tb", "\u00e4"]) {
      const answer = await post(key);
      expect([answer.status, answer.body["code"]]).toEqual([400, "INVALID_IDEMPOTENCY_KEY"]);
    }
    expect((await post("x".repeat(256))).status).toBe(202);
    expect((await gateway.post("/hooks/agent", { ...QUIET, idempotencyKey: 42 })).status).toBe(400);
  });

  it("lapses after hooks.idempotencyTtl, 24 hours by default", async () => {
    await using own = await RunningGateway.start();
    own.stopClock();
    const post = () => own.post("/hooks/agent", QUIET, { "idempotency-key": "daily" });
    const first = await post();
    own.advance(24 * 60 * 60 * 1_000 - 1);
    expect(seen(await post())).toEqual(seen(first));
    own.advance(1);
    expect((await post()).body["deliveryId"]).not.toBe(first.body["deliveryId"]);
  });

  it("claims nothing for a call that was refused", async () => {
    const key = newKey();
    expect((await gateway.post("/hooks/agent", { ...QUIET, channel: "pigeon", deliver: true }, key)).status).toBe(400);
    expect((await gateway.post("/hooks/agent", QUIET, key)).status).toBe(202);
  });

  it("of 50 calls at once is accepted once: one run, and 50 times the same answer", async () => {
    const key = newKey();
    const answers = await Promise.all(Array.from({ length: 50 }, () => gateway.post("/hooks/agent", QUIET, key)));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(answers[0]!.status).toBe(202);
    const id = await newestOwn();
    expect(id).toBe(answers[0]!.body["deliveryId"]);
    const repeats = (await gateway.deliveries()).filter(({ relatedTo }) => relatedTo?.deliveryId === id);
    expect(repeats).toHaveLength(49);
    const { runs } = await gateway.ended(id);
    expect(runs).toHaveLength(1);
    expect(runs[0]!.attempts).toHaveLength(1);
  });

  it("of 50 different bodies at once is accepted once, and the others are 422", async () => {
    const key = newKey();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) => gateway.post("/hooks/agent", { ...QUIET, message: `${at}` }, key)),
    );
    const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
    expect(statuses).toEqual([202, ...Array.from({ length: 49 }, () => 422)]);
  });
});
