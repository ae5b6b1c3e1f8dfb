import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { HostError } from "../../../../src/core/host.ts";
import { agentSpec } from "../dispatch-bench.ts";
import { RunnerBench } from "../runner-bench.ts";

const busy = new HostError("too many messages", { retryable: true });
const gone = new HostError("chat not found", { retryable: false });
const fallback = { channel: "mail", to: "desk" };

describe("the delivery of a reply", () => {
  let bench: RunnerBench;

  beforeAll(async () => {
    bench = await RunnerBench.open();
  });
  afterEach(() => {
    vi.useRealTimers();
    return bench.reset();
  });
  afterAll(() => bench.close());

  /** Channels that refuse what they are sent, by name; counts the tries of each. */
  function refuse(errors: Record<string, HostError | undefined>): Record<string, number> {
    const tries: Record<string, number> = {};
    bench.host.onSend = async ({ channel }) => {
      tries[channel] = (tries[channel] ?? 0) + 1;
      const error = errors[channel];
      if (error) throw error;
    };
    return tries;
  }

  it("spec 2.3: is left out for a reply that only acknowledges a heartbeat, and the reason is kept", async () => {
    bench.host.onRun = async () => ({ status: "ok", reply: "HEARTBEAT_OK" });
    const runId = await bench.run({ fallback });
    expect(bench.host.sent).toMatchObject([]);
    expect(await bench.detail(runId)).toMatchObject({
      state: "done",
      delivery: "suppressed",
      reason: "not delivered: the reply only acknowledges a heartbeat",
    });
  });

  it("keeps the reply and says so when no target can be found", async () => {
    const runId = await bench.run({ delivery: { unresolved: "The gateway has no channel." } });
    expect(await bench.detail(runId)).toMatchObject({
      state: "done",
      delivery: "no-target",
      reason: "not delivered: The gateway has no channel.",
      reply: "All done.",
    });
  });

  it("that fails permanently makes the run failed, without running it again", async () => {
    refuse({ console: gone });
    const runId = await bench.accept();
    expect(await bench.carryOut(runId)).toEqual({ kind: "ended" });
    expect(bench.host.runs).toHaveLength(1);
    expect(await bench.detail(runId)).toMatchObject({
      state: "failed",
      delivery: "failed",
      reason: "delivery to console failed: chat not found",
      reply: "All done.",
    });
  });

  it("that may succeed later is tried again later: neither slot nor lane is held, and no step is repeated", async () => {
    refuse({ console: busy });
    const runId = await bench.accept();
    const before = Date.now();
    const left = await bench.carryOut(runId);
    expect(left).toMatchObject({ kind: "postponed", holdsLane: false, replied: true });
    const { dueAt } = left as { dueAt: number };
    expect(dueAt).toBeGreaterThanOrEqual(before);
    expect(dueAt).toBeLessThanOrEqual(Date.now() + 1_000);
    expect(await bench.detail(runId)).toMatchObject({
      state: "queued",
      delivery: "pending",
      reason: "delivery to console failed at try 1 of 3, it is tried again: too many messages",
      dueAt: new Date(dueAt).toISOString(),
    });
    expect(bench.host.heartbeats).toHaveLength(1);
    refuse({});
    expect(await bench.carryOut(runId)).toEqual({ kind: "ended" });
    expect(bench.host.runs).toHaveLength(1);
    expect(bench.host.events).toHaveLength(1);
    expect(bench.host.heartbeats).toHaveLength(1);
    expect(bench.host.sent).toMatchObject([{ channel: "console", idempotencyKey: `${runId}:reply` }]);
    expect(await bench.detail(runId)).toMatchObject({ state: "done", reason: null, delivery: "sent" });
    expect(bench.notices).toEqual([]);
  });

  it("is tried again later, under the same key, when the channel does not answer within a minute", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const asked = Promise.withResolvers<void>();
    const keys: string[] = [];
    bench.host.onSend = ({ idempotencyKey }) => {
      keys.push(idempotencyKey);
      asked.resolve();
      return new Promise(() => {});
    };
    const runId = await bench.accept();
    const carriedOut = bench.carryOut(runId);
    await asked.promise;
    vi.advanceTimersByTime(60_000);
    vi.useRealTimers();
    expect(await carriedOut).toMatchObject({ kind: "postponed", holdsLane: false, replied: true });
    expect((await bench.detail(runId)).reason).toBe(
      "delivery to console failed at try 1 of 3, it is tried again: it did not answer within 60 s",
    );
    bench.host.onSend = async ({ idempotencyKey }) => void keys.push(idempotencyKey);
    await bench.finish(runId);
    expect(keys).toEqual([`${runId}:reply`, `${runId}:reply`]);
    expect((await bench.detail(runId)).state).toBe("done");
  });

  it("waits as long as the channel asks", async () => {
    const limited = new HostError("too many messages", { retryable: true, retryAfterMs: 90_000 });
    refuse({ console: limited });
    const runId = await bench.accept();
    const before = Date.now();
    const left = await bench.carryOut(runId);
    expect(left).toMatchObject({ kind: "postponed" });
    expect((left as { dueAt: number }).dueAt).toBeGreaterThanOrEqual(before + 90_000);
  });

  it("fails when its tries are used up", async () => {
    const tries = refuse({ console: busy });
    const runId = await bench.run();
    expect(tries).toEqual({ console: 3 });
    expect(await bench.detail(runId)).toMatchObject({
      state: "failed",
      reason: "delivery to console failed: too many messages",
    });
  });

  it("is tried at least as often when the process was restarted in between, and the run is not run again", async () => {
    const tries = refuse({ console: busy });
    const runId = await bench.accept();
    await bench.carryOut(runId);
    await bench.carryOut(runId);
    await bench.restart();
    await bench.finish(runId);
    expect(tries).toEqual({ console: 5 });
    expect(bench.host.runs).toHaveLength(1);
  });

  describe("to the fallback", () => {
    it("is sent when the target fails permanently, under a key of its own, and the reason names both", async () => {
      refuse({ console: gone });
      const runId = await bench.run({ fallback });
      expect(bench.host.sent).toMatchObject([{ ...fallback, text: "All done.", idempotencyKey: `${runId}:fallback` }]);
      expect(await bench.detail(runId)).toMatchObject({
        state: "done",
        delivery: "fallback",
        reason: "delivery to console failed: chat not found; it was sent to the fallback mail instead",
      });
    });

    it("is made when the target's tries are used up, and has as many tries of its own", async () => {
      const tries = refuse({ console: busy, mail: busy });
      const runId = await bench.accept(agentSpec({ fallback }));
      const postponed = await bench.finish(runId);
      expect(postponed).toHaveLength(4);
      expect(postponed.every(({ holdsLane, replied }) => !holdsLane && replied)).toBe(true);
      expect(tries).toEqual({ console: 3, mail: 3 });
      expect(await bench.detail(runId)).toMatchObject({
        state: "failed",
        delivery: "failed",
        reason: "delivery to console failed: too many messages; delivery to mail failed: too many messages",
      });
    });

    it("does not go back to the target once that has failed", async () => {
      const tries = refuse({ console: gone, mail: busy });
      const runId = await bench.accept(agentSpec({ fallback }));
      await bench.carryOut(runId);
      expect((await bench.detail(runId)).reason).toBe(
        "delivery to console failed: chat not found; delivery to mail failed at try 1 of 3, it is tried again: too many messages",
      );
      await bench.finish(runId);
      expect(tries).toEqual({ console: 1, mail: 3 });
    });

    it("is sent when no one was found at the target", async () => {
      const runId = await bench.run({ delivery: { unresolved: "The gateway has no channel." }, fallback });
      expect(await bench.detail(runId)).toMatchObject({
        state: "done",
        delivery: "fallback",
        reason: "not delivered: The gateway has no channel.; it was sent to the fallback mail instead",
      });
    });

    it("is not possible when no one was found there either", async () => {
      refuse({ console: gone });
      const runId = await bench.run({ fallback: { unresolved: "There is no recipient." } });
      expect(await bench.detail(runId)).toMatchObject({
        state: "failed",
        delivery: "failed",
        reason: "delivery to console failed: chat not found; nor to the fallback: There is no recipient.",
      });
    });
  });

  describe("by mode deliver", () => {
    it("is of the message itself: no agent, no summary, no heartbeat", async () => {
      const runId = await bench.run({ mode: "deliver", message: "The build is red." });
      expect(bench.host.runs).toEqual([]);
      expect(bench.host.events).toEqual([]);
      expect(bench.host.heartbeats).toEqual([]);
      expect(bench.host.sent).toMatchObject([
        { channel: "console", to: "owner", text: "The build is red.", idempotencyKey: `${runId}:reply` },
      ]);
      expect(await bench.detail(runId)).toMatchObject({
        state: "done",
        reason: null,
        delivery: "sent",
        reply: "The build is red.",
        attempts: [{ number: 1, status: "ok" }],
      });
      expect(bench.dispatched).toEqual([{ runId, kind: "agent", attempt: 1 }]);
    });

    it.each(["NO_REPLY", "HEARTBEAT_OK"])("is made also of %s, which no agent said", async (message) => {
      await bench.run({ mode: "deliver", message });
      expect(bench.host.sent).toHaveLength(1);
    });

    it.each([
      ["nobody is found", { unresolved: "The gateway has no channel." }, "not delivered: The gateway has no channel."],
      ["no target was asked for", undefined, "not delivered: no target was asked for"],
    ])("fails when %s: nothing else was to be done", async (_case, delivery, reason) => {
      const runId = await bench.run({ mode: "deliver", delivery });
      expect(await bench.detail(runId)).toMatchObject({ state: "failed", delivery: "no-target", reason });
    });

    it("is tried again and goes to the fallback as a reply does, in one attempt", async () => {
      const tries = refuse({ console: busy });
      const runId = await bench.run({ mode: "deliver", fallback });
      expect(tries).toEqual({ console: 3, mail: 1 });
      expect(await bench.detail(runId)).toMatchObject({
        state: "done",
        delivery: "fallback",
        attempts: [{ number: 1 }],
      });
    });

    it("is made once more by the next process when this one dies under it, also where agents are held", async () => {
      const runId = await bench.accept(agentSpec({ mode: "deliver", interrupted: "hold" }));
      await bench.store.beginAttempt(runId, { number: 1, startedAt: 1 });
      await bench.restart();
      await bench.finish(runId);
      expect(bench.host.sent).toHaveLength(1);
      expect(await bench.detail(runId)).toMatchObject({ state: "done", attempts: [{ number: 1, status: "ok" }] });
    });
  });

  describe("of a run that coalesced calls", () => {
    const claim = { key: new Uint8Array(32).fill(7), windowMs: 60_000, maxWaitMs: 60_000 };

    async function gather(spec: ReturnType<typeof agentSpec>): Promise<string> {
      const runId = await bench.accept({ ...spec, message: "first" }, claim);
      await bench.accept({ ...spec, message: "second" }, claim);
      await bench.store.stopCoalescing(runId);
      await bench.finish(runId);
      return runId;
    }

    it("follows one turn, whose prompt says for how many calls it stands", async () => {
      const runId = await gather(agentSpec({ coalesce: "list" }));
      expect(bench.host.runs).toHaveLength(1);
      expect(bench.host.runs[0]!.prompt).toContain("[1]\nfirst\n\n[2]\nsecond");
      expect(bench.host.runs[0]!.prompt).toContain("This run serves 2 calls");
      expect(await bench.detail(runId)).toMatchObject({ state: "done", calls: 2 });
    });

    it("by mode deliver is one message that says so", async () => {
      await gather(agentSpec({ coalesce: "latest", mode: "deliver" }));
      expect(bench.host.sent.map(({ text }) => text)).toEqual([
        "second\n\nThis run serves 2 calls that arrived one after the other. The content is that of the latest one.",
      ]);
    });
  });

  describe("that was recorded before the process died", () => {
    it.each([
      ["sent", {}, "All done.", { state: "done", reason: null }],
      ["failed", {}, "All done.", { state: "failed", reason: "the reply could not be delivered" }],
      ["fallback", {}, "All done.", { state: "done", reason: "the reply was sent to the fallback" }],
      ["suppressed", {}, "NO_REPLY", { state: "done", reason: "not delivered: the reply is NO_REPLY" }],
      [
        "no-target",
        { delivery: { unresolved: "Nobody." } },
        "All done.",
        { state: "done", reason: "not delivered: Nobody." },
      ],
      ["none", { delivery: undefined }, "All done.", { state: "done", reason: null }],
    ] as const)("as %s ends the run as it would have", async (outcome, spec, reply, expected) => {
      const runId = await bench.accept(agentSpec(spec));
      await bench.store.beginAttempt(runId, { number: 1, startedAt: 1 });
      await bench.store.endAttempt(runId, { endedAt: 2, status: "ok", error: null, reply });
      await bench.store.recordStep(runId, "summarized");
      await bench.store.recordStep(runId, "delivered", { outcome });
      await bench.restart();
      await bench.finish(runId);
      expect(bench.host.sent).toMatchObject([]);
      expect(await bench.detail(runId)).toMatchObject({ ...expected, delivery: outcome });
    });
  });
});
