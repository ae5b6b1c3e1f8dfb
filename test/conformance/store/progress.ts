import { expect, it } from "vitest";
import type { DeliveryStore } from "../../../src/storage/delivery-store.ts";
import { agentSpec, RECEIVED_AT } from "./new-delivery.ts";
import { accept, openRuns } from "./store-actions.ts";
import type { StoreUnderTest } from "./store-harness.ts";

const DONE = { state: "done", reason: null } as const;
const STARTED_AT = RECEIVED_AT + 1000;

/** What is recorded of a run after it was accepted. */
export function describeProgress(underTest: () => StoreUnderTest): void {
  it("counts what is open by its state, and knows since when the oldest run is queued", async () => {
    const { store } = underTest();
    expect(await store.backlog()).toEqual({ queued: 0, running: 0, held: 0, oldestQueuedAt: null });
    const settled = await accept(store, { receivedAt: RECEIVED_AT });
    await store.settle(settled.runId, DONE);
    const failed = await accept(store, { receivedAt: RECEIVED_AT + 1 });
    await store.settle(failed.runId, { state: "failed", reason: "it did" });
    const held = await accept(store, { receivedAt: RECEIVED_AT + 2 });
    await store.hold(held.runId, "a person decides");
    const running = await accept(store, { receivedAt: RECEIVED_AT + 3 });
    await store.beginAttempt(running.runId, { number: 1, startedAt: STARTED_AT });
    await accept(store, { receivedAt: RECEIVED_AT + 4 });
    await accept(store, { receivedAt: RECEIVED_AT + 5 });
    expect(await store.backlog()).toEqual({ queued: 2, running: 1, held: 1, oldestQueuedAt: RECEIVED_AT + 4 });
    const reopened = await underTest().reopen();
    expect(await reopened.backlog()).toMatchObject({ queued: 2, running: 1, held: 1 });
  });

  it("loads an accepted run with everything the dispatcher needs", async () => {
    const { store } = underTest();
    const { deliveryId, runId } = await accept(store, { runs: [{ lane: "lane 7", spec: agentSpec() }] });
    expect(await store.loadRun(runId)).toEqual({
      runId,
      deliveryId,
      lane: "lane 7",
      state: "queued",
      spec: agentSpec(),
      attempts: [],
      reply: null,
      steps: [],
      replyOutcome: "none",
    });
  });

  it("records what a model counted for an attempt, and forgets it when the attempt begins once more", async () => {
    const { store } = underTest();
    const { deliveryId, runId } = await accept(store);
    const usage = { model: "p/m", inputTokens: 1_200, outputTokens: 80, cachedTokens: 200, costUsd: 0.0042 };
    await store.beginAttempt(runId, { number: 1, startedAt: STARTED_AT });
    await store.endAttempt(runId, { endedAt: STARTED_AT + 5, status: "ok", error: null, reply: "x", usage });
    const reopened = await underTest().reopen();
    expect((await reopened.get(deliveryId))?.runs[0]?.attempts).toMatchObject([{ number: 1, usage }]);
    await reopened.beginAttempt(runId, { number: 1, startedAt: STARTED_AT + 10 });
    expect((await reopened.get(deliveryId))?.runs[0]?.attempts[0]).not.toHaveProperty("usage");
  });

  it("records what an agent did in an attempt, and forgets it with the payload", async () => {
    const { store } = underTest();
    const { deliveryId, runId } = await accept(store);
    const at = new Date(STARTED_AT).toISOString();
    const activity = [
      { at, kind: "call", title: "files.read", input: '{"path":"a"}', output: "42" },
      { at, kind: "denied", title: "files.write" },
    ] as const;
    await store.beginAttempt(runId, { number: 1, startedAt: STARTED_AT });
    await store.endAttempt(runId, { endedAt: STARTED_AT + 5, status: "ok", error: null, reply: "x", activity });
    const reopened = await underTest().reopen();
    expect((await reopened.get(deliveryId))?.runs[0]?.attempts).toMatchObject([{ number: 1, activity }]);
    await reopened.settle(runId, { state: "done", reason: null, at: STARTED_AT + 6 });
    await reopened.prune({ now: RECEIVED_AT + 1, removeBefore: 0, emptyBefore: RECEIVED_AT + 1, maxBytes: null });
    expect((await reopened.get(deliveryId))?.runs[0]?.attempts[0]).not.toHaveProperty("activity");
  });

  it("records attempts, steps and the outcome, and has them after it was opened again", async () => {
    const { store } = underTest();
    const spec = agentSpec({ delivery: { unresolved: "later" } });
    const { deliveryId, runId } = await accept(store, { runs: [{ lane: "a", spec }] });
    expect((await store.loadRun(runId)).replyOutcome).toBe("pending");
    await store.beginAttempt(runId, { number: 1, startedAt: STARTED_AT });
    expect((await store.get(deliveryId))?.state).toBe("running");
    await store.endAttempt(runId, { endedAt: STARTED_AT + 5, status: "error", error: "refused", reply: null });
    await store.beginAttempt(runId, { number: 2, startedAt: STARTED_AT + 10 });
    await store.endAttempt(runId, { endedAt: STARTED_AT + 20, status: "ok", error: null, reply: "The reply." });
    await store.recordStep(runId, "summarized");
    await store.recordStep(runId, "delivered", { outcome: "sent", at: STARTED_AT + 21 });

    const reopened = await underTest().reopen();
    const run = await reopened.loadRun(runId);
    expect(run).toMatchObject({
      state: "running",
      reply: "The reply.",
      steps: ["summarized", "delivered"],
      replyOutcome: "sent",
      attempts: [
        {
          number: 1,
          startedAt: "2026-01-02T03:04:06.678Z",
          endedAt: "2026-01-02T03:04:06.683Z",
          status: "error",
          error: "refused",
        },
        {
          number: 2,
          startedAt: "2026-01-02T03:04:06.688Z",
          endedAt: "2026-01-02T03:04:06.698Z",
          status: "ok",
          error: null,
        },
      ],
    });
    expect((await reopened.get(deliveryId))?.settledAt).toBeUndefined();
    await reopened.settle(runId, { ...DONE, at: STARTED_AT + 30 });
    expect((await reopened.get(deliveryId))?.settledAt).toBe("2026-01-02T03:04:06.708Z");
    expect((await reopened.get(deliveryId))?.runs[0]).toEqual({
      id: runId,
      state: "done",
      reason: null,
      spec,
      attempts: run.attempts,
      reply: "The reply.",
      delivery: "sent",
      dueAt: null,
      calls: 1,
      // The time of the summary is not known.
      steps: [{ step: "delivered", at: "2026-01-02T03:04:06.699Z" }],
      settledAt: "2026-01-02T03:04:06.708Z",
    });
  });

  it("gives the steps of a run in the order of their times, and the end of the last run as that of its delivery", async () => {
    const { store } = underTest();
    const run = { lane: "a", spec: agentSpec() };
    const { deliveryId, runIds } = await accept(store, { runs: [run, run] });
    await store.recordStep(runIds[0]!, "heartbeat", { at: STARTED_AT + 1 });
    await store.recordStep(runIds[0]!, "summarized", { at: STARTED_AT + 2 });
    await store.recordStep(runIds[0]!, "called-back", { at: STARTED_AT + 3 });
    await store.recordStep(runIds[0]!, "released", { at: STARTED_AT + 4 });
    await store.settle(runIds[0]!, { ...DONE, at: STARTED_AT + 40 });
    expect((await store.get(deliveryId))?.runs[0]?.steps.map(({ step }) => step)).toEqual([
      "heartbeat",
      "summarized",
      "called-back",
      "released",
    ]);
    expect((await store.get(deliveryId))?.settledAt).toBeUndefined();
    await store.settle(runIds[1]!, { ...DONE, at: STARTED_AT + 30 });
    expect((await store.list({ limit: 1 })).deliveries[0]?.settledAt).toBe("2026-01-02T03:04:06.718Z");
  });

  it("shows an attempt that a dead process left as running until its end is recorded", async () => {
    const { runId } = await accept(underTest().store);
    await underTest().store.beginAttempt(runId, { number: 1, startedAt: STARTED_AT });
    const reopened = await underTest().reopen();
    expect((await reopened.loadRun(runId)).attempts).toMatchObject([{ status: "running", endedAt: null }]);
    await reopened.endAttempt(runId, { endedAt: STARTED_AT + 1, status: "interrupted", error: null, reply: null });
    expect((await reopened.loadRun(runId)).attempts).toMatchObject([{ status: "interrupted" }]);
  });

  it("gives the whole reply while the run is open, and 2,000 characters to people", async () => {
    const { store } = underTest();
    const reply = `${"a".repeat(1999)}😀${"b".repeat(50_000)}`;
    const { deliveryId, runId } = await accept(store);
    await store.beginAttempt(runId, { number: 1, startedAt: STARTED_AT });
    await store.endAttempt(runId, { endedAt: STARTED_AT, status: "ok", error: null, reply });
    expect((await store.loadRun(runId)).reply).toBe(reply);
    // The character at the edge takes two places and is left out whole.
    expect((await store.get(deliveryId))?.runs[0]?.reply).toBe("a".repeat(1999));
    await store.settle(runId, DONE);
    expect((await store.get(deliveryId))?.runs[0]?.reply).toBe("a".repeat(1999));
  });

  it("keeps no reply of an attempt that did not end well", async () => {
    const { store } = underTest();
    const { runId } = await accept(store);
    await store.beginAttempt(runId, { number: 1, startedAt: STARTED_AT });
    await store.endAttempt(runId, { endedAt: STARTED_AT, status: "timeout", error: "too slow", reply: "half a" });
    expect((await store.loadRun(runId)).reply).toBeNull();
  });

  it("holds a run with its reason and lets it continue later", async () => {
    const { store } = underTest();
    const { deliveryId, runId } = await accept(store);
    await store.hold(runId, "the process died under it");
    expect(await store.get(deliveryId)).toMatchObject({ state: "held", reason: "the process died under it" });
    await store.beginAttempt(runId, { number: 1, startedAt: STARTED_AT });
    expect(await store.get(deliveryId)).toMatchObject({ state: "running", reason: null });
  });

  it("settles a run permanently", async () => {
    const { store } = underTest();
    const { deliveryId, runId } = await accept(store);
    await store.settle(runId, { state: "failed", reason: "gave up" });
    await store.settle(runId, DONE);
    expect(await store.get(deliveryId)).toMatchObject({ state: "failed", reason: "gave up" });
    await expect(store.beginAttempt(runId, { number: 1, startedAt: 0 })).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(store.hold(runId, "x")).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(store.postpone(runId, { dueAt: 0, reason: "x" })).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(await openRuns(store)).toEqual([]);
  });

  it("cancels a run that is held, and keeps what it was held for out of its reason", async () => {
    const { store } = underTest();
    const { deliveryId, runId } = await accept(store);
    await store.hold(runId, "the process died under it");
    await store.settle(runId, { state: "canceled", reason: "by hand" });
    expect(await store.get(deliveryId)).toMatchObject({ state: "canceled", reason: "by hand" });
    expect(await openRuns(store)).toEqual([]);
  });

  it("ends the attempt that is under way with a run that is canceled, and takes its own end when that comes later", async () => {
    const { store } = underTest();
    const run = { lane: "a", spec: agentSpec() };
    const { deliveryId, runIds } = await accept(store, { runs: [run, run] });
    for (const runId of runIds) {
      await store.beginAttempt(runId, { number: 1, startedAt: STARTED_AT });
      await store.endAttempt(runId, { endedAt: STARTED_AT + 1, status: "error", error: "refused", reply: null });
      await store.beginAttempt(runId, { number: 2, startedAt: STARTED_AT + 2 });
    }
    await store.settleAll(runIds, { state: "canceled", reason: "by hand", at: STARTED_AT + 5 });
    const late = { endedAt: STARTED_AT + 9, status: "ok", error: null, reply: "It is done." } as const;
    await store.endAttempt(runIds[1]!, late);
    const reopened = await underTest().reopen();
    const runs = (await reopened.get(deliveryId))?.runs;
    const first = { number: 1, status: "error", error: "refused" };
    expect(runs?.[0]?.attempts).toMatchObject([
      first,
      { number: 2, status: "aborted", error: "by hand", endedAt: "2026-01-02T03:04:06.683Z" },
    ]);
    expect(runs?.[1]).toMatchObject({
      state: "canceled",
      reply: "It is done.",
      attempts: [first, { number: 2, status: "ok", error: null, endedAt: "2026-01-02T03:04:06.687Z" }],
    });
  });

  it("says that a reply went to the fallback target", async () => {
    const { store } = underTest();
    const { deliveryId, runId } = await accept(store);
    await store.recordStep(runId, "delivered", { outcome: "fallback" });
    expect((await store.loadRun(runId)).replyOutcome).toBe("fallback");
    await store.settle(runId, DONE);
    expect((await store.get(deliveryId))?.runs[0]?.delivery).toBe("fallback");
  });

  it("settles many runs in one call, or none when one is unknown", async () => {
    const { store } = underTest();
    const ids: string[] = [];
    for (let index = 0; index < 20; index++) ids.push((await accept(store)).runId);
    const unknown = `${ids[0]!.slice(0, -3)}00_0`;
    await expect(store.settleAll([...ids, unknown], DONE)).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(await openRuns(store)).toHaveLength(20);
    await store.settleAll(ids, DONE);
    expect(await openRuns(store)).toEqual([]);
    await store.settleAll([], DONE);
  });

  it("derives a delivery's state from its runs: running, queued, held, failed, canceled, done", async () => {
    const { store } = underTest();
    const runs = Array.from({ length: 6 }, (_, index) => ({ lane: `${index}`, spec: agentSpec() }));
    const { deliveryId, runIds } = await accept(store, { runs });
    const state = async () => (await store.get(deliveryId))?.state;
    expect(await state()).toBe("queued");
    await store.beginAttempt(runIds[0]!, { number: 1, startedAt: STARTED_AT });
    expect(await state()).toBe("running");
    await store.settle(runIds[0]!, DONE);
    expect(await state()).toBe("queued");
    await store.settle(runIds[5]!, { state: "failed", reason: "no model" });
    await store.settle(runIds[1]!, { state: "canceled", reason: "by hand" });
    await store.settle(runIds[2]!, DONE);
    await store.settle(runIds[4]!, DONE);
    await store.hold(runIds[3]!, "interrupted");
    expect(await state()).toBe("held");
    await store.settle(runIds[3]!, DONE);
    expect(await store.get(deliveryId)).toMatchObject({ state: "failed", reason: "no model" });
    const [summary] = (await store.list({ limit: 1 })).deliveries;
    expect(summary).toMatchObject({ state: "failed", reason: "no model", runIds });
  });

  it("knows no run and no delivery that it did not accept", async () => {
    const { store } = underTest();
    const { deliveryId, runId } = await accept(store);
    const end = { endedAt: 0, status: "ok", error: null, reply: null } as const;
    const calls = (id: string): readonly (() => Promise<unknown>)[] => [
      () => store.loadRun(id),
      () => store.beginAttempt(id, { number: 1, startedAt: 0 }),
      () => store.endAttempt(id, end),
      () => store.recordStep(id, "summarized"),
      () => store.hold(id, "x"),
      () => store.postpone(id, { dueAt: STARTED_AT, reason: "x" }),
      () => store.stopCoalescing(id),
      () => store.settle(id, DONE),
      () => store.settleAll([id], DONE),
    ];
    for (const id of ["", "run_1", "run_../../x_0", otherTag(runId), `${runId}9`, deliveryId]) {
      for (const call of calls(id))
        await expect(call()).rejects.toMatchObject({ name: "StoreError", code: "NOT_FOUND" });
    }
    for (const id of ["", "dlv_1", otherTag(deliveryId), runId, `${deliveryId}0`]) {
      expect(await store.get(id)).toBeUndefined();
      expect(await store.body(id)).toBeUndefined();
      expect(await store.replayable(id)).toBeUndefined();
      expect(await store.stateFor(id, "token:1")).toBeUndefined();
    }
    // No attempt of it has begun.
    await expect(store.endAttempt(runId, end)).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(await stateOf(store, deliveryId)).toBe("queued");
  });
}

async function stateOf(store: DeliveryStore, deliveryId: string): Promise<string | undefined> {
  return (await store.get(deliveryId))?.state;
}

/** The same place, guessed without knowing the random part. */
function otherTag(id: string): string {
  const at = id.length - 4;
  const digit = id[at] === "0" ? "1" : "0";
  return id.slice(0, at) + digit + id.slice(at + 1);
}
