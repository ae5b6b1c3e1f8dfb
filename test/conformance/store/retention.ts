import { setImmediate as nextTurn } from "node:timers/promises";
import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import type { DeliveryStore, PruneLimits } from "../../../src/storage/delivery-store.ts";
import type { NewDelivery } from "../../../src/storage/new-delivery.ts";
import { agentSpec, endedDelivery, newClaim, newCoalesce, newDelivery, RECEIVED_AT } from "./new-delivery.ts";
import { accept, listAll, openRuns } from "./store-actions.ts";
import type { StoreUnderTest } from "./store-harness.ts";

const DAY = 86_400_000;
const NOTHING: PruneLimits = { now: RECEIVED_AT + 90 * DAY, removeBefore: 0, emptyBefore: 0, maxBytes: null };

/** Retention: what is old goes, what is open stays. */
export function describeRetention(underTest: () => StoreUnderTest): void {
  const settled = async (changes: Partial<NewDelivery> = {}) => {
    const { store } = underTest();
    const { deliveryId, runId } = await accept(store, changes);
    await store.settle(runId, { state: "done", reason: null });
    return deliveryId;
  };
  const old = () => settled();
  const young = () => settled({ receivedAt: RECEIVED_AT + 60 * DAY });

  it("removes what was received before a time, and empties what was received before another", async () => {
    const { store } = underTest();
    const removed = [await old(), (await store.accept(endedDelivery("filtered"))).deliveryId];
    const emptied = await settled({ receivedAt: RECEIVED_AT + 30 * DAY });
    const kept = await young();
    const limits = { ...NOTHING, removeBefore: RECEIVED_AT + DAY, emptyBefore: RECEIVED_AT + 31 * DAY };
    expect(await pruneAll(store, limits)).toEqual({ removed: 2, emptied: 1 });
    for (const id of removed) expect(await store.get(id)).toBeUndefined();
    expect(await store.get(emptied)).toMatchObject({ state: "done", headers: {}, query: {}, bodyBytes: 0 });
    expect((await store.get(emptied))?.runs[0]?.spec).toEqual(agentSpec({ message: "", name: "agent" }));
    expect(await store.body(emptied)).toBeUndefined();
    expect((await store.get(kept))?.bodyBytes).toBeGreaterThan(0);
    expect(await listAll(store, { limit: 2 })).toEqual([kept, emptied]);
    expect(await pruneAll(store, limits)).toEqual({ removed: 0, emptied: 0 });
  });

  it("shows nothing of a request that it has removed, and what an agent replied", async () => {
    const { store } = underTest();
    const said = "secret";
    const reason = `when: payload.email != "" is false; payload.email = "${said}"`;
    const filtered = await store.accept(endedDelivery("filtered", reason, { name: said, mappingId: "mail" }));
    const replied: string[] = [];
    for (const mode of [{ mode: "deliver" as const }, {}]) {
      const runs = [{ lane: "a", spec: agentSpec({ ...mode, message: said, name: said }) }];
      const { deliveryId, runId } = await accept(store, { name: said, runs, body: Buffer.from(said) });
      await store.beginAttempt(runId, { number: 1, startedAt: RECEIVED_AT });
      const reply = mode.mode === "deliver" ? said : "The agent's words.";
      await store.endAttempt(runId, { endedAt: RECEIVED_AT, status: "ok", error: null, reply });
      await store.settle(runId, { state: "done", reason: null });
      replied.push(deliveryId);
    }
    await young();
    expect(await pruneAll(store, { ...NOTHING, emptyBefore: RECEIVED_AT + DAY })).toEqual({ removed: 0, emptied: 3 });
    expect(await store.get(filtered.deliveryId)).toMatchObject({ name: "mail", reason: "when" });
    const details = await Promise.all([filtered.deliveryId, ...replied].map((id) => store.get(id)));
    expect(JSON.stringify(details)).not.toContain(said);
    expect(details.map((detail) => detail?.runs[0]?.reply)).toEqual([undefined, null, "The agent's words."]);
    expect(await listAll(store, { limit: 10, text: said })).toEqual([]);
  });

  it("leaves nothing of a text that quotes the body", async () => {
    const { store } = underTest();
    const quoted = Array.from({ length: 40 }, (_, at) => `secret ${at * 7919}`).join(" ");
    const messages = [quoted, `It says: ${quoted}`];
    const ids = await Promise.all(
      messages.map((message) =>
        settled({ runs: [{ lane: "a", spec: agentSpec({ message }) }], body: Buffer.from(quoted) }),
      ),
    );
    await young();
    expect(await pruneAll(store, { ...NOTHING, emptyBefore: RECEIVED_AT + DAY })).toEqual({ removed: 0, emptied: 2 });
    for (const id of ids) {
      expect((await store.get(id))?.runs[0]?.spec).toEqual(agentSpec({ message: "", name: "agent" }));
      expect(await store.body(id)).toBeUndefined();
    }
    expect(await listAll(store, { limit: 10, text: "secret" })).toEqual([]);
  });

  it("does nothing within its limits", async () => {
    const { store } = underTest();
    await old();
    expect(await store.prune(NOTHING)).toEqual({ removed: 0, emptied: 0, more: false });
    expect(await store.prune({ ...NOTHING, maxBytes: 1e12 })).toEqual({ removed: 0, emptied: 0, more: false });
  });

  it("never touches an open delivery, however old, and takes it once it is settled", async () => {
    const { store } = underTest();
    const open = [await accept(store), await accept(store), await accept(store)];
    await store.beginAttempt(open[1]!.runId, { number: 1, startedAt: RECEIVED_AT });
    await store.hold(open[2]!.runId, "wait");
    await young();
    const everything = { ...NOTHING, removeBefore: RECEIVED_AT + DAY, emptyBefore: RECEIVED_AT + DAY, maxBytes: 0 };
    await pruneAll(store, everything);
    expect(await openRuns(store)).toHaveLength(3);
    for (const { deliveryId, runId } of open) {
      expect((await store.get(deliveryId))?.bodyBytes).toBeGreaterThan(0);
      expect((await store.loadRun(runId)).spec).toEqual(agentSpec());
    }
    for (const { runId } of open) await store.settle(runId, { state: "done", reason: null });
    expect((await pruneAll(store, everything)).removed).toBe(3);
  });

  it("keeps the calls of a run that is coalescing, and removes them once it is settled", async () => {
    const { store } = underTest();
    const coalesce = newCoalesce();
    const first = await accept(store, { coalesce });
    for (let call = 0; call < 3; call++) await store.accept(newDelivery({ coalesce }));
    await young();
    const limits = { ...NOTHING, removeBefore: RECEIVED_AT + DAY, emptyBefore: RECEIVED_AT + DAY };
    expect(await pruneAll(store, limits)).toEqual({ removed: 0, emptied: 0 });
    await store.stopCoalescing(first.runId);
    expect((await store.loadRun(first.runId)).coalesced?.texts).toHaveLength(4);
    await store.settle(first.runId, { state: "done", reason: null });
    expect(await pruneAll(store, limits)).toEqual({ removed: 4, emptied: 0 });
  });

  it("keeps what copies could still arrive of, without its request", async () => {
    const { store } = underTest();
    const replayKeys = [{ key: randomBytes(32), expiresAt: RECEIVED_AT + 40 * DAY }];
    const idempotency = newClaim({ expiresAt: RECEIVED_AT + 40 * DAY });
    const ids = [await settled({ replayKeys }), await settled({ idempotency })];
    await young();
    const limits = { ...NOTHING, now: RECEIVED_AT + 39 * DAY, removeBefore: RECEIVED_AT + DAY };
    expect(await pruneAll(store, limits)).toEqual({ removed: 0, emptied: 2 });
    for (const [index, copy] of [{ replayKeys }, { idempotency }].entries()) {
      const repeat = newDelivery({ ...copy, receivedAt: RECEIVED_AT + 39 * DAY });
      expect(await store.accept(repeat)).toMatchObject({ kind: "repeat", deliveryId: ids[index] });
    }
    expect(await pruneAll(store, { ...limits, now: RECEIVED_AT + 41 * DAY })).toMatchObject({ removed: 2 });
  });

  it("removes in short steps, and says when there may be more", async () => {
    const { store } = underTest();
    const accepted = await Promise.all(Array.from({ length: 300 }, () => accept(store)));
    await store.settleAll(
      accepted.map(({ runId }) => runId),
      { state: "done", reason: null },
    );
    const last = await young();
    const limits = { ...NOTHING, removeBefore: RECEIVED_AT + DAY };
    let [removed, more] = [0, true];
    while (more) {
      const step = await store.prune(limits);
      expect(step.removed + step.emptied).toBeLessThanOrEqual(64);
      removed += step.removed;
      more = step.more;
    }
    expect(removed).toBe(300);
    expect(await listAll(store, { limit: 100 })).toEqual([last]);
  });

  it("removes the oldest, whatever their age, until the bytes of deliveries are within the bound", async () => {
    const { store } = underTest();
    const ids: string[] = [];
    const open = await accept(store, { body: randomBytes(100_000) });
    for (let index = 0; index < 60; index++) ids.push(await settled({ body: randomBytes(100_000) }));
    const { removed } = await pruneAll(store, { ...NOTHING, maxBytes: 3_000_000 });
    expect(removed).toBeGreaterThan(30);
    expect(removed).toBeLessThan(34);
    expect(await listAll(store, { limit: 100 })).toEqual([...ids.slice(removed).toReversed(), open.deliveryId]);
    expect(await store.prune({ ...NOTHING, maxBytes: 3_000_000 })).toEqual({ removed: 0, emptied: 0, more: false });
  });

  it("holds its bound whatever else happens to deliveries: repeats, parts, skipped calls, removal at a wish", async () => {
    const { store } = underTest();
    const [idempotency, coalesce, body] = [newClaim(), newCoalesce(), randomBytes(50_000)];
    const large = await settled({ idempotency, body });
    await store.accept(newDelivery({ idempotency, body }));
    const first = await accept(store, { coalesce, body });
    await store.accept(newDelivery({ coalesce, body }));
    const overlap = { key: randomBytes(32), mode: "skip" as const };
    const open = await accept(store, { overlap, body });
    expect((await store.accept(newDelivery({ overlap, body }))).kind).toBe("skipped");
    for (const { runId } of [first, open]) await store.settle(runId, { state: "done", reason: null });
    await young();
    expect(await pruneAll(store, { ...NOTHING, maxBytes: 260_000 })).toEqual({ removed: 0, emptied: 0 });
    const wish = await store.remove([large], RECEIVED_AT);
    expect(wish).toMatchObject({ emptied: 1 });
    expect(await pruneAll(store, { ...NOTHING, maxBytes: 210_000 })).toEqual({ removed: 0, emptied: 0 });
    const reopened = await underTest().reopen();
    expect((await pruneAll(reopened, { ...NOTHING, maxBytes: 190_000 })).removed).toBe(3);
    expect(await reopened.get(open.deliveryId)).toBeDefined();
  });

  it("continues after everything was removed and it was opened again: no id names another delivery", async () => {
    const ids = [await old(), await old()];
    const limits = { ...NOTHING, removeBefore: RECEIVED_AT + DAY, emptyBefore: RECEIVED_AT + DAY, maxBytes: 0 };
    await pruneAll(underTest().store, limits);
    const reopened = await underTest().reopen();
    const { deliveryId } = await accept(reopened);
    expect(ids).not.toContain(deliveryId);
    expect(await reopened.get(ids[0]!)).toBeUndefined();
    expect((await listAll(reopened, { limit: 10 }))[0]).toBe(deliveryId);
  });

  it("lists whole deliveries while others are removed", async () => {
    const { store } = underTest();
    const accepted = await Promise.all(Array.from({ length: 400 }, () => accept(store)));
    await store.settleAll(
      accepted.map(({ runId }) => runId),
      { state: "done", reason: null },
    );
    await young();
    const limits = { ...NOTHING, removeBefore: RECEIVED_AT + DAY };
    for (let more = true; more;) {
      const pruned = store.prune(limits);
      for (let turn = 0; turn < 5; turn++) {
        const { deliveries } = await store.list({ limit: 200 });
        expect(new Set(deliveries.map((delivery) => delivery.state))).toEqual(new Set(["done"]));
        await nextTurn();
      }
      ({ more } = await pruned);
    }
  });
}

async function pruneAll(store: DeliveryStore, limits: PruneLimits): Promise<{ removed: number; emptied: number }> {
  const total = { removed: 0, emptied: 0 };
  for (;;) {
    const { removed, emptied, more } = await store.prune(limits);
    total.removed += removed;
    total.emptied += emptied;
    if (!more) return total;
  }
}
