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

  it("of a call that failed is accepted anew, so that its sender can try again", async () => {
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

  it("is none without an id: nobody guesses by the body", async () => {
    await using gateway = await RunningGateway.start();
    await gateway.post("/hooks/agent", AGENT_CALL);
    await gateway.post("/hooks/agent", AGENT_CALL);
    expect((await gateway.firsts()).flatMap(({ runIds }) => runIds)).toHaveLength(2);
  });
});
