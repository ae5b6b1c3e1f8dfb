import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { HostError } from "../../../src/host.ts";
import type { AgentRunResult } from "../../../src/host.ts";
import { agentSpec, DispatchBench } from "./dispatch-bench.ts";

describe("an agent run", () => {
  let bench: DispatchBench;

  beforeEach(async () => {
    bench = await DispatchBench.open();
  });
  afterEach(() => bench.close());

  async function carryOut(...specs: Parameters<typeof agentSpec>[0][]): Promise<string[]> {
    bench.dispatcher.start();
    const ids: string[] = [];
    for (const spec of specs) ids.push(...(await bench.acceptAndEnqueue(agentSpec(spec))));
    await bench.settledRuns(ids.length);
    return ids;
  }

  it("spec 4.2: runs the turn, always posts a summary into the main session, delivers the reply, triggers a heartbeat", async () => {
    const [runId] = await carryOut({ name: "GitHub" });
    expect(bench.host.runs).toHaveLength(1);
    expect(bench.host.runs[0]).toMatchObject({
      runId: `${runId}-a1`,
      agentId: "main",
      sessionKey: "agent:main:hook:a",
    });
    expect(bench.host.runs[0]!.prompt).toContain("EXTERNAL_UNTRUSTED_CONTENT");
    expect(bench.host.events).toEqual([
      { sessionKey: "agent:main:main", text: "Hook GitHub: All done.", idempotencyKey: `${runId}:summary` },
    ]);
    expect(bench.host.sent).toEqual([
      { channel: "console", to: "owner", text: "All done.", idempotencyKey: `${runId}:reply` },
    ]);
    expect(bench.host.heartbeats).toEqual([`agent:main:main hook:${runId}`]);
    expect(await bench.detail(runId!)).toMatchObject({
      state: "done",
      reason: null,
      delivery: "sent",
      attempts: [{ number: 1, status: "ok" }],
    });
  });

  it("spec 6: with wakeMode next-heartbeat no heartbeat is triggered, and without deliver nothing is sent", async () => {
    const [runId] = await carryOut({ wakeMode: "next-heartbeat", delivery: undefined });
    expect(bench.host.heartbeats).toEqual([]);
    expect(bench.host.sent).toEqual([]);
    expect(bench.host.events).toHaveLength(1);
    expect((await bench.detail(runId!)).delivery).toBe("none");
  });

  it("spec 2.3: a reply that only acknowledges a heartbeat is not delivered, and the reason is kept", async () => {
    bench.host.onRun = async () => ({ status: "ok", reply: "HEARTBEAT_OK" });
    const [runId] = await carryOut({});
    expect(bench.host.sent).toEqual([]);
    expect(await bench.detail(runId!)).toMatchObject({
      state: "done",
      delivery: "suppressed",
      reason: "not delivered: the reply only acknowledges a heartbeat",
    });
  });

  it("keeps the reply and says so when nobody can be found to send it to", async () => {
    const [runId] = await carryOut({ delivery: { unresolved: "The gateway has no channel." } });
    expect(await bench.detail(runId!)).toMatchObject({
      state: "done",
      delivery: "no-target",
      reason: "not delivered: The gateway has no channel.",
      reply: "All done.",
    });
  });

  it("ends as failed with the agent's reason, posts it as a summary and delivers nothing", async () => {
    bench.host.onRun = async () => ({ status: "error", reply: "", error: "the model refused" });
    const [runId] = await carryOut({});
    expect(await bench.detail(runId!)).toMatchObject({ state: "failed", reason: "error: the model refused" });
    expect(bench.host.events[0]?.text).toBe("Hook Test (error): the model refused");
    expect(bench.host.sent).toEqual([]);
  });

  it("spec 8: timeoutSeconds caps the run: the agent is aborted and the run ends as timed out", async () => {
    bench.host.onRun = ({ signal }) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => resolve({ status: "aborted", reply: "" }));
      });
    const [runId] = await carryOut({ timeoutMs: 30 });
    expect(await bench.detail(runId!)).toMatchObject({
      state: "failed",
      reason: "timeout: The run took longer than 0.03 s.",
      attempts: [{ status: "timeout" }],
    });
    expect(bench.host.events[0]?.text).toContain("Hook Test (timeout): ");
  });

  it("is tried again when the host could not begin it, and only then", async () => {
    let calls = 0;
    bench.host.onRun = async () => {
      calls++;
      if (calls === 1) throw new HostError("the agent is starting", { retryable: true });
      return { status: "ok", reply: "Second try." };
    };
    await carryOut({});
    expect(calls).toBe(2);
    expect(bench.host.sent[0]?.text).toBe("Second try.");
  });

  it("spec 8: a host that cannot begin it is asked until timeoutSeconds have passed, and the reason is kept", async () => {
    bench.host.onRun = async () => {
      throw new HostError("the disk is full", { retryable: true });
    };
    const [runId] = await carryOut({ timeoutMs: 50 });
    expect(await bench.detail(runId!)).toMatchObject({
      state: "failed",
      reason: "timeout: It could not begin within 0.05 s: the disk is full",
    });
  });

  it("ends as failed when the host refuses it for good", async () => {
    bench.host.onRun = async () => {
      throw new HostError("no such agent", { retryable: false });
    };
    const [runId] = await carryOut({});
    expect(bench.host.runs).toHaveLength(1);
    expect(await bench.detail(runId!)).toMatchObject({ state: "failed", reason: "error: no such agent" });
  });

  it("ends as failed when its reply cannot be delivered, without running again", async () => {
    bench.host.onSend = async () => {
      throw new HostError("chat not found", { retryable: false });
    };
    const [runId] = await carryOut({});
    expect(bench.host.runs).toHaveLength(1);
    expect(await bench.detail(runId!)).toMatchObject({
      state: "failed",
      delivery: "failed",
      reason: "delivery to console failed: chat not found",
      reply: "All done.",
    });
  });

  it("delivers its reply also when the summary can never be posted", async () => {
    bench.host.onEvent = async () => {
      throw new HostError("the text is too long", { retryable: false });
    };
    const [runId] = await carryOut({});
    expect(bench.host.sent).toHaveLength(1);
    expect((await bench.detail(runId!)).state).toBe("done");
    expect(bench.logged).toContain("the summary of a run could not be posted");
  });

  describe("after a restart", () => {
    /** Leaves a run as a process that died under it would. */
    async function leave(upTo: (runId: string) => Promise<void>, spec = agentSpec()): Promise<string> {
      const [runId] = await bench.accept(spec);
      await upTo(runId!);
      await bench.restart();
      await bench.dispatcher.recover();
      bench.dispatcher.start();
      return runId!;
    }
    const begun = (runId: string): Promise<void> => bench.store.beginAttempt(runId, { number: 1, startedAt: 1 });
    const ended = async (runId: string): Promise<void> => {
      await begun(runId);
      await bench.store.endAttempt(runId, { endedAt: 2, status: "ok", error: null, reply: "First reply." });
    };

    it("a run that had not begun is carried out", async () => {
      const runId = await leave(async () => {});
      await bench.settledRuns(1);
      expect((await bench.detail(runId)).attempts).toHaveLength(1);
      expect(bench.host.runs[0]!.prompt).not.toContain("interrupted");
    });

    it("a run that was under way is run again, and its prompt says that it may have taken effect", async () => {
      const runId = await leave(begun);
      await bench.settledRuns(1);
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

    it('with interrupted "hold" it waits for a person instead', async () => {
      const runId = await leave(begun, agentSpec({ interrupted: "hold" }));
      await expect.poll(async () => (await bench.detail(runId)).state).toBe("held");
      expect(bench.host.runs).toEqual([]);
      expect((await bench.detail(runId)).reason).toContain("interrupted");
      await bench.restart();
      await bench.dispatcher.recover();
      expect(bench.dispatcher.open).toBe(0);
    });

    it("a run that had ended is not run again: only what follows it is done", async () => {
      const runId = await leave(ended);
      await bench.settledRuns(1);
      expect(bench.host.runs).toEqual([]);
      expect(bench.host.events[0]?.text).toBe("Hook Test: First reply.");
      expect(bench.host.sent[0]?.text).toBe("First reply.");
      expect((await bench.detail(runId)).state).toBe("done");
    });

    it("what was summarized and delivered before is neither summarized nor delivered twice", async () => {
      await leave(async (runId) => {
        await ended(runId);
        await bench.store.recordStep(runId, "summarized");
        await bench.store.recordStep(runId, "delivered", "sent");
      });
      await bench.settledRuns(1);
      expect(bench.host.events).toEqual([]);
      expect(bench.host.sent).toEqual([]);
    });

    it("a run that ended with an error before is settled with that error", async () => {
      const runId = await leave(async (id) => {
        await begun(id);
        await bench.store.endAttempt(id, { endedAt: 2, status: "error", error: "out of credit", reply: null });
      });
      await bench.settledRuns(1);
      expect(bench.host.runs).toEqual([]);
      expect(await bench.detail(runId)).toMatchObject({ state: "failed", reason: "error: out of credit" });
    });
  });

  describe("at a shutdown", () => {
    it("is waited for until the deadline", async () => {
      let finish!: (result: AgentRunResult) => void;
      bench.host.onRun = () => new Promise((resolve) => (finish = resolve));
      bench.dispatcher.start();
      const [runId] = await bench.acceptAndEnqueue(agentSpec());
      await expect.poll(() => bench.host.runs.length).toBe(1);
      const stopped = bench.dispatcher.stop(Date.now() + 5_000);
      finish({ status: "ok", reply: "Just in time." });
      await stopped;
      expect((await bench.detail(runId!)).state).toBe("done");
    });

    it("is told to stop at the deadline and stays on disk as interrupted", async () => {
      bench.host.onRun = ({ signal }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve({ status: "aborted", reply: "" }));
        });
      bench.dispatcher.start();
      const [first] = await bench.acceptAndEnqueue(agentSpec());
      const [second] = await bench.acceptAndEnqueue(agentSpec());
      await expect.poll(() => bench.host.runs.length).toBe(1);
      await bench.dispatcher.stop(Date.now());
      expect(await bench.detail(first!)).toMatchObject({ state: "running", attempts: [{ status: "interrupted" }] });
      expect(await bench.detail(second!)).toMatchObject({ state: "queued", attempts: [] });
    });
  });
});
