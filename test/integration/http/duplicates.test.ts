import { describe, expect, it, vi } from "vitest";
import { AGENT_CALL, ModeledGateway, SOON } from "./modeled-gateway.ts";
import { RunningGateway } from "./running-gateway.ts";
import { github, GITHUB_SECRET, pushOf } from "./sender-calls.ts";

const GITHUB = { presets: ["github"], github: { secret: GITHUB_SECRET, deliver: false, wakeMode: "next-heartbeat" } };
const KEY = { "idempotency-key": "once" };

describe("a repeat", () => {
  it("by the caller's key is listed as a duplicate of the first, without its request", async () => {
    await using gateway = await RunningGateway.start();
    const first = await gateway.post("/hooks/agent", AGENT_CALL, KEY);
    const again = await gateway.post("/hooks/agent", AGENT_CALL, KEY);
    expect([again.status, again.text]).toEqual([first.status, first.text]);
    const [repeat, original, ...none] = await gateway.deliveries();
    expect(none).toEqual([]);
    const relatedTo = { how: "duplicate", deliveryId: first.body["deliveryId"] };
    expect(repeat).toMatchObject({ state: "duplicate", route: "agent", relatedTo, runIds: [] });
    expect(original).toMatchObject({ id: first.body["deliveryId"], relatedTo: null });
    expect(await gateway.delivery(repeat?.id)).toMatchObject({ bodyBytes: 0, runs: [] });
  });

  it("by the sender's id is one too, whatever it says besides", async () => {
    await using gateway = await RunningGateway.start({ hooks: GITHUB });
    const first = await github(gateway, pushOf("site"), { id: "same" });
    const again = await github(gateway, pushOf("other"), { id: "same" });
    expect([again.status, again.text]).toEqual([first.status, first.text]);
    const [repeat] = await gateway.deliveries();
    expect(repeat).toMatchObject({
      state: "duplicate",
      relatedTo: { how: "duplicate", deliveryId: first.body["deliveryId"] },
      event: "push",
      sender: "ada",
    });
  });

  it("that comes at the same moment makes no second run", async () => {
    await using gateway = await RunningGateway.start({ hooks: GITHUB });
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => github(gateway, pushOf("site"), { id: "at-once" })),
    );
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    const states = (await gateway.deliveries()).map(({ state }) => state);
    expect(states.filter((state) => state === "duplicate")).toHaveLength(9);
    expect((await gateway.firsts()).flatMap(({ runIds }) => runIds)).toHaveLength(1);
  });

  it("is one too when the transform fails by now, so that a replay of what has failed runs nothing twice", async () => {
    const mappings = [{ preset: "github", match: { path: "code" }, transform: { module: "code.mjs" }, deliver: false }];
    await using gateway = await RunningGateway.start({
      hooks: { github: { secret: GITHUB_SECRET }, mappings },
      transforms: { "code.mjs": 'export default () => ({ message: "a push" });' },
    });
    const push = (id: string, name = "site") => github(gateway, pushOf(name), { path: "/hooks/code", id });
    const first = await push("same");
    expect(first.status).toBe(200);
    await gateway.ended(first.body["deliveryId"]);
    gateway.writeTransform("code.mjs", 'export default () => { throw new Error("broken"); };');
    expect(await gateway.reload()).toMatchObject({ applied: true });
    // By what was signed, and by GitHub's id.
    for (const again of [await push("other"), await push("same", "elsewhere")]) {
      expect([again.status, again.text]).toEqual([first.status, first.text]);
    }
    const fresh = await push("new", "fresh");
    expect([fresh.status, fresh.body["code"]]).toEqual([500, "TRANSFORM_FAILED"]);
    const deliveries = await gateway.deliveries();
    expect(deliveries.map(({ state }) => state)).toEqual(["failed", "duplicate", "duplicate", "done"]);

    gateway.writeTransform("code.mjs", 'export default () => ({ message: "mended" });');
    expect(await gateway.reload()).toMatchObject({ applied: true });
    const bulk = await gateway.api("/deliveries/replay", { filter: { state: "failed" } });
    expect(bulk).toMatchObject({ ok: true, matched: 1, deliveries: [{ outcome: "replayed" }] });
    const [replay, ...before] = await gateway.firsts();
    expect(replay?.relatedTo).toEqual({ how: "replay", deliveryId: deliveries[0]?.id });
    expect(before).toHaveLength(2);
  });

  it("of a call that failed is accepted again, so that its sender can retry", async () => {
    await using modeled = await ModeledGateway.start({ retry: { attempts: 1 } });
    modeled.hold();
    const failing = { ...AGENT_CALL, timeoutSeconds: 0.05 };
    const first = await modeled.gateway.post("/hooks/agent", failing, KEY);
    await vi.waitFor(
      async () => expect((await modeled.gateway.delivery(first.body["deliveryId"])).state).toBe("failed"),
      SOON,
    );
    const second = await modeled.gateway.post("/hooks/agent", failing, KEY);
    expect([second.status, second.body["deliveryId"] === first.body["deliveryId"]]).toEqual([202, false]);
    expect(await modeled.gateway.firsts()).toHaveLength(2);
  });

  it("is none without an id: the body is no substitute", async () => {
    await using gateway = await RunningGateway.start();
    await gateway.post("/hooks/agent", AGENT_CALL);
    await gateway.post("/hooks/agent", AGENT_CALL);
    expect((await gateway.firsts()).flatMap(({ runIds }) => runIds)).toHaveLength(2);
  });
});
