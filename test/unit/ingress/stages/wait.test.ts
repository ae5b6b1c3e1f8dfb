import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Answer } from "../../../../src/http/answer.ts";
import { StoreError } from "../../../../src/storage/delivery-store.ts";
import { callPipeline } from "./pipeline-calls.ts";
import { StageBench } from "./stage-bench.ts";

const CALL = { path: "agent", body: '{"message":"x","deliver":false,"wait":true}' };
const SOON = { timeout: 15_000, interval: 5 };

/** The dispatcher is not started: runs are settled by hand. */
describe("waiting for a result", () => {
  let bench: StageBench;

  beforeEach(async () => {
    bench = await StageBench.open();
  });
  afterEach(() => bench[Symbol.asyncDispose]());

  async function call(): Promise<Answer> {
    return callPipeline(bench, await bench.active({ waitSeconds: 60 }), CALL);
  }

  /** The run that is waited for. */
  async function waitedFor(): Promise<string> {
    return vi.waitFor(async () => {
      expect(bench.ingress.watch.count).toBe(1);
      const { deliveries } = await bench.ingress.store.list({ limit: 1 });
      return deliveries[0]!.runIds[0]!;
    }, SOON);
  }

  async function settle(runId: string, state: "done" | "canceled" | "failed", reason: string | null): Promise<void> {
    await bench.ingress.store.settle(runId, { state, reason });
    bench.ingress.watch.notify(runId);
  }

  it("ends with the run, however it ended and though no attempt was made", async () => {
    const answered = call();
    const runId = await waitedFor();
    await settle(runId, "canceled", "by hand");
    const { status, payload } = await answered;
    expect(status).toBe(200);
    expect(JSON.parse(payload)).toMatchObject({
      ok: false,
      runId,
      state: "canceled",
      status: null,
      reply: null,
      error: "by hand",
    });
    expect(bench.ingress.watch.count).toBe(0);
  });

  it("keeps the text of the model's endpoint from the caller: it reads the gateway's own words and a code", async () => {
    const answered = call();
    const runId = await waitedFor();
    await bench.ingress.store.beginAttempt(runId, { number: 1, startedAt: 1 });
    await bench.ingress.store.endAttempt(runId, { endedAt: 2, status: "error", error: "bad key sk-abc", reply: null });
    await settle(runId, "failed", "error: bad key sk-abc");
    expect(JSON.parse((await answered).payload)).toMatchObject({
      state: "failed",
      status: "error",
      code: "RUN_FAILED",
      error: "The agent's run failed.",
    });
  });

  it("does not count among the requests in progress, and is not released twice", async () => {
    const answered = call();
    const runId = await waitedFor();
    expect(bench.ingress.inFlight.count).toBe(0);
    await settle(runId, "done", null);
    expect((await answered).status).toBe(200);
    expect(bench.ingress.inFlight.count).toBe(0);
  });

  it("ends with the ordinary answer when the result cannot be read: the call was accepted", async () => {
    bench.ingress.store.get = () => Promise.reject(new StoreError("CLOSED", "closed"));
    const { status, payload } = await call();
    expect([status, JSON.parse(payload)]).toMatchObject([202, { ok: true }]);
    expect(bench.ingress.watch.count).toBe(0);
  });

  it("throws what is a defect, and waits no more", async () => {
    bench.ingress.store.get = () => Promise.reject(new TypeError("a defect"));
    await expect(call()).rejects.toThrow("a defect");
    expect(bench.ingress.watch.count).toBe(0);
  });
});
