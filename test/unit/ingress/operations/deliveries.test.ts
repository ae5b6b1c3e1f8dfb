import { describe, expect, it, vi } from "vitest";
import { type DeliveryPage, StoreError } from "../../../../src/storage/delivery-store.ts";
import { agentSpec, newDelivery } from "../../../conformance/store/new-delivery.ts";
import { operatedStore } from "./operated-store.ts";

const REAL = { dryRun: false, asAccepted: false };
const DRY = { dryRun: true, asAccepted: false };

describe("canceling", () => {
  it("ends the runs that have not ended, and takes them from the dispatcher", async () => {
    const { store, withdrawn, operations, accept } = await operatedStore();
    const runs = ["a", "b", "c"].map((lane) => ({ lane, spec: agentSpec() }));
    const { id, runIds } = await accept({ runs });
    await store.settle(runIds[0]!, { state: "done", reason: null });
    await store.hold(runIds[1]!, "interrupted");
    expect(await operations.cancel(id)).toEqual({ kind: "canceled", runs: 2 });
    const reason = "canceled by the operator";
    expect(withdrawn).toEqual([{ runIds: runIds.slice(1), state: "canceled", reason }]);
    const delivery = await store.get(id);
    expect(delivery?.runs.map((run) => [run.state, run.reason])).toEqual([
      ["done", null],
      ["canceled", reason],
      ["canceled", reason],
    ]);
    expect(await operations.cancel(id)).toEqual({
      kind: "left",
      reason: "it is canceled; nothing of it is left to cancel",
    });
    expect(await operations.cancel("dlv_nobody")).toEqual({ kind: "unknown" });
  });

  it("leaves it to the gateway with the runs to report those that it knows, and reports held ones itself", async () => {
    const { store, withdrawn, operations, accept, elsewhere } = await operatedStore();
    elsewhere.isHere = false;
    const { id, runIds } = await accept({ runs: ["a", "b"].map((lane) => ({ lane, spec: agentSpec() })) });
    await store.hold(runIds[1]!, "interrupted");
    expect(await operations.cancel(id)).toEqual({ kind: "canceled", runs: 2 });
    expect(withdrawn.map((each) => each.runIds)).toEqual([[runIds[1]]]);
  });

  it("counts no run that ended by itself meanwhile", async () => {
    const { withdrawn, operations, accept } = await operatedStore((store) => ({
      settleAll: async (runIds, settled) => {
        await store.settle(runIds[0]!, { state: "done", reason: null });
        return store.settleAll(runIds, settled);
      },
    }));
    const { id } = await accept();
    expect(await operations.cancel(id)).toEqual({ kind: "canceled", runs: 0 });
    expect(withdrawn).toEqual([]);
  });
});

describe("purging", () => {
  it("removes what has ended and says what stays", async () => {
    const { store, operations, accept } = await operatedStore();
    const open = await accept();
    const done = await accept();
    const claimed = await accept({
      idempotency: { key: Buffer.alloc(32, 1), fingerprint: Buffer.alloc(32, 2), expiresAt: Date.now() + 3_600_000 },
    });
    for (const { runIds } of [done, claimed]) await store.settle(runIds[0]!, { state: "done", reason: null });
    expect(await operations.purge(open.id)).toMatchObject({ kind: "left" });
    expect(await operations.purge(done.id)).toEqual({ kind: "removed" });
    expect(await store.get(done.id)).toBeUndefined();
    expect(await operations.purge(claimed.id)).toEqual({ kind: "emptied" });
    expect(await operations.body(claimed.id)).toBeUndefined();
  });

  it("leaves a call alone that is a part of an open run", async () => {
    const { store, operations, accept } = await operatedStore();
    const coalesce = { key: Buffer.alloc(32, 3), windowMs: 60_000, maxWaitMs: 60_000 };
    await accept({ coalesce });
    const part = await store.accept(newDelivery({ coalesce }));
    expect(part.kind).toBe("coalesced");
    expect(await operations.purge(part.deliveryId)).toEqual({
      kind: "left",
      reason: "it is a part of a run that has not ended",
    });
  });
});

describe("an operation in bulk", () => {
  it("takes what fits, the newest of it when that is too much, and treats the oldest first", async () => {
    const { operations, accept } = await operatedStore();
    const accepted = await Promise.all(Array.from({ length: 450 }, () => accept()));
    const ids = accepted.map(({ id }) => id);
    await accept({ route: "wake" });
    const all = await operations.bulk("cancel", { filter: { route: "agent" } }, DRY);
    expect(all.deliveries.map(({ delivery }) => delivery.id)).toEqual(ids);
    expect(all).toMatchObject({ matched: 450, more: false, unknown: [], stopped: undefined });
    expect(new Set(all.deliveries.map(({ outcome }) => outcome.kind))).toEqual(new Set(["planned"]));
    const some = await operations.bulk("cancel", { filter: { route: "agent" }, limit: 3 }, DRY);
    expect(some.deliveries.map(({ delivery }) => delivery.id)).toEqual(ids.slice(-3));
    expect(some.more).toBe(true);
    const aPage = await operations.bulk("cancel", { filter: { route: "agent" }, limit: 200 }, DRY);
    expect(aPage).toMatchObject({ matched: 200, more: true });
    const exact = await operations.bulk("cancel", { filter: { route: "agent" }, limit: 450 }, DRY);
    expect(exact).toMatchObject({ matched: 450, more: false });
  });

  it("changes nothing when it is dry, and everything that it said otherwise", async () => {
    const { store, withdrawn, operations, accept } = await operatedStore();
    const open = await accept();
    const done = await accept();
    await store.settle(done.runIds[0]!, { state: "done", reason: null });
    const target = { ids: [done.id, "dlv_nobody", open.id, done.id] };
    const dry = await operations.bulk("cancel", target, DRY);
    expect(dry.deliveries.map(({ delivery, outcome }) => [delivery.id, outcome.kind])).toEqual([
      [open.id, "planned"],
      [done.id, "left"],
    ]);
    expect(dry.unknown).toEqual(["dlv_nobody"]);
    expect([withdrawn, (await store.get(open.id))?.state]).toEqual([[], "queued"]);
    const real = await operations.bulk("cancel", target, REAL);
    expect(real.deliveries.map(({ outcome }) => outcome)).toMatchObject([
      { kind: "canceled", runs: 1 },
      { kind: "left" },
    ]);
    expect((await store.get(open.id))?.state).toBe("canceled");
    await accept();
    expect(await operations.bulk("purge", { filter: {} }, REAL)).toMatchObject({ matched: 3 });
    const left = await operations.list({ limit: 10 });
    expect(left.deliveries.map(({ state }) => state)).toEqual(["queued"]);
  });

  it("ends early where the rest would fail as well, and says what was done", async () => {
    let calls = 0;
    const { operations, accept } = await operatedStore((store) => ({
      remove: async (ids, now) => {
        if (++calls > 40) throw new StoreError("UNAVAILABLE", "the disk is full");
        return store.remove(ids, now);
      },
    }));
    for (let count = 0; count < 100; count++) {
      const { id } = await accept();
      await operations.cancel(id);
    }
    const outcome = await operations.bulk("purge", { filter: { state: "canceled" } }, REAL);
    expect(outcome).toMatchObject({ matched: 100, stopped: { refused: "STORE_UNAVAILABLE" } });
    expect(outcome.deliveries).toHaveLength(40);
    expect(calls).toBeLessThan(100);
  });

  it("distinguishes a store that closes from one that fails, skips what is gone, and hides no defect", async () => {
    const errors = [
      new StoreError("CLOSED", "closing"),
      new StoreError("NOT_FOUND", "no such run"),
      new TypeError("a defect"),
    ];
    const { operations, accept } = await operatedStore(() => ({ settleAll: () => Promise.reject(errors.shift()!) }));
    const { id } = await accept();
    expect(await operations.bulk("cancel", { ids: [id] }, REAL)).toMatchObject({
      deliveries: [],
      stopped: { refused: "SHUTTING_DOWN" },
    });
    expect(await operations.cancel(id)).toEqual({ kind: "unknown" });
    await expect(operations.cancel(id)).rejects.toThrow("a defect");
  });
});

describe("listing open failures", () => {
  it("looks past many that are resolved, so that an empty page means that there is none", async () => {
    const { store, operations, accept } = await operatedStore();
    const { id: oldest, runIds } = await accept();
    await store.settle(runIds[0]!, { state: "failed", reason: "no one answers" });
    for (let count = 0; count < 12; count++) {
      const failed = await accept();
      await store.settle(failed.runIds[0]!, { state: "failed", reason: "no one answers" });
      await operations.resolve(failed.id);
    }
    const page = await operations.list({ open: true, limit: 5 });
    expect(page.deliveries.map(({ id }) => id)).toEqual([oldest]);
    expect(page.nextCursor).toBeNull();
    await operations.resolve(oldest);
    expect(await operations.list({ open: true, limit: 5 })).toEqual({ deliveries: [], nextCursor: null });
  });

  it("looks past them in large pages, and gives no more than were asked for", async () => {
    const { store, operations, accept } = await operatedStore();
    const failed: string[] = [];
    for (let count = 0; count < 60; count++) {
      const { id, runIds } = await accept();
      await store.settle(runIds[0]!, { state: "failed", reason: "no one answers" });
      failed.unshift(id);
    }
    const open = failed.filter((_, at) => at >= 40 && at % 2 === 0);
    await operations.bulk("resolve", { ids: failed.filter((id) => !open.includes(id)) }, REAL);
    const list = vi.spyOn(store, "list");
    const listed: string[] = [];
    let cursor: string | null = null;
    do {
      const page: DeliveryPage = await operations.list({
        open: true,
        limit: 1,
        ...(cursor === null ? {} : { cursor }),
      });
      if (listed.length === 0) expect(list.mock.calls.length).toBeLessThan(9);
      expect(page.deliveries.length).toBeLessThan(2);
      listed.push(...page.deliveries.map(({ id }) => id));
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(listed).toEqual(open);
  });
});
