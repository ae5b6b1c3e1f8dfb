import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import type { ReplayKeyClaim } from "../../../src/storage/new-delivery.ts";
import { agentSpec, endedDelivery, newClaim, newDelivery, RECEIVED_AT } from "./new-delivery.ts";
import { accept, accepted, listAll, openRuns } from "./store-actions.ts";
import type { StoreUnderTest } from "./store-harness.ts";

function newReplayKey(expiresAt = RECEIVED_AT + 60_000): ReplayKeyClaim {
  return { key: randomBytes(32), expiresAt };
}

/** Replay keys: a copy of a request is recognized whatever key or content it comes with. */
export function describeReplayKeys(underTest: () => StoreUnderTest): void {
  it("answers a copy with the first answer's ids and runs nothing again, whatever else it says", async () => {
    const { store } = underTest();
    const replayKey = newReplayKey();
    const runs = [1, 2].map(() => ({ lane: "a", spec: agentSpec() }));
    const first = accepted(await store.accept(newDelivery({ replayKeys: [replayKey], runs })));
    const copy = newDelivery({
      replayKeys: [newReplayKey(), replayKey],
      idempotency: newClaim(),
      body: Buffer.from("other"),
    });
    expect(await store.accept(copy)).toEqual({
      kind: "repeat",
      deliveryId: first.deliveryId,
      runIds: first.runIds,
    });
    expect((await openRuns(store)).map((run) => run.runId)).toEqual(first.runIds);
  });

  it("takes neither key nor other replay keys for a copy that it did not accept", async () => {
    const { store } = underTest();
    const [replayKey, other, idempotency] = [newReplayKey(), newReplayKey(), newClaim()];
    const first = await accept(store, { replayKeys: [replayKey] });
    await store.accept(newDelivery({ replayKeys: [other, replayKey], idempotency }));
    const second = await accept(store, { replayKeys: [other], idempotency });
    expect(second.deliveryId).not.toBe(first.deliveryId);
  });

  it("takes no replay key for a request whose idempotency key is taken", async () => {
    const { store } = underTest();
    const [replayKey, idempotency] = [newReplayKey(), newClaim()];
    await accept(store, { idempotency });
    const conflict = { ...idempotency, fingerprint: randomBytes(32) };
    expect(await store.accept(newDelivery({ replayKeys: [replayKey], idempotency: conflict }))).toMatchObject({
      kind: "conflict",
    });
    expect(await store.accept(newDelivery({ replayKeys: [replayKey] }))).toMatchObject({ kind: "accepted" });
  });

  it("accepts exactly one of fifty simultaneous copies", async () => {
    const { store } = underTest();
    const replayKey = newReplayKey();
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, () => store.accept(newDelivery({ replayKeys: [newReplayKey(), { ...replayKey }] }))),
    );
    expect(outcomes.filter(({ kind }) => kind === "accepted")).toHaveLength(1);
    expect(new Set(outcomes.map(({ deliveryId }) => deliveryId)).size).toBe(1);
    expect(await openRuns(store)).toHaveLength(1);
  });

  it("keeps a replay key that a newer delivery holds when an older one with the same key is removed", async () => {
    const { store } = underTest();
    const older = newReplayKey(RECEIVED_AT + 1_000);
    const newer = { ...older, expiresAt: RECEIVED_AT + 86_400_000 };
    const first = accepted(await store.accept({ ...endedDelivery("filtered"), replayKeys: [older] }));
    const second = await accept(store, { replayKeys: [newer], receivedAt: RECEIVED_AT + 1_000 });
    expect(await store.remove([first.deliveryId], RECEIVED_AT + 40_000_000)).toMatchObject({ removed: 1 });
    const copy = await store.accept(newDelivery({ replayKeys: [newer], receivedAt: RECEIVED_AT + 41_000_000 }));
    expect(copy).toMatchObject({ kind: "repeat", deliveryId: second.deliveryId });
  });

  it("lets a replay key lapse at its time and not before", async () => {
    const { store } = underTest();
    const replayKey = newReplayKey(RECEIVED_AT + 1000);
    await accept(store, { replayKeys: [replayKey] });
    const before = await store.accept(newDelivery({ replayKeys: [replayKey], receivedAt: RECEIVED_AT + 999 }));
    const after = await store.accept(newDelivery({ replayKeys: [replayKey], receivedAt: RECEIVED_AT + 1000 }));
    expect([before.kind, after.kind]).toEqual(["repeat", "accepted"]);
  });

  it("remembers replay keys after it was closed and opened again", async () => {
    const replayKey = newReplayKey();
    const first = await accept(underTest().store, { replayKeys: [replayKey] });
    const reopened = await underTest().reopen();
    expect(await reopened.accept(newDelivery({ replayKeys: [replayKey] }))).toMatchObject({
      kind: "repeat",
      deliveryId: first.deliveryId,
    });
  });

  it("releases the replay keys of a delivery whose runs all failed, and keeps those of any other", async () => {
    const { store } = underTest();
    const [failed, done, filtered] = [newReplayKey(), newReplayKey(), newReplayKey()];
    await store.settle((await accept(store, { replayKeys: [newReplayKey(), failed] })).runId, {
      state: "failed",
      reason: "no model",
    });
    await store.settle((await accept(store, { replayKeys: [done] })).runId, { state: "done", reason: null });
    accepted(await store.accept(endedDelivery("filtered", "a bot", { replayKeys: [filtered] })));

    expect(await store.accept(newDelivery({ replayKeys: [failed] }))).toMatchObject({ kind: "accepted" });
    expect(await store.accept(newDelivery({ replayKeys: [done] }))).toMatchObject({ kind: "repeat" });
    expect(await store.accept(newDelivery({ replayKeys: [filtered] }))).toMatchObject({ kind: "repeat", runIds: [] });
  });

  it("refuses more replay keys than a delivery can have", async () => {
    const { store } = underTest();
    const replayKeys = Array.from({ length: 9 }, () => newReplayKey());
    await expect(store.accept(newDelivery({ replayKeys }))).rejects.toThrow("at most 8 replay keys");
    expect(await listAll(store, { limit: 10 })).toEqual([]);
  });
}
