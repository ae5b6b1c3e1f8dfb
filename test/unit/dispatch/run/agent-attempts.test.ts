import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { HostError } from "../../../../src/core/host.ts";
import type { AgentRunResult } from "../../../../src/core/host.ts";
import { agentSpec } from "../dispatch-bench.ts";
import { OVERLOADED, RunnerBench } from "../runner-bench.ts";
import { readSummary } from "../../../fixtures/read-summary.ts";

describe("a run", () => {
  let bench: RunnerBench;

  beforeAll(async () => {
    bench = await RunnerBench.open();
  });
  afterEach(() => {
    vi.restoreAllMocks();
    return bench.reset();
  });
  afterAll(() => bench.close());

  describe("that ended in an error which may pass", () => {
    it("is postponed with its lane, and is a new attempt when it is due", async () => {
      bench.answers(OVERLOADED, { status: "ok", reply: "At last." });
      const runId = await bench.accept();
      const before = Date.now();
      const left = await bench.carryOut(runId);
      expect(left).toMatchObject({ kind: "postponed", holdsLane: true, replied: false });
      const { dueAt } = left as { dueAt: number };
      expect(dueAt).toBeGreaterThanOrEqual(before);
      expect(dueAt).toBeLessThanOrEqual(Date.now() + 1_000);
      expect(await bench.detail(runId)).toMatchObject({
        state: "queued",
        reason: "attempt 1 of 3 failed, it is tried again: the model is overloaded",
        attempts: [{ number: 1, status: "error", error: "the model is overloaded" }],
        dueAt: new Date(dueAt).toISOString(),
      });
      expect(bench.host.events).toEqual([]);
      expect(await bench.carryOut(runId)).toEqual({ kind: "ended" });
      expect(bench.host.runs.map((run) => run.runId)).toEqual([`${runId}-a1`, `${runId}-a2`]);
      expect(bench.host.runs[1]!.prompt).not.toContain("interrupted");
      expect(bench.host.events.map(({ text }) => readSummary(text))).toEqual(['Hook "Test": [At last.]']);
      expect(await bench.detail(runId)).toMatchObject({ state: "done", reason: null });
      expect(bench.notices).toEqual([]);
    });

    it("fails when its attempts are used up, and the reason says how many there were", async () => {
      bench.answers(OVERLOADED);
      const runId = await bench.accept();
      expect(await bench.finish(runId)).toHaveLength(2);
      expect(bench.host.runs).toHaveLength(3);
      expect(await bench.detail(runId)).toMatchObject({
        state: "failed",
        reason: "error after 3 attempts: the model is overloaded",
        attempts: [{ status: "error" }, { status: "error" }, { status: "error" }],
      });
      expect(bench.host.events.map(({ text }) => readSummary(text))).toEqual([
        'Hook "Test" (error): [the model is overloaded]',
      ]);
    });

    it("fails at once when one attempt is all there is", async () => {
      bench.retry = { ...bench.retry, runs: { ...bench.retry.runs, attempts: 1 } };
      bench.answers(OVERLOADED);
      expect(await bench.detail(await bench.run())).toMatchObject({
        state: "failed",
        reason: "error: the model is overloaded",
      });
    });

    it("keeps its count of attempts across a restart", async () => {
      bench.answers(OVERLOADED);
      const runId = await bench.accept();
      await bench.carryOut(runId);
      await bench.restart();
      expect(await bench.finish(runId)).toHaveLength(1);
      expect((await bench.detail(runId)).attempts).toHaveLength(3);
    });

    it.each<AgentRunResult>([
      { status: "error", reply: "", error: "no", retryable: false },
      { status: "error", reply: "", error: "no" },
      { status: "timeout", reply: "", error: "too long", retryable: true },
      { status: "aborted", reply: "", error: "stopped", retryable: true },
    ])("is not what ended otherwise: %j", async (result) => {
      bench.answers(result);
      await bench.run();
      expect(bench.host.runs).toHaveLength(1);
      expect(bench.settled).toMatchObject([{ state: "failed" }]);
    });
  });

  describe("that the host cannot begin", () => {
    const starting = new HostError("the agent is starting", { retryable: true });

    it("is asked for again on the spot", async () => {
      bench.host.onRun = async () => {
        if (bench.host.runs.length === 1) throw starting;
        return { status: "ok", reply: "Second try." };
      };
      const runId = await bench.accept();
      expect(await bench.carryOut(runId)).toEqual({ kind: "ended" });
      expect(bench.host.runs.map((run) => run.runId)).toEqual([`${runId}-a1`, `${runId}-a1`]);
      expect(bench.host.sent[0]?.text).toBe("Second try.");
    });

    it("waits for as long as it takes, uses up no attempt, and is reported once", async () => {
      let refusals = 0;
      bench.host.onRun = async () => {
        if (refusals++ < 20) throw starting;
        return { status: "ok", reply: "Begun at last." };
      };
      const runId = await bench.accept();
      const left = await bench.carryOut(runId);
      expect(left).toMatchObject({ kind: "postponed", holdsLane: true, replied: false });
      expect(await bench.detail(runId)).toMatchObject({
        state: "queued",
        reason: "the gateway could not begin it, it is tried again: the agent is starting",
      });
      vi.spyOn(Math, "random").mockReturnValue(1);
      const before = Date.now();
      const postponed = await bench.finish(runId);
      expect(postponed).toHaveLength(9);
      expect(postponed[8]!.dueAt).toBeGreaterThanOrEqual(before + 60_000);
      expect(new Set(bench.host.runs.map((run) => run.runId))).toEqual(new Set([`${runId}-a1`]));
      expect(await bench.detail(runId)).toMatchObject({ state: "done", attempts: [{ number: 1, status: "ok" }] });
      expect(bench.notices).toEqual([
        "Runs of the agent main cannot begin. They wait and are tried again.",
        expect.stringMatching(
          /^Runs of the agent main succeed again\. Meanwhile: \d+ failures, from a direct call\.$/u,
        ),
      ]);
      expect(bench.details).toEqual(["the agent is starting", undefined]);
      expect(await bench.store.outages()).toEqual([]);
    });

    it("is not asked again on the spot when the host knows how long it refuses", async () => {
      const down = new HostError("the provider is down", { retryable: true, retryAfterMs: 29_999.5 });
      bench.host.onRun = () => Promise.reject(down);
      const runId = await bench.accept();
      const before = Date.now();
      const left = await bench.carryOut(runId);
      expect(bench.host.runs).toHaveLength(1);
      expect(left).toMatchObject({ kind: "postponed", refused: true });
      // A store keeps whole milliseconds.
      expect((left as { dueAt: number }).dueAt % 1).toBe(0);
      expect((left as { dueAt: number }).dueAt).toBeGreaterThanOrEqual(before + 30_000);
      expect((left as { dueAt: number }).dueAt).toBeLessThanOrEqual(Date.now() + 31_000);
    });

    it("says that nothing was begun, so that nothing is counted as spent", async () => {
      bench.host.onRun = async () => {
        throw starting;
      };
      expect(await bench.carryOut(await bench.accept())).toMatchObject({ kind: "postponed", refused: true });
      bench.host.reset();
      bench.answers(OVERLOADED);
      expect(await bench.carryOut(await bench.accept())).not.toHaveProperty("refused");
    });

    it("is begun by the next process when a shutdown comes in between: the agent knows nothing of it", async () => {
      bench.host.onRun = async () => {
        bench.abandon();
        throw starting;
      };
      // A delay drawn at random is not zero by chance.
      vi.spyOn(Math, "random").mockReturnValue(0.9);
      const runId = await bench.accept(agentSpec({ interrupted: "hold" }));
      const left = await bench.carryOut(runId);
      expect(left).toMatchObject({ kind: "postponed", refused: true });
      expect((left as { dueAt: number }).dueAt).toBeLessThanOrEqual(Date.now());
      expect(await bench.detail(runId)).toMatchObject({
        state: "queued",
        attempts: [{ number: 1, status: "aborted", error: "it could not begin: the agent is starting" }],
      });
      expect(bench.notices).toEqual([]);
      bench.host.reset();
      await bench.restart();
      await bench.finish(runId);
      expect(bench.host.runs.map((run) => run.runId)).toEqual([`${runId}-a1`]);
      expect(bench.host.runs[0]!.prompt).not.toContain("interrupted");
      expect((await bench.detail(runId)).state).toBe("done");
    });

    it("ends as failed when the host refuses it permanently", async () => {
      bench.host.onRun = async () => {
        throw new HostError("no such agent", { retryable: false });
      };
      const runId = await bench.run();
      expect(bench.host.runs).toHaveLength(1);
      expect(await bench.detail(runId)).toMatchObject({ state: "failed", reason: "error: no such agent" });
    });
  });

  describe("that a person cancels", () => {
    const canceled = { state: "canceled", reason: "a person canceled it" } as const;

    it("is stopped in progress: its attempt ends as aborted, and nothing is posted or sent", async () => {
      const stop = new AbortController();
      const runId = await bench.accept();
      bench.host.onRun = ({ signal }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve({ status: "aborted", reply: "half" }));
          void bench.store.settle(runId, canceled).then(() => stop.abort());
        });
      expect(await bench.carryOut(runId, stop.signal)).toEqual({ kind: "ended" });
      expect(await bench.detail(runId)).toMatchObject({
        ...canceled,
        attempts: [{ status: "aborted", error: "a person canceled it while the agent was running" }],
      });
      expect([bench.host.events, bench.host.sent, bench.host.heartbeats, bench.settled]).toEqual([[], [], [], []]);
    });

    it("says so of an attempt that the host had not begun", async () => {
      const stop = new AbortController();
      const runId = await bench.accept();
      bench.host.onRun = async () => {
        await bench.store.settle(runId, canceled);
        stop.abort();
        throw new HostError("the agent is starting", { retryable: true });
      };
      expect(await bench.carryOut(runId, stop.signal)).toEqual({ kind: "ended" });
      expect(await bench.detail(runId)).toMatchObject({
        ...canceled,
        attempts: [{ status: "aborted", error: "it could not begin: the agent is starting" }],
      });
      expect(bench.notices).toEqual([]);
    });

    it("keeps the reply that came all the same, and does nothing with it", async () => {
      const stop = new AbortController();
      const runId = await bench.accept();
      bench.host.onRun = async () => {
        await bench.store.settle(runId, canceled);
        stop.abort();
        return { status: "ok", reply: "Too late." };
      };
      expect(await bench.carryOut(runId, stop.signal)).toEqual({ kind: "ended" });
      expect(await bench.detail(runId)).toMatchObject({
        ...canceled,
        reply: "Too late.",
        attempts: [{ status: "ok" }],
      });
      expect([bench.host.events, bench.host.sent]).toEqual([[], []]);
    });

    it("is stopped while a full main session is asked", async () => {
      const stop = new AbortController();
      bench.host.onEvent = async () => {
        stop.abort();
        throw new HostError("the session is full", { retryable: true });
      };
      const runId = await bench.accept();
      expect(await bench.carryOut(runId, stop.signal)).toEqual({ kind: "ended" });
      expect(bench.host.sent).toEqual([]);
      expect(bench.settled).toEqual([]);
    });

    it("is not sent to the fallback, and no outage is reported", async () => {
      const stop = new AbortController();
      const tried: string[] = [];
      bench.host.onSend = async ({ channel }) => {
        tried.push(channel);
        stop.abort();
        throw new HostError("chat not found", { retryable: false });
      };
      const runId = await bench.accept(agentSpec({ fallback: { channel: "mail", to: "desk" } }));
      expect(await bench.carryOut(runId, stop.signal)).toEqual({ kind: "ended" });
      expect(tried).toEqual(["console"]);
      expect(bench.notices).toEqual([]);
    });

    it("before it begins is not begun", async () => {
      const runId = await bench.accept();
      const queued = await bench.store.loadRun(runId);
      await bench.store.settle(runId, canceled);
      // It is settled between being read and being begun.
      vi.spyOn(bench.store, "loadRun").mockResolvedValueOnce(queued);
      expect(await bench.carryOut(runId)).toEqual({ kind: "ended" });
      expect(bench.host.runs).toEqual([]);
    });
  });
});
