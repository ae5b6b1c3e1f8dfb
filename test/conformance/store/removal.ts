import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import type { SettledState } from "../../../src/core/run.ts";
import { agentSpec, endedDelivery, newClaim, newCoalesce, newDelivery, RECEIVED_AT } from "./new-delivery.ts";
import { accept, listAll, openRuns } from "./store-actions.ts";
import type { StoreUnderTest } from "./store-harness.ts";

const LATER = RECEIVED_AT + 30 * 86_400_000;

/** Removal at a person's wish. */
export function describeRemoval(underTest: () => StoreUnderTest): void {
  const settled = async (state: SettledState = "done") => {
    const { store } = underTest();
    const { deliveryId, runId } = await accept(store);
    await store.settle(runId, { state, reason: null });
    return deliveryId;
  };
  /** The newest delivery may be kept for its number. */
  const andOneMore = () => accept(underTest().store);

  it("removes what is settled or ended, whatever its state and age", async () => {
    const { store } = underTest();
    const ids = [await settled("done"), await settled("failed"), await settled("canceled"), await settled("skipped")];
    for (const state of ["filtered", "skipped"] as const) {
      ids.push((await store.accept(endedDelivery(state))).deliveryId);
    }
    const last = await andOneMore();
    expect(await store.remove(ids, RECEIVED_AT)).toEqual({ removed: 6, emptied: 0, kept: 0 });
    expect(await listAll(store, { limit: 10 })).toEqual([last.deliveryId]);
    for (const id of ids) {
      expect([await store.get(id), await store.body(id), await store.replayable(id)]).toEqual(Array(3).fill(undefined));
    }
    expect(await store.remove(ids, RECEIVED_AT)).toEqual({ removed: 0, emptied: 0, kept: 6 });
  });

  it("leaves open deliveries and their runs alone", async () => {
    const { store } = underTest();
    const runs = [1, 2].map(() => ({ lane: "a", spec: agentSpec() }));
    const [queued, running, held, half] = [
      await accept(store),
      await accept(store),
      await accept(store),
      await accept(store, { runs }),
    ];
    await store.beginAttempt(running.runId, { number: 1, startedAt: RECEIVED_AT });
    await store.hold(held.runId, "wait");
    await store.settle(half.runId, { state: "done", reason: null });
    const ids = [queued, running, held, half].map(({ deliveryId }) => deliveryId);
    expect(await store.remove(ids, LATER)).toEqual({ removed: 0, emptied: 0, kept: 4 });
    expect(await openRuns(store)).toHaveLength(4);
    for (const id of ids) expect((await store.get(id))?.bodyBytes).toBeGreaterThan(0);
  });

  it("leaves a coalesced call alone as long as the run is open that it is a part of", async () => {
    const { store } = underTest();
    const coalesce = newCoalesce();
    const first = await accept(store, { coalesce });
    const part = await store.accept(newDelivery({ coalesce }));
    await andOneMore();
    expect(part.kind).toBe("coalesced");
    expect(await store.remove([part.deliveryId], LATER)).toEqual({ removed: 0, emptied: 0, kept: 1 });
    expect((await store.loadRun(first.runId)).coalesced?.count).toBe(2);
    await store.stopCoalescing(first.runId);
    expect(await store.remove([part.deliveryId], LATER)).toMatchObject({ kept: 1 });
    await store.settle(first.runId, { state: "done", reason: null });
    expect(await store.remove([part.deliveryId], LATER)).toMatchObject({ removed: 1 });
    expect(await store.get(first.deliveryId)).toMatchObject({ state: "done" });
  });

  it("empties and keeps listing what a copy could still arrive of, which is then a repeat as before", async () => {
    const { store } = underTest();
    const replayKey = { key: randomBytes(32), expiresAt: RECEIVED_AT + 86_400_000 };
    const [idempotency, replayKeys] = [newClaim(), [replayKey]];
    const claimed = await accept(store, { idempotency });
    const signed = await accept(store, { replayKeys });
    for (const { runId } of [claimed, signed]) await store.settle(runId, { state: "done", reason: "so" });
    await andOneMore();
    const ids = [claimed.deliveryId, signed.deliveryId];
    const before = await Promise.all(ids.map((id) => store.get(id)));
    expect(await store.remove(ids, RECEIVED_AT + 1000)).toEqual({ removed: 0, emptied: 2, kept: 0 });
    for (const [index, id] of ids.entries()) {
      const { runs, headers, query, bodyBytes, ...summary } = (await store.get(id))!;
      expect({ ...before[index], name: "agent" }).toMatchObject(summary);
      expect([headers, query, bodyBytes]).toEqual([{}, {}, 0]);
      expect(runs[0]).toEqual({ ...before[index]!.runs[0], spec: agentSpec({ message: "", name: "agent" }) });
      expect(await store.body(id)).toBeUndefined();
      expect((await store.replayable(id))?.body).toBeNull();
    }
    const reopened = await underTest().reopen();
    for (const copy of [{ idempotency }, { replayKeys }]) {
      expect(await reopened.accept(newDelivery(copy))).toMatchObject({ kind: "repeat" });
    }
    expect(await reopened.remove(ids, RECEIVED_AT + 2000)).toMatchObject({ removed: 0, emptied: 2 });
    expect(await reopened.remove(ids, LATER)).toEqual({ removed: 2, emptied: 0, kept: 0 });
  });

  it("lets a request be made again whose delivery was removed", async () => {
    const { store } = underTest();
    const idempotency = newClaim();
    const replayKeys = [{ key: randomBytes(32), expiresAt: RECEIVED_AT + 1000 }];
    const { deliveryId, runId } = await accept(store, { idempotency, replayKeys });
    await store.settle(runId, { state: "done", reason: null });
    await andOneMore();
    expect(await store.remove([deliveryId], LATER)).toMatchObject({ removed: 1 });
    expect(await store.accept(newDelivery({ idempotency, replayKeys, receivedAt: LATER }))).toMatchObject({
      kind: "accepted",
    });
  });

  it("shows of what delivery another is a repeat when that one is gone", async () => {
    const { store } = underTest();
    const idempotency = newClaim();
    const first = await accept(store, { idempotency });
    await store.settle(first.runId, { state: "done", reason: null });
    await store.accept(newDelivery({ idempotency }));
    await andOneMore();
    await store.remove([first.deliveryId], LATER);
    const { deliveries } = await store.list({ limit: 10, state: "duplicate" });
    expect(deliveries.map((delivery) => delivery.relatedTo)).toEqual([
      { how: "duplicate", deliveryId: first.deliveryId },
    ]);
    expect(await store.remove([deliveries[0]!.id], LATER)).toMatchObject({ removed: 1 });
  });

  it("does nothing for unknown ids", async () => {
    const { store } = underTest();
    const id = await settled();
    await andOneMore();
    const forged = id.slice(0, -1) + (id.endsWith("0") ? "1" : "0");
    expect(await store.remove([forged, "dlv_x", ""], LATER)).toEqual({ removed: 0, emptied: 0, kept: 3 });
    expect(await store.remove([], LATER)).toEqual({ removed: 0, emptied: 0, kept: 0 });
    expect(await store.get(id)).toBeDefined();
  });

  it("refuses more than 64 at a time", async () => {
    await expect(underTest().store.remove(Array(65).fill("dlv_x"), LATER)).rejects.toThrow("64");
  });
}
