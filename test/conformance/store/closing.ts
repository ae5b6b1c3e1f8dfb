import { expect, it } from "vitest";
import type { DeliveryStore } from "../../../src/storage/delivery-store.ts";
import { newDelivery } from "./new-delivery.ts";
import { accept, accepted, openRuns } from "./store-actions.ts";
import type { StoreUnderTest } from "./store-harness.ts";

/** The end of a store. */
export function describeClosing(underTest: () => StoreUnderTest): void {
  it("finishes what was handed to it", async () => {
    const session = underTest();
    const pending = Array.from({ length: 100 }, () => session.store.accept(newDelivery()));
    const reopened = await session.reopen();
    const outcomes = (await Promise.all(pending)).map(accepted);
    expect(outcomes).toHaveLength(100);
    for (const { deliveryId } of outcomes) expect(await reopened.get(deliveryId)).toBeDefined();
  });

  it("refuses every later call with CLOSED", async () => {
    const { store } = underTest();
    const { deliveryId, runId } = await accept(store);
    await store.close();
    const closed = { name: "StoreError", code: "CLOSED" };
    for (const call of callsOf(store, deliveryId, runId)) await expect(call()).rejects.toMatchObject(closed);
  });

  it("refuses calls from the moment of the call to close, not only from its end", async () => {
    const { store } = underTest();
    const closing = store.close();
    await expect(store.accept(newDelivery())).rejects.toMatchObject({ code: "CLOSED" });
    await closing;
  });

  it("may be closed more than once", async () => {
    const { store } = underTest();
    await Promise.all([store.close(), store.close()]);
    await store.close();
  });
}

function callsOf(store: DeliveryStore, deliveryId: string, runId: string): readonly (() => Promise<unknown>)[] {
  const settled = { state: "done", reason: null } as const;
  return [
    () => store.accept(newDelivery()),
    () => openRuns(store),
    () => store.loadRun(runId),
    () => store.beginAttempt(runId, { number: 1, startedAt: 0 }),
    () => store.endAttempt(runId, { endedAt: 0, status: "ok", error: null, reply: null }),
    () => store.recordStep(runId, "heartbeat"),
    () => store.postpone(runId, { dueAt: 0, reason: "x" }),
    () => store.stopCoalescing(runId),
    () => store.hold(runId, "x"),
    () => store.settle(runId, settled),
    () => store.settleAll([runId], settled),
    () => store.list({ limit: 1 }),
    () => store.get(deliveryId),
    () => store.body(deliveryId),
    () => store.replayable(deliveryId),
    () => store.stateFor(deliveryId, "token"),
    () => store.remove([deliveryId], 0),
    () => store.prune({ now: 0, removeBefore: 0, emptyBefore: 0, maxBytes: null }),
    () => store.pauses(),
    () => store.pause({ scope: "m", reason: "x", since: 0 }),
    () => store.resume("m"),
    () => store.addUsage([{ scope: "m", minute: 0, runs: 1, tokens: 0, microUsd: 0 }]),
    () => store.usageSince(0),
    () => store.openOutage({ subject: "x", since: 0 }),
    () => store.closeOutage("x"),
    () => store.outages(),
  ];
}
