import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import type { DeliveryStore } from "../../../src/storage/delivery-store.ts";
import type { OverlapClaim } from "../../../src/storage/new-delivery.ts";
import { agentSpec, endedDelivery, newClaim, newDelivery, RECEIVED_AT } from "./new-delivery.ts";
import { accept, accepted, listAll, openRuns } from "./store-actions.ts";
import type { StoreUnderTest } from "./store-harness.ts";

const ATTEMPT = { number: 1, startedAt: RECEIVED_AT };
const run = () => ({ lane: "a", spec: agentSpec() });
const claim = (mode: OverlapClaim["mode"]): OverlapClaim => ({ key: randomBytes(32), mode });

/** Overlap: what happens to a call while runs with its key are open. */
export function describeOverlap(underTest: () => StoreUnderTest): void {
  it("skip: ends a call as skipped while a run with its key is queued or running", async () => {
    const { store } = underTest();
    const overlap = claim("skip");
    const first = await accept(store, { overlap });
    const second = await store.accept(newDelivery({ overlap, body: Buffer.from("kept") }));
    expect(second).toMatchObject({ kind: "skipped", reason: expect.stringContaining('overlap: "skip"') });
    await store.beginAttempt(first.runId, ATTEMPT);
    expect(await store.accept(newDelivery({ overlap }))).toMatchObject({ kind: "skipped" });

    const reason = second.kind === "skipped" ? second.reason : "";
    expect(await store.get(second.deliveryId)).toMatchObject({ state: "skipped", reason, runs: [], bodyBytes: 4 });
    expect(await listAll(store, { limit: 10, state: "skipped" })).toContain(second.deliveryId);
    expect((await openRuns(store)).map(({ runId }) => runId)).toEqual([first.runId]);
    expect(await (await underTest().reopen()).accept(newDelivery({ overlap }))).toMatchObject({ kind: "skipped" });
  });

  it.each<[string, (store: DeliveryStore, runId: string) => Promise<void>]>([
    ["done", (store, runId) => store.settle(runId, { state: "done", reason: null })],
    ["failed", (store, runId) => store.settle(runId, { state: "failed", reason: "x" })],
    ["skipped", (store, runId) => store.settle(runId, { state: "skipped", reason: "x" })],
    ["held for a person", (store, runId) => store.hold(runId, "x")],
  ])("skip: accepts the next call once the run is %s", async (_, change) => {
    const { store } = underTest();
    const overlap = claim("skip");
    const { runId } = await accept(store, { overlap });
    await change(store, runId);
    expect(await store.accept(newDelivery({ overlap }))).toMatchObject({ kind: "accepted" });
    expect(await store.accept(newDelivery({ overlap }))).toMatchObject({ kind: "skipped" });
  });

  it("skip: waits for every run of a delivery, and for one that is to be tried again", async () => {
    const { store } = underTest();
    const overlap = claim("skip");
    const { runIds } = await accept(store, { overlap, runs: [run(), run()] });
    await store.settle(runIds[0]!, { state: "done", reason: null });
    expect(await store.accept(newDelivery({ overlap }))).toMatchObject({ kind: "skipped" });
    await store.beginAttempt(runIds[1]!, ATTEMPT);
    await store.postpone(runIds[1]!, { dueAt: RECEIVED_AT + 10, reason: "busy" });
    expect(await store.accept(newDelivery({ overlap }))).toMatchObject({ kind: "skipped" });
  });

  it("skip: accepts exactly one of fifty simultaneous calls, and calls of other keys or none", async () => {
    const { store } = underTest();
    const overlap = claim("skip");
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => store.accept(newDelivery({ overlap }))));
    expect(outcomes.filter(({ kind }) => kind === "accepted")).toHaveLength(1);
    expect(await store.accept(newDelivery({ overlap: claim("skip") }))).toMatchObject({ kind: "accepted" });
    expect(await store.accept(newDelivery())).toMatchObject({ kind: "accepted" });
  });

  it("skip: answers a repeat of a skipped call as such", async () => {
    const { store } = underTest();
    const [overlap, idempotency] = [claim("skip"), newClaim()];
    await accept(store, { overlap });
    const { deliveryId } = await store.accept(newDelivery({ overlap, idempotency }));
    expect(await store.accept(newDelivery({ overlap, idempotency }))).toEqual({
      kind: "repeat",
      deliveryId,
      runIds: [],
    });
  });

  it("latest: skips what waits and has not begun, and takes its place", async () => {
    const { store } = underTest();
    const overlap = claim("latest");
    const running = await accept(store, { overlap });
    await store.beginAttempt(running.runId, ATTEMPT);
    const waiting = accepted(await store.accept(newDelivery({ overlap, runs: [run(), run()] })));
    const outcome = await store.accept(newDelivery({ overlap }));
    expect(outcome).toMatchObject({
      kind: "accepted",
      superseded: { runIds: waiting.runIds, reason: expect.stringContaining('overlap: "latest"') },
    });
    const { deliveryId, runId } = accepted(outcome);
    const reason = outcome.kind === "accepted" ? outcome.superseded?.reason : undefined;
    expect(await store.get(waiting.deliveryId)).toMatchObject({
      state: "skipped",
      reason,
      runs: [
        { state: "skipped", reason },
        { state: "skipped", reason },
      ],
    });
    expect(await store.loadRun(waiting.runId)).toMatchObject({ state: "skipped" });
    await expect(store.beginAttempt(waiting.runId, ATTEMPT)).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect((await openRuns(store)).map((run) => run.runId)).toEqual([running.runId, runId]);
    expect(await listAll(store, { limit: 10, state: "skipped" })).toEqual([waiting.deliveryId]);
    expect(await listAll(store, { limit: 10, state: "queued" })).toEqual([deliveryId]);
  });

  it("latest: leaves alone what has begun, is held, or has another key", async () => {
    const { store } = underTest();
    const overlap = claim("latest");
    const retried = await accept(store, { overlap });
    await store.beginAttempt(retried.runId, ATTEMPT);
    await store.postpone(retried.runId, { dueAt: RECEIVED_AT + 10, reason: "busy" });
    const stepped = await accept(store, { overlap });
    await store.recordStep(stepped.runId, "summarized");
    const held = await accept(store, { overlap, runs: [run()] });
    await store.hold(held.runId, "a person decides");
    const other = await accept(store, { overlap: claim("latest") });
    const outcome = await store.accept(newDelivery({ overlap }));
    expect(outcome).not.toHaveProperty("superseded");
    const open = [retried, stepped, held, other, accepted(outcome)].map(({ runId }) => runId);
    expect((await openRuns(store)).map(({ runId }) => runId)).toEqual(open);
  });

  it("latest: leaves the last of simultaneous calls, and settles the others", async () => {
    const { store } = underTest();
    const overlap = claim("latest");
    const outcomes = (await Promise.all(Array.from({ length: 50 }, () => store.accept(newDelivery({ overlap }))))).map(
      accepted,
    );
    expect((await openRuns(store)).map(({ runId }) => runId)).toEqual([outcomes.at(-1)!.runId]);
    for (const { runId } of outcomes.slice(0, -1)) {
      expect(await store.loadRun(runId)).toMatchObject({ state: "skipped" });
    }
  });

  it("latest: keeps the key of a call whose run gave way, since it was answered", async () => {
    const { store } = underTest();
    const [overlap, idempotency] = [claim("latest"), newClaim()];
    const { deliveryId } = await accept(store, { overlap, idempotency });
    await accept(store, { overlap });
    expect(await store.accept(newDelivery({ overlap, idempotency }))).toMatchObject({ kind: "repeat", deliveryId });
  });

  it("is of no meaning to a delivery without runs", async () => {
    const { store } = underTest();
    const overlap = claim("skip");
    const { runId } = await accept(store, { overlap });
    for (const mode of ["skip", "latest"] as const) {
      const ended = await store.accept(endedDelivery("filtered", "a bot", { overlap: { ...overlap, mode } }));
      expect(ended).not.toHaveProperty("superseded");
      expect(await store.get(ended.deliveryId)).toMatchObject({ state: "filtered", reason: "a bot" });
    }
    expect((await openRuns(store)).map((run) => run.runId)).toEqual([runId]);
  });

  it("skipped: is the state of a delivery only when all of its runs are", async () => {
    const { store } = underTest();
    const states = [
      ["skipped", "done"],
      ["failed", "skipped"],
      ["skipped", "canceled"],
      ["skipped", "skipped"],
    ] as const;
    for (const [first, second] of states) {
      const { deliveryId, runIds } = await accept(store, { runs: [run(), run()] });
      await store.settle(runIds[0]!, { state: first, reason: "the first" });
      await store.settle(runIds[1]!, { state: second, reason: "the second" });
      const state = first === "skipped" ? second : first;
      const [summary] = (await store.list({ limit: 1, state })).deliveries;
      expect(summary).toMatchObject({ id: deliveryId, state });
      expect((await store.get(deliveryId))?.runs.map((run) => run.state)).toEqual([first, second]);
    }
    expect((await store.list({ limit: 10, state: "skipped" })).deliveries).toMatchObject([{ reason: "the second" }]);
  });

  it("skipped: shows the state of the other runs while they are open", async () => {
    const { store } = underTest();
    const { deliveryId, runIds } = await accept(store, { runs: [run(), run()] });
    await store.settle(runIds[0]!, { state: "skipped", reason: "too old" });
    expect(await store.get(deliveryId)).toMatchObject({ state: "queued", reason: null });
    expect(await listAll(store, { limit: 10, state: "skipped" })).toEqual([]);
  });
}
