import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import type { DeliveryMark } from "../../../src/storage/new-delivery.ts";
import { agentSpec, endedDelivery, newClaim, newDelivery, RECEIVED_AT } from "./new-delivery.ts";
import { accept, accepted, listAll, openRuns } from "./store-actions.ts";
import type { StoreUnderTest } from "./store-harness.ts";

function newMark(expiresAt = RECEIVED_AT + 60_000): DeliveryMark {
  return { key: randomBytes(32), expiresAt };
}

/** Marks: a copy of a request is recognized whatever key or content it comes with. */
export function describeMarks(underTest: () => StoreUnderTest): void {
  it("answers a copy with the first answer's ids and runs nothing again, whatever else it says", async () => {
    const { store } = underTest();
    const mark = newMark();
    const runs = [1, 2].map(() => ({ lane: "a", spec: agentSpec() }));
    const first = accepted(await store.accept(newDelivery({ marks: [mark], runs })));
    const copy = newDelivery({ marks: [newMark(), mark], idempotency: newClaim(), body: Buffer.from("other") });
    expect(await store.accept(copy)).toEqual({
      kind: "repeat",
      deliveryId: first.deliveryId,
      runIds: first.runIds,
    });
    expect((await openRuns(store)).map((run) => run.runId)).toEqual(first.runIds);
  });

  it("takes neither key nor other marks for a copy that it did not accept", async () => {
    const { store } = underTest();
    const [mark, other, idempotency] = [newMark(), newMark(), newClaim()];
    const first = await accept(store, { marks: [mark] });
    await store.accept(newDelivery({ marks: [other, mark], idempotency }));
    const second = await accept(store, { marks: [other], idempotency });
    expect(second.deliveryId).not.toBe(first.deliveryId);
  });

  it("takes no mark for a request whose idempotency key is taken", async () => {
    const { store } = underTest();
    const [mark, idempotency] = [newMark(), newClaim()];
    await accept(store, { idempotency });
    const conflict = { ...idempotency, fingerprint: randomBytes(32) };
    expect(await store.accept(newDelivery({ marks: [mark], idempotency: conflict }))).toMatchObject({
      kind: "conflict",
    });
    expect(await store.accept(newDelivery({ marks: [mark] }))).toMatchObject({ kind: "accepted" });
  });

  it("accepts exactly one of fifty simultaneous copies", async () => {
    const { store } = underTest();
    const mark = newMark();
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, () => store.accept(newDelivery({ marks: [newMark(), { ...mark }] }))),
    );
    expect(outcomes.filter(({ kind }) => kind === "accepted")).toHaveLength(1);
    expect(new Set(outcomes.map(({ deliveryId }) => deliveryId)).size).toBe(1);
    expect(await openRuns(store)).toHaveLength(1);
  });

  it("lets a mark lapse at its time and not before", async () => {
    const { store } = underTest();
    const mark = newMark(RECEIVED_AT + 1000);
    await accept(store, { marks: [mark] });
    const before = await store.accept(newDelivery({ marks: [mark], receivedAt: RECEIVED_AT + 999 }));
    const after = await store.accept(newDelivery({ marks: [mark], receivedAt: RECEIVED_AT + 1000 }));
    expect([before.kind, after.kind]).toEqual(["repeat", "accepted"]);
  });

  it("remembers marks after it was closed and opened again", async () => {
    const mark = newMark();
    const first = await accept(underTest().store, { marks: [mark] });
    const reopened = await underTest().reopen();
    expect(await reopened.accept(newDelivery({ marks: [mark] }))).toMatchObject({
      kind: "repeat",
      deliveryId: first.deliveryId,
    });
  });

  it("releases the marks of a delivery whose runs all failed, and keeps those of any other", async () => {
    const { store } = underTest();
    const [failed, done, filtered] = [newMark(), newMark(), newMark()];
    await store.settle((await accept(store, { marks: [newMark(), failed] })).runId, {
      state: "failed",
      reason: "no model",
    });
    await store.settle((await accept(store, { marks: [done] })).runId, { state: "done", reason: null });
    accepted(await store.accept(endedDelivery("filtered", "a bot", { marks: [filtered] })));

    expect(await store.accept(newDelivery({ marks: [failed] }))).toMatchObject({ kind: "accepted" });
    expect(await store.accept(newDelivery({ marks: [done] }))).toMatchObject({ kind: "repeat" });
    expect(await store.accept(newDelivery({ marks: [filtered] }))).toMatchObject({ kind: "repeat", runIds: [] });
  });

  it("refuses more marks than a delivery can have", async () => {
    const { store } = underTest();
    const marks = Array.from({ length: 9 }, () => newMark());
    await expect(store.accept(newDelivery({ marks }))).rejects.toThrow("at most 8 marks");
    expect(await listAll(store, { limit: 10 })).toEqual([]);
  });
}
