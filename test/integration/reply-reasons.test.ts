import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import type { RunDetail } from "../../src/core/run.ts";
import { StatesGateway } from "./states-gateway.ts";

vi.mock("../../src/dispatch/run/full-jitter.ts", () => import("./longest-delay.ts"));

describe("each reason of a reply's way can be produced and seen through the API", () => {
  let states: StatesGateway;
  beforeAll(async () => {
    states = await StatesGateway.start();
  });
  afterEach(() => states.reset());
  afterAll(() => states[Symbol.asyncDispose]());

  /** The run of a call whose reply is `Told.`, once it waits for another try at its delivery. */
  async function postponed(path: string): Promise<{ id: unknown; run: RunDetail }> {
    states.answerWith({ reply: "Told." });
    const id = await states.sent(path, { text: "reply" });
    while ((await states.gateway.delivery(id)).runs[0]?.reason === null) await sleep(10);
    return { id, run: await states.onlyRun(id, "queued") };
  }

  /** The run of a call whose reply is `Told.`, once it has ended so. */
  async function ended(path: string, state: "done" | "failed"): Promise<RunDetail> {
    states.answerWith({ reply: "Told." });
    return states.onlyRun(await states.sent(path, { text: "reply" }), state);
  }

  it("queued, while its delivery is to be tried again", async () => {
    states.answerPostsWith(503);
    const { id, run } = await postponed("posted-later");
    expect(run).toMatchObject({ delivery: "pending", reply: "Told.", attempts: [{ number: 1, status: "ok" }] });
    expect(run.reason).toMatch(/^delivery to webhook failed at try 1 of 2, it is tried again: .*503/);
    expect(Date.parse(run.dueAt!)).toBeGreaterThan(0);
    expect(await states.canceled(id)).toMatchObject({ reply: "Told.", attempts: [{ status: "ok" }] });
  });

  it("queued, while its delivery to the fallback is to be tried again", async () => {
    states.answerPostsWith(400, 503);
    const { id, run } = await postponed("backed-later");
    expect(run.reason).toMatch(
      /^delivery to webhook failed: .*400.*; delivery to webhook failed at try 1 of 2, it is tried again: .*503/,
    );
    await states.canceled(id);
  });

  it("done, without a reason, when a later try was taken", async () => {
    states.answerPostsWith(503, 204);
    expect(await ended("posted-again", "done")).toMatchObject({
      delivery: "sent",
      reason: null,
      attempts: [{ number: 1, status: "ok" }],
    });
  });

  it("failed, when the last try was refused as well", async () => {
    states.answerPostsWith(503);
    const { delivery, reason } = await ended("posted-again", "failed");
    expect(delivery).toBe("failed");
    expect(reason).toMatch(/^delivery to webhook failed: .*503/);
  });

  it("failed, when the fallback refuses as well", async () => {
    states.answerPostsWith(400, 410);
    const { delivery, reason } = await ended("backed-twice", "failed");
    expect(delivery).toBe("failed");
    expect(reason).toMatch(/^delivery to webhook failed: .*400.*; delivery to webhook failed: .*410/);
  });

  it("failed, when the target of the fallback is unknown", async () => {
    states.answerPostsWith(400);
    const { delivery, reason } = await ended("backed-by-nobody", "failed");
    expect(delivery).toBe("failed");
    expect(reason).toMatch(/^delivery to webhook failed: .*400.*; nor to the fallback: There is no recipient/);
  });

  it("done by the fallback, when the reply's target is unknown", async () => {
    const { delivery, reason } = await ended("nobody-backed", "done");
    expect(delivery).toBe("fallback");
    expect(reason).toMatch(/^not delivered: There is no recipient .*; it was sent to the fallback console instead$/);
  });

  it("done, with a reply that only acknowledges", async () => {
    states.answerWith({ reply: "HEARTBEAT_OK" });
    expect(await states.onlyRun(await states.sent("told"), "done")).toMatchObject({
      delivery: "suppressed",
      reason: "not delivered: the reply only acknowledges a heartbeat",
    });
  });

  it("done, with a reply of nothing but markup", async () => {
    states.answerWith({ reply: "<p></p>" });
    expect(await states.onlyRun(await states.sent("told"), "done")).toMatchObject({
      delivery: "suppressed",
      reason: "not delivered: the reply is empty",
    });
  });

  describe("of a mapping that passes its message on", () => {
    it("done, when the channel took it", async () => {
      const run = await ended("passed-on", "done");
      expect(run).toMatchObject({ delivery: "sent", reason: null, reply: "Message reply." });
    });

    it("failed, when the channel refused it", async () => {
      states.answerPostsWith(400);
      const { delivery, reason } = await ended("passed-on", "failed");
      expect(delivery).toBe("failed");
      expect(reason).toMatch(/^delivery to webhook failed: .*400/);
    });

    it("failed, when the target is unknown", async () => {
      const { delivery, reason } = await ended("passed-to-nobody", "failed");
      expect(delivery).toBe("no-target");
      expect(reason).toMatch(/^not delivered: There is no recipient/);
    });
  });
});

it("a gateway without a channel keeps the reply and says so", async () => {
  await using states = await StatesGateway.start();
  const { gateway } = states;
  const config = gateway.configWith({}) as { channels?: object };
  gateway.writeFile(JSON.stringify({ ...config, channels: { console: { enabled: false } } }));
  expect((await gateway.reload()).applied).toBe(true);
  states.answerWith({ reply: "Told." });
  const { body } = await gateway.post("/hooks/agent", { message: "Hello.", wakeMode: "next-heartbeat" });
  expect(await states.onlyRun(body["deliveryId"], "done")).toMatchObject({
    delivery: "no-target",
    reason: "not delivered: The gateway has no channel.",
    reply: "Told.",
  });
});

it("a channel that is taken out of the configuration before the reply is there refuses it", async () => {
  await using states = await StatesGateway.start();
  const { gateway } = states;
  const go = states.holdBack("Message gone.", { reply: "Told." });
  const id = await states.sent("told", { text: "gone" });
  await states.seen(id, "running");
  const config = gateway.configWith({}) as { channels?: object };
  gateway.writeFile(JSON.stringify({ ...config, channels: { ...config.channels, console: { enabled: false } } }));
  expect((await gateway.reload()).applied).toBe(true);
  go();
  const { delivery, reason } = await states.onlyRun(id, "failed");
  expect({ delivery, reason }).toEqual({
    delivery: "failed",
    reason: 'delivery to console failed: The channel "console" is not configured.',
  });
});
