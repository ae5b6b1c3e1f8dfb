import { describe, expect, it, vi } from "vitest";
import { ModeledGateway, SOON } from "./modeled-gateway.ts";

const mapping = {
  id: "builds",
  match: { path: "builds" },
  messageTemplate: "build {{n}}",
  deliver: false,
  wakeMode: "next-heartbeat",
};

const NAMED = { allowRequestSessionKey: true, allowedSessionKeyPrefixes: ["hook:"] };

const startWith = (changes: object, hooks: object = {}) =>
  ModeledGateway.start({ mappings: [{ ...mapping, ...changes }], ...hooks });

describe('overlap: "skip"', () => {
  it("drops a call while a run of the mapping is open, and says so", async () => {
    await using modeled = await startWith({ overlap: "skip" });
    modeled.hold();
    const first = await modeled.gateway.post("/hooks/builds", { n: 1 });
    expect(first.status).toBe(202);
    const second = await modeled.gateway.post("/hooks/builds", { n: 2 });
    const id = second.body["deliveryId"];
    expect([second.status, second.body]).toEqual([200, { ok: true, deliveryId: id, skipped: "overlap" }]);
    const delivery = await modeled.gateway.delivery(id);
    expect(delivery).toMatchObject({ state: "skipped" });
    expect(delivery.reason).toMatch(/open/);
    await vi.waitFor(() => expect(modeled.model.requests).toHaveLength(1), SOON);
  });

  it("takes the next call once the run has ended", async () => {
    await using modeled = await startWith({ overlap: "skip" });
    const first = await modeled.gateway.post("/hooks/builds", { n: 1 });
    await modeled.gateway.ended(first.body["deliveryId"]);
    expect((await modeled.gateway.post("/hooks/builds", { n: 2 })).status).toBe(202);
  });

  it("answers a repeat of a dropped call as the first time", async () => {
    await using modeled = await startWith({ overlap: "skip" });
    modeled.hold();
    await modeled.gateway.post("/hooks/builds", { n: 1 });
    const key = { "idempotency-key": "dropped" };
    const dropped = await modeled.gateway.post("/hooks/builds", { n: 2 }, key);
    const again = await modeled.gateway.post("/hooks/builds", { n: 2 }, key);
    expect([again.status, again.text]).toEqual([dropped.status, dropped.text]);
    expect(dropped.body["skipped"]).toBe("overlap");
  });

  it("looks at each session by itself when the mapping names one", async () => {
    const changes = { overlap: "skip", sessionKey: "hook:{{branch}}" };
    await using modeled = await startWith(changes, NAMED);
    modeled.hold();
    const post = (branch: string) => modeled.gateway.post("/hooks/builds", { n: 1, branch });
    expect([(await post("a")).status, (await post("b")).status, (await post("a")).status]).toEqual([202, 202, 200]);
  });
});

describe('overlap: "latest"', () => {
  it("lets the newest call take the place of those that have not begun", async () => {
    await using modeled = await startWith({ overlap: "latest" }, { concurrency: 1 });
    const letGo = modeled.model.holdBack();
    const answers = [await modeled.gateway.post("/hooks/builds", { n: 1 })];
    await vi.waitFor(() => expect(modeled.model.requests).toHaveLength(1), SOON);
    for (const n of [2, 3]) answers.push(await modeled.gateway.post("/hooks/builds", { n }));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
    letGo();
    const ended = await Promise.all(answers.map(({ body }) => modeled.gateway.ended(body["deliveryId"])));
    expect(ended.map(({ state }) => state)).toEqual(["done", "skipped", "done"]);
    expect(ended[1]?.reason).toMatch(/newer call/);
    expect(modeled.model.prompts.filter((prompt) => prompt.includes("build 2"))).toEqual([]);
    expect(modeled.model.requests).toHaveLength(2);
  });

  it("answers a caller who waits for the run that gave way", async () => {
    await using modeled = await startWith(
      { overlap: "latest", respond: "result" },
      { concurrency: 1, waitSeconds: 60 },
    );
    const letGo = modeled.model.holdBack();
    const answers = [modeled.gateway.post("/hooks/builds", { n: 1 })];
    await vi.waitFor(() => expect(modeled.model.requests).toHaveLength(1), SOON);
    answers.push(modeled.gateway.post("/hooks/builds", { n: 2 }));
    await vi.waitFor(async () => expect(await modeled.gateway.deliveries()).toHaveLength(2), SOON);
    answers.push(modeled.gateway.post("/hooks/builds", { n: 3 }));
    await vi.waitFor(async () => expect(await modeled.gateway.deliveries()).toHaveLength(3), SOON);
    letGo();
    const bodies = (await Promise.all(answers)).map(({ body }) => body);
    expect(bodies.map(({ state }) => state)).toEqual(["done", "skipped", "done"]);
    expect(bodies[1]).toMatchObject({ ok: false, status: null, error: expect.stringMatching(/newer call/) as unknown });
  });
});

describe("order and overlap as they are without a word", () => {
  it("queue every call: runs of a session go one after the other", async () => {
    await using modeled = await startWith({ sessionKey: "hook:one" });
    modeled.model.delayMs = 200;
    const answers = [];
    for (const n of [1, 2, 3]) answers.push(await modeled.gateway.post("/hooks/builds", { n }));
    for (const { body } of answers) expect((await modeled.gateway.ended(body["deliveryId"])).state).toBe("done");
    expect(modeled.model.prompts.map((prompt) => /build (\d)/.exec(prompt)?.[1])).toEqual(["1", "2", "3"]);
  });

  it('let runs of a session go at once with order: "none"', async () => {
    await using modeled = await startWith({ sessionKey: "hook:one", order: "none" }, { concurrency: 3 });
    modeled.hold();
    for (const n of [1, 2, 3]) await modeled.gateway.post("/hooks/builds", { n });
    await vi.waitFor(() => expect(modeled.model.requests).toHaveLength(3), SOON);
  });
});

describe("maxAgeSeconds", () => {
  it("drops a run that has not begun in that time, with the reason", async () => {
    await using modeled = await startWith({ maxAgeSeconds: 1, sessionKey: "hook:one" });
    const letGo = modeled.model.holdBack();
    const first = await modeled.gateway.post("/hooks/builds", { n: 1 });
    await vi.waitFor(() => expect(modeled.model.requests).toHaveLength(1), SOON);
    const late = await modeled.gateway.post("/hooks/builds", { n: 2 });
    const delivery = await modeled.gateway.ended(late.body["deliveryId"]);
    expect(delivery).toMatchObject({ state: "skipped", reason: expect.any(String) as unknown });
    letGo();
    expect((await modeled.gateway.ended(first.body["deliveryId"])).state).toBe("done");
  });
});
