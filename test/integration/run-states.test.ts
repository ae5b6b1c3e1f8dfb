import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { StatesGateway } from "./states-gateway.ts";

vi.mock("../../src/dispatch/run/full-jitter.ts", () => import("./longest-delay.ts"));

describe("each state and each reason of a run can be produced and seen through the API", () => {
  let states: StatesGateway;
  beforeAll(async () => {
    states = await StatesGateway.start();
  });
  afterEach(() => states.reset());
  afterAll(() => states[Symbol.asyncDispose]());

  describe("queued", () => {
    it("while its mapping is paused by a person", async () => {
      expect(await states.gateway.api("/hooks/shared/pause", {})).toMatchObject({ ok: true, changed: true });
      const id = await states.sent("shared", { text: "paused" });
      await states.seen(id, "queued");
      expect(await states.pauseReason("shared")).toMatch(/operator/);
      expect((await states.gateway.delivery(id)).state).toBe("queued");
      expect(await states.gateway.api("/hooks/shared/resume", {})).toMatchObject({ ok: true, changed: true });
      await states.seen(id, "done");
    });

    it("while its mapping is paused since its budget is used up", async () => {
      await states.seen(await states.sent("limited", { text: "within" }), "done");
      const over = await states.sent("limited", { text: "over" });
      await states.seen(over, "queued");
      while ((await states.pauseReason("limited")) === undefined) await sleep(10);
      expect(await states.pauseReason("limited")).toMatch(/budget of 1 .* 60 minutes/);
      expect((await states.gateway.delivery(over)).state).toBe("queued");
      await states.gateway.api("/hooks/limited/resume", {});
      await states.seen(over, "done");
    });

    it("while it waits to be tried again, with the reason", async () => {
      states.answerWith({ status: 503 });
      const id = await states.sent("again", { text: "busy" });
      while ((await states.gateway.delivery(id)).runs[0]?.attempts.at(-1)?.status !== "error") await sleep(20);
      const { reason, dueAt } = await states.onlyRun(id, "queued");
      expect(reason).toMatch(/attempt 1 of 2 failed.*503/);
      expect(Date.parse(dueAt!)).toBeGreaterThan(0);
      await states.gateway.api(`/deliveries/${String(id)}/cancel`, {});
      await states.seen(id, "canceled");
    });
  });

  it("running, while the agent is asked", async () => {
    const go = states.holdBack("Message asked.");
    const id = await states.sent("told", { text: "asked" });
    expect(await states.onlyRun(id, "running")).toMatchObject({
      attempts: [{ number: 1, status: "running", endedAt: null }],
    });
    go();
    await states.seen(id, "done");
  });

  describe("done", () => {
    it.each([
      { path: "told", reply: "Told.", delivery: "sent", reason: null },
      { path: "told", reply: "NO_REPLY", delivery: "suppressed", reason: /NO_REPLY/ },
      { path: "shared", reply: "For nobody.", delivery: "none", reason: null },
      { path: "nobody", reply: "Told.", delivery: "no-target", reason: /not delivered/ },
    ])("with a reply $reply of $path that is $delivery", async ({ path, reply, delivery, reason }) => {
      states.answerWith({ reply });
      const run = await states.onlyRun(await states.sent(path, { text: "done" }), "done");
      expect(run).toMatchObject({ delivery, reply, attempts: [{ number: 1, status: "ok" }] });
      if (reason === null) expect(run.reason).toBeNull();
      else expect(run.reason).toMatch(reason);
    });

    it("with a reply that only the fallback took", async () => {
      states.answerPostsWith(400);
      states.answerWith({ reply: "Told." });
      const run = await states.onlyRun(await states.sent("backed", { text: "fallback" }), "done");
      expect(run).toMatchObject({ delivery: "fallback", reason: expect.stringMatching(/webhook.*400.*console/) });
    });

    it("as a wake", async () => {
      expect((await states.gateway.post("/hooks/wake", { text: "Wake up.", mode: "next-heartbeat" })).status).toBe(200);
      expect((await states.onlyRun((await states.newest()).id, "done")).spec.kind).toBe("wake");
    });
  });

  describe("failed", () => {
    it("by an error that will not pass", async () => {
      states.answerWith({ status: 400 });
      const { runs, reason } = await states.seen(await states.sent("shared", { text: "wrong" }), "failed");
      expect(runs[0]?.attempts).toMatchObject([{ number: 1, status: "error" }]);
      expect(reason).toMatch(/error.*400/);
    });

    it("after as many attempts as it may have", async () => {
      states.answerWith({ status: 503 });
      const { runs, reason } = await states.seen(await states.sent("twice", { text: "busy" }), "failed");
      expect(runs[0]?.attempts.map(({ status }) => status)).toEqual(["error", "error"]);
      expect(reason).toMatch(/after 2 attempts/);
    });

    it("because its reply could not be delivered", async () => {
      states.answerPostsWith(400);
      states.answerWith({ reply: "Told." });
      const { runs, reason } = await states.seen(await states.sent("posted", { text: "post" }), "failed");
      expect(runs[0]).toMatchObject({ delivery: "failed", reply: "Told.", attempts: [{ status: "ok" }] });
      expect(reason).toMatch(/delivery to webhook failed.*400/);
    });

    it("at its time limit", async () => {
      states.holdBack("Message endless.");
      const { runs, reason } = await states.seen(await states.sent("short", { text: "endless" }), "failed");
      expect(runs[0]?.attempts).toMatchObject([{ status: "timeout" }]);
      expect(reason).toMatch(/timeout/);
    });
  });

  describe("canceled", () => {
    it("while it waited", async () => {
      const go = states.holdBack("Message before.");
      const before = await states.sent("shared", { text: "before" });
      const id = await states.sent("shared", { text: "waiting" });
      await states.seen(id, "queued");
      expect(await states.gateway.api(`/deliveries/${String(id)}/cancel`, {})).toMatchObject({ ok: true });
      const run = await states.onlyRun(id, "canceled");
      expect(run).toMatchObject({ reason: expect.stringMatching(/operator/), attempts: [] });
      go();
      await states.seen(before, "done");
    });

    it("while it ran", async () => {
      states.holdBack("Message stopped.");
      const id = await states.sent("shared", { text: "stopped" });
      await states.seen(id, "running");
      expect(await states.gateway.api(`/deliveries/${String(id)}/cancel`, {})).toMatchObject({ ok: true });
      await states.seen(id, "canceled");
      while ((await states.gateway.delivery(id)).runs[0]?.attempts[0]?.endedAt === null) await sleep(10);
      expect((await states.gateway.delivery(id)).runs[0]?.attempts).toMatchObject([{ status: "aborted" }]);
    });
  });

  it("held, when the gateway stopped while the agent was asked and a person is to decide; then canceled", async () => {
    states.holdBack("Message cut.");
    const id = await states.sent("held", { text: "cut" });
    await states.seen(id, "running");
    await states.gateway.restart();
    expect(await states.onlyRun(id, "held")).toMatchObject({
      reason: expect.stringMatching(/interrupted.*replay or cancel/),
      attempts: [{ status: "interrupted" }],
    });
    expect(await states.gateway.api(`/deliveries/${String(id)}/cancel`, {})).toMatchObject({ ok: true });
    await states.seen(id, "canceled");
  });

  describe("a delivery of several runs", () => {
    const statesOf = (runs: readonly { readonly state: string }[]) => runs.map(({ state }) => state);

    it("is running until the last of them has ended, and failed when one of them failed, for its reason", async () => {
      const go = states.holdBack("Message bad.", { status: 400 });
      const id = await states.sent("each", { items: ["good", "bad"] });
      while (statesOf((await states.gateway.delivery(id)).runs).join() !== "done,running") await sleep(10);
      expect(statesOf((await states.seen(id, "running")).runs)).toEqual(["done", "running"]);
      go();
      const { reason, runs } = await states.seen(id, "failed");
      expect(statesOf(runs)).toEqual(["done", "failed"]);
      expect(reason).toMatch(/error.*400/);
      expect(runs[0]?.reason).toBeNull();
    });

    it("is canceled with those of them that are open", async () => {
      const go = states.holdBack("Message open.");
      const id = await states.sent("each", { items: ["closed", "open", "open"] });
      while ((await states.gateway.delivery(id)).runs[0]?.state !== "done") await sleep(10);
      expect(await states.gateway.api(`/deliveries/${String(id)}/cancel`, {})).toMatchObject({ ok: true });
      const { reason, runs } = await states.seen(id, "canceled");
      expect(statesOf(runs)).toEqual(["done", "canceled", "canceled"]);
      expect(reason).toBe("canceled by the operator");
      go();
    });
  });
});
