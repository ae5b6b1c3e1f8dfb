import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { HostError } from "../../../../src/core/host.ts";
import type { AgentRunResult } from "../../../../src/core/host.ts";
import { StoreError } from "../../../../src/storage/delivery-store.ts";
import { agentSpec, DispatchBench } from "../dispatch-bench.ts";
import { OVERLOADED, RunnerBench } from "../runner-bench.ts";
import { readSummary } from "../../../fixtures/read-summary.ts";

describe("an agent run", () => {
  let bench: RunnerBench;

  beforeAll(async () => {
    bench = await RunnerBench.open();
  });
  afterEach(() => {
    vi.restoreAllMocks();
    return bench.reset();
  });
  afterAll(() => bench.close());

  it("spec 4.2: runs the turn, always posts a summary into the main session, delivers the reply, triggers a heartbeat", async () => {
    const runId = await bench.run({ name: "GitHub" });
    expect(bench.host.runs).toHaveLength(1);
    expect(bench.host.runs[0]).toMatchObject({
      runId: `${runId}-a1`,
      agentId: "main",
      sessionKey: "agent:main:hook:a",
    });
    expect(bench.host.runs[0]!.prompt).toContain("EXTERNAL_UNTRUSTED_CONTENT");
    expect(bench.host.events).toEqual([
      { sessionKey: "agent:main:main", text: expect.any(String), idempotencyKey: `${runId}:summary` },
    ]);
    expect(readSummary(bench.host.events[0]!.text)).toBe('Hook "GitHub": [All done.]');
    expect(bench.host.sent).toMatchObject([
      { channel: "console", to: "owner", text: "All done.", idempotencyKey: `${runId}:reply` },
    ]);
    expect(bench.host.heartbeats).toEqual([`agent:main:main hook:${runId}`]);
    expect(await bench.detail(runId)).toMatchObject({
      state: "done",
      reason: null,
      delivery: "sent",
      attempts: [{ number: 1, status: "ok" }],
    });
    expect(bench.dispatched).toEqual([{ runId, kind: "agent", attempt: 1 }]);
    expect(bench.settled).toEqual([{ runId, kind: "agent", state: "done", reason: null, reply: "All done." }]);
    expect(bench.notices).toEqual([]);
  });

  it("spec 6: with wakeMode next-heartbeat no heartbeat is triggered, and without deliver nothing is sent", async () => {
    const runId = await bench.run({ wakeMode: "next-heartbeat", delivery: undefined });
    expect(bench.host.heartbeats).toEqual([]);
    expect(bench.host.sent).toEqual([]);
    expect(bench.host.events).toHaveLength(1);
    expect((await bench.detail(runId)).delivery).toBe("none");
  });

  it("leaves whoever reads the summary no more than the run had", async () => {
    await bench.run({ permissions: "reads", egress: ["example.com"] });
    await bench.run({ tools: "none", permissions: "reads" });
    await bench.run({});
    expect(bench.host.events.map(({ rights }) => rights)).toEqual([
      { permissions: "reads", egress: ["example.com"] },
      { permissions: "deny" },
      undefined,
    ]);
  });

  it("ends as failed with the agent's reason, posts it as a summary and delivers nothing", async () => {
    bench.answers({ status: "error", reply: "", error: "the model refused" });
    const runId = await bench.run();
    expect(await bench.detail(runId)).toMatchObject({ state: "failed", reason: "error: the model refused" });
    expect(readSummary(bench.host.events[0]!.text)).toBe('Hook "Test" (error): [the model refused]');
    expect(bench.host.sent).toEqual([]);
  });

  it("ends as failed also when the agent gives no reason", async () => {
    bench.answers({ status: "aborted", reply: "" });
    expect(await bench.detail(await bench.run())).toMatchObject({
      state: "failed",
      reason: "aborted: the run did not succeed",
    });
  });

  it("spec 8: timeoutSeconds caps the run: the agent is aborted and the run ends as timed out", async () => {
    bench.host.onRun = ({ signal }) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => resolve({ status: "aborted", reply: "" }));
      });
    const runId = await bench.run({ timeoutMs: 30 });
    expect(await bench.detail(runId)).toMatchObject({
      state: "failed",
      reason: "timeout: The run took longer than 0.03 s.",
      attempts: [{ status: "timeout" }],
    });
    expect(bench.host.events[0]?.text).toContain('Hook "Test" (timeout): ');
  });

  it("delivers its reply also when the summary can never be posted", async () => {
    bench.host.onEvent = async () => {
      throw new HostError("the text is too long", { retryable: false });
    };
    const runId = await bench.run();
    expect(bench.host.sent).toHaveLength(1);
    expect((await bench.detail(runId)).state).toBe("done");
    expect(bench.logged).toContain("the summary of a run could not be posted");
  });

  it("that is settled already is left alone", async () => {
    const runId = await bench.accept();
    await bench.store.settle(runId, { state: "canceled", reason: "a person canceled it" });
    expect(await bench.carryOut(runId)).toEqual({ kind: "ended" });
    expect(bench.host.runs).toEqual([]);
    expect(bench.settled).toEqual([]);
  });

  it("is carried out although the store could not read it at first", async () => {
    const error = new StoreError("UNAVAILABLE", "the file is locked");
    vi.spyOn(bench.store, "loadRun").mockRejectedValueOnce(error);
    const runId = await bench.run();
    expect((await bench.detail(runId)).state).toBe("done");
  });

  it("lets go of a channel or a session that never answers, once a person has canceled it", async () => {
    for (const place of ["onEvent", "onSend"] as const) {
      const stop = new AbortController();
      bench.host[place] = () => {
        stop.abort();
        return new Promise(() => {});
      };
      const runId = await bench.accept();
      expect(await bench.carryOut(runId, stop.signal)).toEqual({ kind: "ended" });
      expect(bench.host.sent).toEqual([]);
      bench.host.reset();
    }
    expect(bench.notices).toEqual([]);
  });

  it("asks a model again when the time has passed that it asked for", async () => {
    bench.answers({ ...OVERLOADED, retryAfterMs: 90_000 });
    const before = Date.now();
    const outcome = await bench.carryOutAlone(await bench.accept());
    expect(outcome).toMatchObject({ kind: "postponed" });
    expect((outcome as { readonly dueAt: number }).dueAt).toBeGreaterThanOrEqual(before + 90_000);
  });

  it("waits for no notice, which may go to the very channel or session that does not answer", async () => {
    bench.onNotice = () => new Promise(() => {});
    bench.answers({ status: "error", reply: "", error: "no credit" });
    const failed = await bench.accept();
    expect(await bench.carryOutAlone(failed)).toEqual({ kind: "ended" });
    expect((await bench.detail(failed)).state).toBe("failed");
    bench.answers({ status: "ok", reply: "Fine." });
    bench.host.onSend = async () => {
      throw new HostError("chat not found", { retryable: false });
    };
    expect(await bench.carryOutAlone(await bench.accept())).toEqual({ kind: "ended" });
    bench.host.onRun = async () => {
      throw new HostError("the agent is starting", { retryable: true });
    };
    expect(await bench.carryOutAlone(await bench.accept())).toMatchObject({ kind: "postponed" });
    await expect.poll(() => bench.notices.length).toBe(3);
  });

  describe("after a restart", () => {
    /** Leaves a run as a process that died under it would, and carries it out. */
    async function leave(upTo: (runId: string) => Promise<void>, spec = agentSpec()): Promise<string> {
      const runId = await bench.accept(spec);
      await upTo(runId);
      await bench.restart();
      await bench.finish(runId);
      return runId;
    }
    const begun = (runId: string): Promise<void> => bench.store.beginAttempt(runId, { number: 1, startedAt: 1 });
    const ended = async (runId: string): Promise<void> => {
      await begun(runId);
      await bench.store.endAttempt(runId, { endedAt: 2, status: "ok", error: null, reply: "First reply." });
    };

    it("a run that had not begun is carried out", async () => {
      const runId = await leave(async () => {});
      expect((await bench.detail(runId)).attempts).toHaveLength(1);
      expect(bench.host.runs[0]!.prompt).not.toContain("interrupted");
    });

    it("an interrupted run runs again, and its prompt says that it may have taken effect", async () => {
      const runId = await leave(begun);
      expect(bench.host.runs).toHaveLength(1);
      expect(bench.host.runs[0]!.runId).toBe(`${runId}-a2`);
      expect(bench.host.runs[0]!.prompt).toContain("may already have taken effect");
      expect(await bench.detail(runId)).toMatchObject({
        state: "done",
        attempts: [
          { number: 1, status: "interrupted" },
          { number: 2, status: "ok" },
        ],
      });
    });

    it("says so in every later attempt, and the interrupted one uses up none", async () => {
      bench.answers(OVERLOADED);
      const runId = await leave(begun);
      expect(bench.host.runs.map((run) => run.runId)).toEqual([`${runId}-a2`, `${runId}-a3`, `${runId}-a4`]);
      for (const { prompt } of bench.host.runs) expect(prompt).toContain("may already have taken effect");
      expect((await bench.detail(runId)).reason).toBe("error after 3 attempts: the model is overloaded");
    });

    it('with interrupted "hold" it waits for a person instead', async () => {
      const runId = await leave(begun, agentSpec({ interrupted: "hold" }));
      expect(bench.host.runs).toEqual([]);
      expect(await bench.detail(runId)).toMatchObject({
        state: "held",
        reason: expect.stringContaining("interrupted") as string,
      });
    });

    it('with interrupted "hold" an error that may pass is tried again all the same', async () => {
      bench.answers(OVERLOADED, { status: "ok", reply: "Fine." });
      const runId = await bench.accept(agentSpec({ interrupted: "hold" }));
      await bench.carryOut(runId);
      await bench.restart();
      await bench.finish(runId);
      expect((await bench.detail(runId)).state).toBe("done");
    });

    it("a run that had ended is not run again: only what follows it is done", async () => {
      const runId = await leave(ended);
      expect(bench.host.runs).toEqual([]);
      expect(readSummary(bench.host.events[0]!.text)).toBe('Hook "Test": [First reply.]');
      expect(bench.host.sent[0]?.text).toBe("First reply.");
      expect((await bench.detail(runId)).state).toBe("done");
    });

    it("what was summarized and delivered before is neither summarized nor delivered twice", async () => {
      await leave(async (runId) => {
        await ended(runId);
        await bench.store.recordStep(runId, "summarized");
        await bench.store.recordStep(runId, "delivered", { outcome: "sent" });
      });
      expect(bench.host.events).toEqual([]);
      expect(bench.host.sent).toEqual([]);
    });

    it("a run that ended with an error before is settled with that error", async () => {
      const runId = await leave(async (id) => {
        await begun(id);
        await bench.store.endAttempt(id, { endedAt: 2, status: "error", error: "out of credit", reply: null });
      });
      expect(bench.host.runs).toEqual([]);
      expect(await bench.detail(runId)).toMatchObject({ state: "failed", reason: "error: out of credit" });
    });
  });

  describe("at a shutdown's deadline", () => {
    it("was waited for until then", async () => {
      const dispatch = await DispatchBench.open();
      const { promise, resolve } = Promise.withResolvers<AgentRunResult>();
      dispatch.host.onRun = () => promise;
      dispatch.dispatcher.start();
      const [runId] = await dispatch.acceptAndEnqueue(agentSpec());
      await expect.poll(() => dispatch.host.runs.length).toBe(1);
      const stopped = dispatch.dispatcher.stop(Date.now() + 60_000);
      resolve({ status: "ok", reply: "Just in time." });
      await stopped;
      expect((await dispatch.detail(runId!)).state).toBe("done");
      await dispatch.close();
    });

    it("is aborted and stays on disk as interrupted", async () => {
      bench.host.onRun = ({ signal }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve({ status: "aborted", reply: "" }));
          bench.abandon();
        });
      const runId = await bench.accept();
      expect(await bench.carryOut(runId)).toEqual({ kind: "ended" });
      expect(await bench.detail(runId)).toMatchObject({ state: "running", attempts: [{ status: "interrupted" }] });
      expect(bench.settled).toEqual([]);
    });

    it("is not given up when its reply could not be delivered: the next process delivers it", async () => {
      bench.host.onSend = async () => {
        bench.abandon();
        throw new HostError("the socket is closed", { retryable: false });
      };
      const runId = await bench.accept();
      await bench.carryOut(runId);
      expect(bench.settled).toEqual([]);
      bench.host.onSend = async () => {};
      await bench.restart();
      await bench.finish(runId);
      expect(bench.host.runs).toHaveLength(1);
      expect(bench.host.sent).toHaveLength(1);
      expect((await bench.detail(runId)).state).toBe("done");
    });

    it("rejects while a full main session is asked, and the next process posts the summary", async () => {
      bench.host.onEvent = async () => {
        bench.abandon();
        throw new HostError("the session is full", { retryable: true });
      };
      const runId = await bench.accept();
      await expect(bench.carryOut(runId)).rejects.toThrow("the session is full");
      bench.host.onEvent = async () => {};
      await bench.restart();
      await bench.finish(runId);
      expect(bench.host.runs).toHaveLength(1);
      expect(bench.host.events).toHaveLength(1);
    });
  });
});
