import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { call, github, githubHeaders, pushOf } from "./http/sender-calls.ts";
import { StatesGateway } from "./states-gateway.ts";

describe("each state of a delivery without a run of its own can be produced and seen through the API", () => {
  let states: StatesGateway;
  beforeAll(async () => {
    states = await StatesGateway.start();
  });
  afterEach(() => states.reset());
  afterAll(() => states[Symbol.asyncDispose]());

  describe("filtered", () => {
    const path = "/hooks/repository";

    it("by the name of its event", async () => {
      const body = pushOf("site");
      const { status, body: answer } = await github(states.gateway, body, { path, event: "star" });
      expect({ status, answer }).toMatchObject({ status: 200, answer: { ok: true, skipped: "filter" } });
      const { reason } = await states.seen(answer["deliveryId"], "filtered");
      expect(reason).toMatch(/events.*star/);
    });

    it("by a condition, with the value that it saw", async () => {
      const { reason } = await states.seen(await states.sent("large", { amount: 3 }), "filtered");
      expect(reason).toMatch(/when.*payload\.amount > 10.*3/);
    });

    it("by a condition over a field that is missing", async () => {
      const { reason } = await states.seen(await states.sent("large", { text: "no amount" }), "filtered");
      expect(reason).toMatch(/when.*amount/);
    });

    it("by who sent it", async () => {
      const { body } = await github(states.gateway, pushOf("site", "octocat"), { path });
      const { reason } = await states.seen(body["deliveryId"], "filtered");
      expect(reason).toMatch(/ignoreActors.*octocat/);
    });

    it("because a bot sent it", async () => {
      const { body } = await github(states.gateway, pushOf("site", "renovate", "Bot"), { path });
      const { reason } = await states.seen(body["deliveryId"], "filtered");
      expect(reason).toMatch(/ignoreBots.*renovate/);
    });
  });

  describe("skipped", () => {
    it("by a transform that makes nothing of it", async () => {
      expect((await states.gateway.post("/hooks/null", {})).status).toBe(204);
      const { id } = await states.newest();
      expect((await states.seen(id, "skipped")).reason).toMatch(/transform/);
    });

    it("because there is no item to run for", async () => {
      expect((await states.gateway.post("/hooks/each", { items: [] })).status).toBe(204);
      const { id } = await states.newest();
      expect((await states.seen(id, "skipped")).reason).toMatch(/items is empty/);
    });

    it("because an earlier run is still open", async () => {
      const go = states.holdBack("Message one.");
      const first = await states.sent("skip", { text: "one" });
      const { body } = await states.gateway.post("/hooks/skip", { text: "two" });
      expect(body).toMatchObject({ ok: true, skipped: "overlap" });
      expect((await states.seen(body["deliveryId"], "skipped")).reason).toMatch(/overlap: "skip"/);
      go();
      await states.seen(first, "done");
    });

    it("because a newer call took its place", async () => {
      const go = states.holdBack("Message first.");
      const first = await states.sent("latest", { text: "first" });
      await states.seen(first, "running");
      const second = await states.sent("latest", { text: "second" });
      const third = await states.sent("latest", { text: "third" });
      const { reason, runs } = await states.seen(second, "skipped");
      expect(reason).toMatch(/overlap: "latest"/);
      expect(runs[0]).toMatchObject({ state: "skipped", attempts: [] });
      go();
      await states.seen(first, "done");
      await states.seen(third, "done");
    });

    it("because it waited longer than it may", async () => {
      const go = states.holdBack("Message slow.");
      const slow = await states.sent("shared", { text: "slow" });
      const { reason, runs } = await states.seen(await states.sent("young", { text: "late" }), "skipped");
      expect(reason).toMatch(/maxAgeSeconds/);
      expect(runs[0]).toMatchObject({ state: "skipped", attempts: [] });
      go();
      await states.seen(slow, "done");
    });
  });

  describe("duplicate", () => {
    async function seenDuplicateOf(first: unknown): Promise<void> {
      const { id, relatedTo } = await states.newest();
      expect(id).not.toBe(first);
      expect(relatedTo).toEqual({ how: "duplicate", deliveryId: first });
      expect(await states.seen(id, "duplicate")).toMatchObject({ runs: [], bodyBytes: 0 });
    }

    it("by the sender's id", async () => {
      const send = (repository: string) =>
        github(states.gateway, pushOf(repository), { path: "/hooks/repository", id: "d-1" });
      const first = (await send("one")).body["deliveryId"];
      expect((await send("two")).body["deliveryId"]).toBe(first);
      await seenDuplicateOf(first);
    });

    it("by the caller's idempotency key", async () => {
      const send = () => states.gateway.post("/hooks/shared", { text: "once" }, { "idempotency-key": "once" });
      const first = (await send()).body["deliveryId"];
      expect((await send()).body["deliveryId"]).toBe(first);
      await seenDuplicateOf(first);
    });

    it("by a signature that was used before", async () => {
      const body = pushOf("signed-once");
      const send = (id: string) =>
        call(states.gateway, "/hooks/repository", { body, headers: githubHeaders(body, { id, event: "push" }) });
      const first = (await send("d-2")).body["deliveryId"];
      expect((await send("d-3")).body["deliveryId"]).toBe(first);
      await seenDuplicateOf(first);
    });
  });

  it("queued, as the run that coalesces calls until it is due; coalesced, as a call that became a part of it", async () => {
    const first = await states.sent("gathering", { text: "one" });
    const gathering = await states.onlyRun(first, "queued");
    expect(Date.parse(gathering.dueAt!)).toBeGreaterThan(0);
    const { status, body } = await states.gateway.post("/hooks/gathering", { text: "two" });
    expect(status).toBe(202);
    expect(body).toMatchObject({ coalesced: true, runId: gathering.id });
    const { relatedTo } = await states.seen(body["deliveryId"], "coalesced");
    expect(relatedTo).toEqual({ how: "coalesced", deliveryId: first });
    states.gateway.advance(3_600_000);
    await states.gateway.restart();
    expect(await states.onlyRun(first, "done")).toMatchObject({ calls: 2 });
  });
});
