import { expect, it } from "vitest";
import { agentSpec, RECEIVED_AT } from "./new-delivery.ts";
import { accept, openRun } from "./store-actions.ts";
import type { StoreUnderTest } from "./store-harness.ts";

const DUE_AT = RECEIVED_AT + 30_000;
const ATTEMPT = { number: 1, startedAt: RECEIVED_AT };

/** Runs that are tried again later. */
export function describePostponing(underTest: () => StoreUnderTest): void {
  it("puts a run back into the queue with its time, its reason and all that has happened", async () => {
    const { store } = underTest();
    const { deliveryId, runId } = await accept(store, { mappingId: "github" });
    await store.beginAttempt(runId, ATTEMPT);
    await store.endAttempt(runId, { endedAt: RECEIVED_AT + 5, status: "error", error: "busy", reply: null });
    await store.postpone(runId, { dueAt: DUE_AT, reason: "the model is busy" });

    expect(await store.get(deliveryId)).toMatchObject({
      state: "queued",
      reason: "the model is busy",
      runs: [{ state: "queued", dueAt: new Date(DUE_AT).toISOString(), attempts: [{ number: 1, error: "busy" }] }],
    });
    const reopened = await underTest().reopen();
    expect(await openRun(reopened, runId)).toEqual({
      runId,
      mappingId: "github",
      lane: "agent:main:hook:1",
      kind: "agent",
      state: "queued",
      dueAt: DUE_AT,
      expiresAt: null,
      begun: true,
      replied: false,
    });
    expect(await reopened.loadRun(runId)).toMatchObject({ state: "queued", attempts: [{ status: "error" }] });
  });

  it("begins it again as if it had never waited", async () => {
    const { store } = underTest();
    const { deliveryId, runId } = await accept(store);
    await store.beginAttempt(runId, ATTEMPT);
    await store.postpone(runId, { dueAt: DUE_AT, reason: "busy" });
    await store.beginAttempt(runId, { ...ATTEMPT, number: 2 });
    expect(await store.get(deliveryId)).toMatchObject({ state: "running", reason: null, runs: [{ dueAt: null }] });
    expect(await openRun(store, runId)).toMatchObject({ state: "running", dueAt: null, begun: true });
    expect((await store.loadRun(runId)).attempts).toHaveLength(2);
  });

  it("lets a run wait no longer than it may until a host has begun it", async () => {
    const { store } = underTest();
    const expiresAt = RECEIVED_AT + 60_000;
    const { runId } = await accept(store, { runs: [{ lane: "a", spec: agentSpec(), expiresAt }] });
    await store.beginAttempt(runId, ATTEMPT);
    await store.endAttempt(runId, { endedAt: RECEIVED_AT, status: "aborted", error: "no host", reply: null });
    await store.postpone(runId, { dueAt: DUE_AT, reason: "no host" });
    expect(await openRun(store, runId)).toMatchObject({ begun: true, expiresAt });
    await store.beginAttempt(runId, ATTEMPT);
    expect(await openRun(store, runId)).toMatchObject({ state: "running", expiresAt: null });
    await store.endAttempt(runId, { endedAt: RECEIVED_AT, status: "error", error: "busy", reply: null });
    await store.postpone(runId, { dueAt: DUE_AT, reason: "busy" });
    expect(await openRun(store, runId)).toMatchObject({ begun: true, expiresAt: null });
  });

  it("knows of a run that the agent has replied, so that only the rest is done again", async () => {
    const { store } = underTest();
    const { runId } = await accept(store);
    await store.beginAttempt(runId, ATTEMPT);
    await store.endAttempt(runId, { endedAt: RECEIVED_AT, status: "ok", error: null, reply: "The reply." });
    expect(await openRun(store, runId)).toMatchObject({ state: "running", begun: true, replied: true });
    await store.recordStep(runId, "summarized");
    await store.postpone(runId, { dueAt: DUE_AT, reason: "the channel is busy" });
    const reopened = await underTest().reopen();
    expect(await openRun(reopened, runId)).toMatchObject({ state: "queued", begun: true, replied: true });
    expect(await reopened.loadRun(runId)).toMatchObject({ reply: "The reply.", steps: ["summarized"] });
  });

  it("postpones a run that was loaded and has not begun, again and again", async () => {
    const { store } = underTest();
    const { runId } = await accept(store);
    await store.loadRun(runId);
    await store.postpone(runId, { dueAt: DUE_AT, reason: "no host" });
    await store.postpone(runId, { dueAt: DUE_AT + 1, reason: "still no host" });
    expect(await openRun(store, runId)).toMatchObject({ dueAt: DUE_AT + 1, begun: false, replied: false });
    expect((await store.loadRun(runId)).attempts).toEqual([]);
  });

  it("postpones a run that was held, and holds and settles one that was postponed", async () => {
    const { store } = underTest();
    const { deliveryId, runId } = await accept(store);
    await store.hold(runId, "a person decides");
    await store.postpone(runId, { dueAt: DUE_AT, reason: "by hand" });
    expect(await openRun(store, runId)).toMatchObject({ state: "queued", dueAt: DUE_AT });
    await store.hold(runId, "a person decides");
    expect(await openRun(store, runId)).toMatchObject({ state: "held", dueAt: null });
    await store.settle(runId, { state: "done", reason: null });
    expect((await store.get(deliveryId))?.runs).toMatchObject([{ state: "done", dueAt: null }]);
  });
}
