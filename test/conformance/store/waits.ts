import { expect, it } from "vitest";
import type { DeliveryStore } from "../../../src/storage/delivery-store.ts";
import type { StoredWait, WaitChange } from "../../../src/storage/wait-store.ts";
import { agentSpec, newDelivery } from "./new-delivery.ts";
import { accept, listAll, openRuns } from "./store-actions.ts";
import type { StoreUnderTest } from "./store-harness.ts";

const BOUNDS = { total: 5, ofSession: 2 };

function wait(digit: string, changes: Partial<StoredWait> = {}): StoredWait {
  return {
    id: `wait_${digit.repeat(24)}`,
    session: "agent:main:hook:1",
    version: 1,
    content: JSON.stringify({ note: `Wait ${digit}` }),
    ...changes,
  };
}

/** A delivery that changes waits as they are by now. */
async function change(store: DeliveryStore, changes: readonly WaitChange[], key = 1) {
  const { mark } = await store.waits(0);
  const replayKeys = [{ key: Buffer.alloc(32, key), expiresAt: Number.MAX_SAFE_INTEGER }];
  return store.accept(newDelivery({ waits: { mark, changes }, replayKeys }));
}

/** Sessions that wait for events. */
export function describeWaits(underTest: () => StoreUnderTest): void {
  it("keeps waits in their bounds, through a restart, until they are removed", async () => {
    const session = underTest();
    const { store } = session;
    const all = [wait("a"), wait("b"), wait("c", { session: "agent:main:hook:2" })];
    for (const each of all) expect(await store.addWait(each, BOUNDS)).toBe("added");
    expect(await store.addWait(wait("d"), BOUNDS)).toBe("session-full");
    expect(await store.addWait(wait("d", { session: "s" }), { total: 3, ofSession: 2 })).toBe("full");
    expect((await store.waits(0)).waits).toEqual(all);
    const again = await session.reopen();
    expect((await again.waits(0)).waits).toEqual(all);
    expect(await again.removeWait(all[1]!.id)).toBe(true);
    expect(await again.removeWait(all[1]!.id)).toBe(false);
    expect((await again.waits(0)).waits).toEqual([all[0], all[2]]);
    expect(await again.addWait(wait("d"), BOUNDS)).toBe("added");
  });

  it("holds its bounds against simultaneous waits", async () => {
    const { store } = underTest();
    const wishes = ["a", "b", "c", "d", "e", "f"].map((digit) => store.addWait(wait(digit), BOUNDS));
    const added = (await Promise.all(wishes)).filter((each) => each === "added");
    expect(added).toHaveLength(2);
    expect((await store.waits(0)).waits).toHaveLength(2);
  });

  it("changes and ends waits with the delivery that does so", async () => {
    const session = underTest();
    const { store } = session;
    await store.addWait(wait("a"), BOUNDS);
    await store.addWait(wait("b"), BOUNDS);
    const changes = [
      { id: wait("a").id, version: 1, content: "{}" },
      { id: wait("b").id, version: 1, content: null },
    ];
    expect(await change(store, changes)).toMatchObject({ kind: "accepted" });
    const after = [{ ...wait("a"), version: 2, content: "{}" }];
    expect((await store.waits(0)).waits).toEqual(after);
    expect((await (await session.reopen()).waits(0)).waits).toEqual(after);
  });

  it("stores nothing of a delivery whose wait is not as it was, and takes it when it is held against that again", async () => {
    const { store } = underTest();
    await store.addWait(wait("a"), BOUNDS);
    await expect(change(store, [{ id: wait("b").id, version: 1, content: null }])).rejects.toMatchObject({
      code: "STALE",
    });
    await expect(change(store, [{ id: wait("a").id, version: 2, content: null }])).rejects.toMatchObject({
      code: "STALE",
    });
    expect(await listAll(store, { limit: 10 })).toEqual([]);
    expect((await store.waits(0)).waits).toEqual([wait("a")]);
    // Its replay key was not claimed either.
    expect(await change(store, [{ id: wait("a").id, version: 1, content: null }])).toMatchObject({ kind: "accepted" });
  });

  it("fulfils a wait once of twenty simultaneous deliveries", async () => {
    const { store } = underTest();
    await store.addWait(wait("a"), BOUNDS);
    const calls = Array.from({ length: 20 }, (_, key) =>
      change(store, [{ id: wait("a").id, version: 1, content: null }], key + 1),
    );
    const settled = await Promise.allSettled(calls);
    const stale = settled.filter((each) => each.status === "rejected");
    expect(stale).toHaveLength(19);
    for (const { reason } of stale) expect(reason).toMatchObject({ code: "STALE" });
    expect(await openRuns(store)).toHaveLength(1);
  });

  it("changes no wait by a copy of a call", async () => {
    const { store } = underTest();
    await store.addWait(wait("a"), BOUNDS);
    await store.addWait(wait("b"), BOUNDS);
    await change(store, [{ id: wait("a").id, version: 1, content: null }]);
    expect(await change(store, [{ id: wait("b").id, version: 1, content: null }])).toMatchObject({ kind: "repeat" });
    expect((await store.waits(0)).waits).toEqual([wait("b")]);
  });

  it("changes waits also by a delivery that has no run, or is held", async () => {
    const { store } = underTest();
    await store.addWait(wait("a"), BOUNDS);
    const { mark } = await store.waits(0);
    const first = { mark, changes: [{ id: wait("a").id, version: 1, content: "{}" }] };
    await store.accept(newDelivery({ runs: [], ended: { state: "filtered", reason: "events" }, waits: first }));
    expect((await store.waits(0)).waits).toMatchObject([{ version: 2, content: "{}" }]);
    const next = { mark: (await store.waits(0)).mark, changes: [{ id: wait("a").id, version: 2, content: null }] };
    await accept(store, { held: "quarantine", waits: next });
    expect((await store.waits(0)).waits).toEqual([]);
  });

  it("adds a wait with the delivery that makes it, once of fifty copies, also without a run and after a restart", async () => {
    const session = underTest();
    const { store } = session;
    const { mark } = await store.waits(0);
    const replayKeys = [{ key: Buffer.alloc(32, 9), expiresAt: Number.MAX_SAFE_INTEGER }];
    const copies = Array.from({ length: 50 }, (_, at) => {
      const added = { wait: wait("a", { id: `wait_${String(at).padStart(24, "0")}` }), bounds: BOUNDS };
      return store.accept(newDelivery({ waits: { mark, changes: [], added }, replayKeys }));
    });
    const kinds = (await Promise.all(copies)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "accepted")).toHaveLength(1);
    const [first, ...more] = (await store.waits(0)).waits;
    expect(more).toEqual([]);
    expect(first).toMatchObject({ session: "agent:main:hook:1", version: 1, content: wait("a").content });

    const ended = { runs: [], ended: { state: "skipped", reason: "it makes a wait" } } as const;
    const waits = { mark: (await store.waits(0)).mark, changes: [], added: { wait: wait("b"), bounds: BOUNDS } };
    await store.accept(newDelivery({ ...ended, waits }));
    const again = await session.reopen();
    expect((await again.waits(0)).waits).toEqual([first, wait("b")]);
  });

  it("holds its bounds against simultaneous deliveries that make waits, and takes those without room for one", async () => {
    const { store } = underTest();
    const { mark } = await store.waits(0);
    const calls = ["a", "b", "c", "d", "e"].map((digit) =>
      store.accept(newDelivery({ waits: { mark, changes: [], added: { wait: wait(digit), bounds: BOUNDS } } })),
    );
    const outcomes = await Promise.allSettled(calls);
    // Where other gateways can add waits, a call that was held against fewer is stale.
    const accepted = outcomes.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    const left = accepted.filter((each) => each.kind === "accepted" && each.noRoom === "session-full");
    const { waits } = await store.waits(0);
    expect(waits.length).toBeLessThanOrEqual(2);
    expect(waits).toHaveLength(accepted.length - left.length);
    const full = { wait: wait("f", { session: "s" }), bounds: { total: waits.length, ofSession: 2 } };
    const now = (await store.waits(0)).mark;
    expect(await store.accept(newDelivery({ waits: { mark: now, changes: [], added: full } }))).toMatchObject({
      kind: "accepted",
      noRoom: "full",
    });
    expect((await store.waits(0)).waits).toEqual(waits);
  });

  it("adds a wait and ends another one with the same delivery, or does neither", async () => {
    const { store } = underTest();
    await store.addWait(wait("a"), BOUNDS);
    const { mark } = await store.waits(0);
    const end = { id: wait("a").id, content: null };
    const stale = { mark, changes: [{ ...end, version: 2 }], added: { wait: wait("b"), bounds: BOUNDS } };
    await expect(store.accept(newDelivery({ waits: stale }))).rejects.toMatchObject({ code: "STALE" });
    expect((await store.waits(0)).waits).toEqual([wait("a")]);
    await store.accept(
      newDelivery({ waits: { mark, changes: [{ ...end, version: 1 }], added: { wait: wait("b"), bounds: BOUNDS } } }),
    );
    expect((await store.waits(0)).waits).toEqual([wait("b")]);
  });

  it("refuses a delivery that changes waits and coalesces or overlaps", async () => {
    const { store } = underTest();
    const waits = { mark: 0, changes: [{ id: wait("a").id, version: 1, content: null }] };
    const run = { lane: "l", spec: agentSpec() };
    const overlap = { key: Buffer.alloc(32, 1), mode: "skip" } as const;
    const added = { mark: 0, changes: [], added: { wait: wait("a"), bounds: BOUNDS } };
    await expect(store.accept(newDelivery({ runs: [run], waits, overlap }))).rejects.toThrow(RangeError);
    await expect(store.accept(newDelivery({ runs: [run], waits: added, overlap }))).rejects.toThrow(RangeError);
  });
}
