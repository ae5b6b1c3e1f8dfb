import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import type { NewDelivery } from "../../../src/storage/new-delivery.ts";
import { agentSpec, endedDelivery, newClaim, newCoalesce, newDelivery, RECEIVED_AT } from "./new-delivery.ts";
import { accept, listAll } from "./store-actions.ts";
import type { StoreUnderTest } from "./store-harness.ts";

/** Repeats: a person sees that a delivery was sent again, and nothing of it is carried out. */
export function describeRepeats(underTest: () => StoreUnderTest): void {
  it("stores a repeat as a duplicate of the first, without its request and the name derived from it", async () => {
    const { store } = underTest();
    const idempotency = newClaim();
    const first = await accept(store, { idempotency, name: "First" });
    const changes = {
      receivedAt: RECEIVED_AT + 1,
      route: "github",
      mappingId: "github",
      name: "Again",
      event: "push",
      actor: "octocat",
      level: "known" as const,
    };
    await store.accept(newDelivery({ ...changes, idempotency }));

    const [id, ...others] = await listAll(store, { limit: 10 });
    expect(others).toEqual([first.deliveryId]);
    const expected = {
      id,
      state: "duplicate",
      reason: null,
      route: "github",
      mappingId: "github",
      name: "github",
      receivedAt: "2026-01-02T03:04:05.679Z",
      runIds: [],
      event: "push",
      actor: "octocat",
      level: "known",
      relatedTo: { how: "duplicate", deliveryId: first.deliveryId },
    };
    expect((await store.list({ limit: 1 })).deliveries).toEqual([expected]);
    expect(await store.get(id!)).toEqual({ ...expected, headers: {}, query: {}, bodyBytes: 0, runs: [] });
    expect(await store.body(id!)).toBeUndefined();
    expect((await store.get(first.deliveryId))?.relatedTo).toBeNull();
    expect(await listAll(store, { limit: 10, state: "duplicate" })).toEqual([id]);
    expect(await listAll(await underTest().reopen(), { limit: 10, state: "duplicate" })).toEqual([id]);
  });

  it("finds the latest ten repeats of a delivery, newest first", async () => {
    const { store } = underTest();
    const idempotency = newClaim();
    const first = await accept(store, { idempotency });
    const other = await accept(store);
    for (let at = 1; at <= 12; at++) await store.accept(newDelivery({ idempotency, receivedAt: RECEIVED_AT + at }));
    const repeats = await store.duplicatesOf(first.deliveryId);
    expect(repeats.map(({ id }) => id)).toEqual((await listAll(store, { limit: 50 })).slice(0, 10));
    expect(repeats[0]?.receivedAt).toBe("2026-01-02T03:04:05.690Z");
    expect(await store.duplicatesOf(other.deliveryId)).toEqual([]);
    expect(await store.duplicatesOf(repeats[0]!.id)).toEqual([]);
    expect(await store.duplicatesOf("unknown")).toEqual([]);
  });

  it("keeps the status that the caller got, of a repeat too", async () => {
    const { store } = underTest();
    const idempotency = newClaim();
    await accept(store, { idempotency, answered: 202 });
    await store.accept(newDelivery({ idempotency, answered: 202 }));
    await store.accept(endedDelivery("filtered", "a clause", { answered: 200 }));
    await accept(store, { answered: null });
    const { deliveries } = await (await underTest().reopen()).list({ limit: 10 });
    expect(deliveries.map(({ answered }) => answered)).toEqual([undefined, 200, 202, 202]);
  });

  it("stores a copy that a replay key gives away in the same manner, and its copies as those of the first", async () => {
    const { store } = underTest();
    const replayKey = { key: randomBytes(32), expiresAt: RECEIVED_AT + 60_000 };
    const { deliveryId } = await accept(store, { replayKeys: [replayKey] });
    for (let count = 0; count < 3; count++) {
      expect(await store.accept(newDelivery({ replayKeys: [replayKey] }))).toMatchObject({
        kind: "repeat",
        deliveryId,
      });
    }
    const repeats = (await store.list({ limit: 10, state: "duplicate" })).deliveries;
    expect(repeats.map((repeat) => repeat.relatedTo)).toEqual(
      Array.from({ length: 3 }, () => ({ how: "duplicate", deliveryId })),
    );
  });

  it("stores nothing of another request with the same key", async () => {
    const { store } = underTest();
    const idempotency = newClaim();
    const first = await accept(store, { idempotency });
    const other = { ...idempotency, fingerprint: newClaim().fingerprint };
    expect(await store.accept(newDelivery({ idempotency: other }))).toMatchObject({ kind: "conflict" });
    expect(await listAll(store, { limit: 10 })).toEqual([first.deliveryId]);
  });

  it("lists a hundred repeats of one delivery and answers all", async () => {
    const { store } = underTest();
    const [often, once] = [newClaim(), newClaim()];
    const first = await accept(store, { idempotency: often });
    await accept(store, { idempotency: once });
    const outcomes = await Promise.all(
      Array.from({ length: 130 }, () => store.accept(newDelivery({ idempotency: often }))),
    );
    expect(outcomes.every(({ kind, deliveryId }) => kind === "repeat" && deliveryId === first.deliveryId)).toBe(true);
    expect(await listAll(store, { limit: 50, state: "duplicate" })).toHaveLength(100);
    await store.accept(newDelivery({ idempotency: once }));
    expect(await listAll(store, { limit: 50, state: "duplicate" })).toHaveLength(101);
  });

  it("answers a repeat of a coalesced call with the run that it was answered with, until that has failed", async () => {
    const { store } = underTest();
    const coalesce = newCoalesce();
    const replayKey = { key: randomBytes(32), expiresAt: RECEIVED_AT + 60_000 };
    const calls: Pick<NewDelivery, "idempotency" | "replayKeys">[] = [
      { idempotency: newClaim() },
      { replayKeys: [replayKey] },
    ];
    const { runId } = await accept(store, { coalesce });
    const outcomes = [];
    for (const call of calls) outcomes.push(await store.accept(newDelivery({ ...call, coalesce })));
    const repeats = [];
    for (const call of calls) repeats.push(await store.accept(newDelivery({ ...call, coalesce })));
    expect(repeats).toEqual(outcomes.map(({ deliveryId }) => ({ kind: "repeat", deliveryId, runIds: [runId] })));

    await store.settle(runId, { state: "failed", reason: "no model" });
    for (const call of calls) expect(await store.accept(newDelivery(call))).toMatchObject({ kind: "accepted" });
    for (const call of calls) expect(await store.accept(newDelivery(call))).toMatchObject({ kind: "repeat" });
  });

  it("answers a repeat of a delivery without a run, and knows it as such", async () => {
    const { store } = underTest();
    const idempotency = newClaim();
    const { deliveryId } = await store.accept(endedDelivery("filtered", "a bot", { idempotency }));
    expect(await store.accept(newDelivery({ idempotency, runs: [{ lane: "a", spec: agentSpec() }] }))).toEqual({
      kind: "repeat",
      deliveryId,
      runIds: [],
    });
  });
}
