import { expect, it } from "vitest";
import { agentSpec, endedDelivery, newClaim, newDelivery, RECEIVED_AT } from "./new-delivery.ts";
import { accept, accepted, openRuns } from "./store-actions.ts";
import type { StoreUnderTest } from "./store-harness.ts";

/** Idempotency keys: a request is carried out once, and answered alike. */
export function describeIdempotency(underTest: () => StoreUnderTest): void {
  it("answers a repeat with the first answer's ids and runs nothing again", async () => {
    const { store } = underTest();
    const idempotency = newClaim();
    const runs = [1, 2, 3].map(() => ({ lane: "a", spec: agentSpec() }));
    const first = accepted(await store.accept(newDelivery({ idempotency, runs })));
    const again = await store.accept(newDelivery({ idempotency, receivedAt: RECEIVED_AT + 1 }));
    expect(again).toEqual({ kind: "repeat", deliveryId: first.deliveryId, runIds: first.runIds });
    expect(first.runIds).toHaveLength(3);
    expect((await openRuns(store)).map((run) => run.runId)).toEqual(first.runIds);
  });

  it("refuses the same key with another request", async () => {
    const { store } = underTest();
    const idempotency = newClaim();
    const first = await accept(store, { idempotency });
    const other = { ...idempotency, fingerprint: newClaim().fingerprint };
    expect(await store.accept(newDelivery({ idempotency: other }))).toEqual({
      kind: "conflict",
      deliveryId: first.deliveryId,
    });
    expect(await store.accept(newDelivery({ idempotency }))).toMatchObject({ kind: "repeat" });
  });

  it("accepts different keys with the same request, and requests without a key", async () => {
    const { store } = underTest();
    const { fingerprint } = newClaim();
    const outcomes = [
      await store.accept(newDelivery({ idempotency: newClaim({ fingerprint }) })),
      await store.accept(newDelivery({ idempotency: newClaim({ fingerprint }) })),
      await store.accept(newDelivery()),
      await store.accept(newDelivery()),
    ];
    expect(outcomes.map((outcome) => outcome.kind)).toEqual(["accepted", "accepted", "accepted", "accepted"]);
  });

  it("accepts exactly one of fifty simultaneous copies", async () => {
    const { store } = underTest();
    const idempotency = newClaim();
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, () => store.accept(newDelivery({ idempotency: { ...idempotency } }))),
    );
    const kinds = outcomes.map((outcome) => outcome.kind);
    expect(kinds.filter((kind) => kind === "accepted")).toHaveLength(1);
    expect(kinds.filter((kind) => kind === "repeat")).toHaveLength(49);
    expect(new Set(outcomes.map((outcome) => outcome.deliveryId)).size).toBe(1);
    expect(await openRuns(store)).toHaveLength(1);
  });

  it("lets a claim lapse at its time and not before", async () => {
    const { store } = underTest();
    const idempotency = newClaim({ expiresAt: RECEIVED_AT + 1000 });
    const first = await accept(store, { idempotency });
    const before = await store.accept(newDelivery({ idempotency, receivedAt: RECEIVED_AT + 999 }));
    expect(before).toMatchObject({ kind: "repeat", deliveryId: first.deliveryId });

    const renewed = newClaim({ ...idempotency, expiresAt: RECEIVED_AT + 2000 });
    const second = await accept(store, { idempotency: renewed, receivedAt: RECEIVED_AT + 1000 });
    expect(second.deliveryId).not.toBe(first.deliveryId);
    const repeat = await store.accept(newDelivery({ idempotency, receivedAt: RECEIVED_AT + 1500 }));
    expect(repeat).toMatchObject({ kind: "repeat", deliveryId: second.deliveryId });
  });

  it("remembers claims after it was closed and opened again", async () => {
    const idempotency = newClaim();
    const first = await accept(underTest().store, { idempotency });
    const reopened = await underTest().reopen();
    expect(await reopened.accept(newDelivery({ idempotency }))).toMatchObject({
      kind: "repeat",
      deliveryId: first.deliveryId,
      runIds: first.runIds,
    });
  });

  it("releases the claim of a delivery whose runs all failed", async () => {
    const { store } = underTest();
    const idempotency = newClaim();
    const runs = [1, 2].map(() => ({ lane: "a", spec: agentSpec() }));
    const first = accepted(await store.accept(newDelivery({ idempotency, runs })));
    await store.settle(first.runIds[0]!, { state: "failed", reason: "no model" });
    expect(await store.accept(newDelivery({ idempotency }))).toMatchObject({ kind: "repeat" });
    await store.settle(first.runIds[1]!, { state: "failed", reason: "no model" });

    const second = await accept(store, { idempotency });
    expect(second.deliveryId).not.toBe(first.deliveryId);
    expect(await store.accept(newDelivery({ idempotency }))).toMatchObject({
      kind: "repeat",
      deliveryId: second.deliveryId,
    });
    // A late repetition of the first failure does not take the claim from its new owner.
    await store.settle(first.runIds[1]!, { state: "failed", reason: "no model" });
    expect(await store.accept(newDelivery({ idempotency }))).toMatchObject({ kind: "repeat" });
  });

  it("keeps the claim of a delivery that was done, canceled or filtered", async () => {
    const { store } = underTest();
    const [done, canceled, filtered] = [newClaim(), newClaim(), newClaim()];
    await store.settle((await accept(store, { idempotency: done })).runId, { state: "done", reason: null });
    await store.settle((await accept(store, { idempotency: canceled })).runId, {
      state: "canceled",
      reason: "by hand",
    });
    const ended = accepted(await store.accept(endedDelivery("filtered", "event", { idempotency: filtered })));

    expect(await store.accept(newDelivery({ idempotency: done }))).toMatchObject({ kind: "repeat" });
    expect(await store.accept(newDelivery({ idempotency: canceled }))).toMatchObject({ kind: "repeat" });
    expect(await store.accept(newDelivery({ idempotency: filtered }))).toEqual({
      kind: "repeat",
      deliveryId: ended.deliveryId,
      runIds: [],
    });
  });

  it("forgets lapsed claims as new ones come, and keeps answering those that stand", async () => {
    const { store } = underTest();
    const old = Array.from({ length: 200 }, () => newClaim({ expiresAt: RECEIVED_AT + 10 }));
    await Promise.all(old.map((idempotency) => store.accept(newDelivery({ idempotency }))));
    const later = RECEIVED_AT + 1000;
    const standing = Array.from({ length: 200 }, () => newClaim());
    for (const idempotency of standing) await store.accept(newDelivery({ idempotency, receivedAt: later }));
    const repeats = await Promise.all(
      standing.map((idempotency) => store.accept(newDelivery({ idempotency, receivedAt: later }))),
    );
    expect(repeats.every((outcome) => outcome.kind === "repeat")).toBe(true);
    const renewed = await store.accept(
      newDelivery({ idempotency: { ...old[7]!, expiresAt: later + 10 }, receivedAt: later }),
    );
    expect(renewed.kind).toBe("accepted");
  });
}
