import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { CarriedOutAtOnce } from "../../../../src/storage/new-delivery.ts";
import { SqliteDatabase } from "../../../../src/storage/sqlite/engine/database.ts";
import { SqliteDeliveryStore, sqliteStoreModule } from "../../../../src/storage/sqlite/delivery-store.ts";
import {
  agentSpec,
  newClaim,
  newCoalesce,
  newDelivery,
  RECEIVED_AT,
  wakeSpec,
} from "../../../conformance/store/new-delivery.ts";
import { accept, accepted, listAll } from "../../../conformance/store/store-actions.ts";
import { notesModule } from "./engine/notes-module.ts";
import { temporaryFolder } from "./engine/temporary-folder.ts";

describe("SqliteDeliveryStore", () => {
  let database: SqliteDatabase;
  beforeEach(async () => {
    const file = join(temporaryFolder(), "store.sqlite");
    database = await SqliteDatabase.open({ file, modules: [sqliteStoreModule, notesModule] });
    onTestFinished(() => database.close());
  });

  it("prepares no list and no count on the thread that accepts calls", async () => {
    const prepare = vi.spyOn(database.reader, "prepare");
    const store = SqliteDeliveryStore.open(database);
    await accept(store);
    expect((await store.list({ limit: 1, text: "hook" })).deliveries).toHaveLength(1);
    expect((await store.stats({ from: 0, before: 9e14, bucketMs: 9e14 })).rows).toHaveLength(1);
    expect(await store.backlog()).toMatchObject({ queued: 1 });
    const prepared = prepare.mock.calls.map(([text]) => text);
    expect(prepared.length).toBeGreaterThan(10);
    expect(prepared.filter((text) => /instr\(|GROUP BY bucket/u.test(text))).toEqual([]);
    await store.close();
  });

  it("removes what is old in transactions of 64, so that a call does not wait for the rest", async () => {
    const store = SqliteDeliveryStore.open(database);
    const old = Array.from({ length: 200 }, () =>
      store.accept(newDelivery({ runs: [], ended: { state: "filtered", reason: "r" } })),
    );
    await Promise.all(old);
    const order: string[] = [];
    const limits = { now: RECEIVED_AT, removeBefore: RECEIVED_AT + 1, emptyBefore: 0, maxBytes: null, most: 150 };
    const pruned = store.prune(limits).finally(() => order.push("removed"));
    const accepted = store.accept(newDelivery()).finally(() => order.push("accepted"));
    expect(await pruned).toEqual({ removed: 150, emptied: 0, more: true });
    await accepted;
    expect(order).toEqual(["accepted", "removed"]);
    expect(await store.prune({ ...limits, most: 320 })).toEqual({ removed: 50, emptied: 0, more: false });
    await store.close();
  });

  describe("a run that the commit of its delivery carries out", () => {
    const runs = [{ lane: "a", spec: wakeSpec() }];
    const stateOf = async (store: SqliteDeliveryStore, id: string) => {
      const detail = await store.get(id);
      return [detail?.state, detail?.runs[0]?.settledAt];
    };
    const queued = ["queued", null];
    /** The write of a host: a note with the id of the run. */
    const noting = (operation: string, args: (runId: string) => object): CarriedOutAtOnce => ({
      at: RECEIVED_AT,
      write: (runId) => ({ operation, args: args(runId) }),
    });

    it("is done when the host's write has returned nothing, all in one commit", async () => {
      const store = SqliteDeliveryStore.open(database);
      await accept(store);
      const commits = (): number => [...store.commits.size.all()][0]!.counts.reduce((all, count) => all + count, 0);
      const before = commits();
      const outcome = await store.accept(
        newDelivery({ runs }),
        noting("notes.add", (runId) => [7, runId]),
      );
      expect(outcome).toMatchObject({ kind: "accepted", isDone: true });
      expect(commits() - before).toBe(1);
      expect(await stateOf(store, outcome.deliveryId)).toEqual(["done", "2026-01-02T03:04:05.678Z"]);
      const { runIds } = outcome as { readonly runIds: readonly string[] };
      expect(database.reader.prepare("SELECT text FROM notes WHERE id = 7").get()).toEqual({ text: runIds[0] });
      expect((await store.loadRun(runIds[0]!)).state).toBe("done");
      await store.close();
    });

    it.each([
      ["has returned something", "notes.echo", ["full"]],
      ["has failed", "notes.addThenThrow", [8]],
      ["is none that the database has", "nobody.knows", []],
    ])("stays queued when the host's write %s", async (_, operation, args) => {
      const store = SqliteDeliveryStore.open(database);
      const outcome = await store.accept(
        newDelivery({ runs }),
        noting(operation, () => args),
      );
      expect(outcome).not.toHaveProperty("isDone");
      expect(await stateOf(store, outcome.deliveryId)).toEqual(queued);
      await store.close();
    });

    it("stays queued when the host has no write for it", async () => {
      const store = SqliteDeliveryStore.open(database);
      const outcome = await store.accept(newDelivery({ runs }), { at: 0, write: () => undefined });
      expect(await stateOf(store, outcome.deliveryId)).toEqual(queued);
      await store.close();
    });

    it("stays queued, and its call is accepted, when the host cannot say how it is written", async () => {
      const store = SqliteDeliveryStore.open(database);
      const write = (): never => {
        throw new Error("broken");
      };
      const outcome = await store.accept(newDelivery({ runs }), { at: 0, write });
      expect(await stateOf(store, outcome.deliveryId)).toEqual(queued);
      await store.close();
    });

    it("is not carried out again for a repeat", async () => {
      const store = SqliteDeliveryStore.open(database);
      const idempotency = newClaim();
      const first = await store.accept(
        newDelivery({ runs, idempotency }),
        noting("notes.add", (runId) => [1, runId]),
      );
      const repeat = await store.accept(
        newDelivery({ runs, idempotency }),
        noting("notes.add", (runId) => [2, runId]),
      );
      expect(repeat).toMatchObject({ kind: "repeat", deliveryId: first.deliveryId });
      await expect(database.write("notes.add", [2, "free"])).resolves.toBeUndefined();
      await store.close();
    });
  });

  it("leaves a database open that it does not own", async () => {
    const store = SqliteDeliveryStore.open(database);
    const pending = store.accept(newDelivery());
    await store.close();
    expect((await pending).kind).toBe("accepted");
    await database.write("notes.add", [1, "still open"]);
  });

  it("closes a database that it owns", async () => {
    await SqliteDeliveryStore.open(database, { ownsDatabase: true }).close();
    await expect(database.write("notes.add", [1, "x"])).rejects.toMatchObject({ code: "CLOSED" });
  });

  it("says CLOSED for writes and UNAVAILABLE for reads when its database was closed under it", async () => {
    const store = SqliteDeliveryStore.open(database);
    const { deliveryId } = await accept(store);
    await database.close();
    await expect(store.accept(newDelivery())).rejects.toMatchObject({ name: "StoreError", code: "CLOSED" });
    await expect(store.get(deliveryId)).rejects.toMatchObject({ name: "StoreError", code: "UNAVAILABLE" });
    await store.close();
  });

  it("says UNAVAILABLE when the writer thread dies, has nothing of that delivery, and accepts again", async () => {
    const store = SqliteDeliveryStore.open(database);
    const before = await accept(store);
    const lost = store.accept(newDelivery());
    const death = database.write("notes.die", null);
    await expect(lost).rejects.toMatchObject({ name: "StoreError", code: "UNAVAILABLE" });
    await expect(death).rejects.toMatchObject({ code: "UNAVAILABLE" });
    const after = await accept(store);
    expect(await listAll(store, { limit: 10 })).toEqual([after.deliveryId, before.deliveryId]);
  });

  it("continues with unique ids after calls that were refused", async () => {
    const store = SqliteDeliveryStore.open(database);
    await expect(store.accept(newDelivery({ name: undefined as never }))).rejects.toMatchObject({
      code: "UNAVAILABLE",
    });
    const idempotency = newClaim();
    const ids = [await accept(store, { idempotency }), await accept(store)].map((outcome) => outcome.deliveryId);
    await store.accept(newDelivery({ idempotency }));
    ids.push((await accept(store)).deliveryId);
    const repeats = await listAll(store, { limit: 10, state: "duplicate" });
    expect(repeats).toHaveLength(1);
    expect(await listAll(store, { limit: 10 })).toEqual([...ids, ...repeats].toSorted().toReversed());
  });

  it("gives a run that coalesced several calls as it is on disk, whichever calls joined it", async () => {
    const store = SqliteDeliveryStore.open(database);
    const coalesce = newCoalesce();
    const { runId } = await accept(store, { coalesce });
    for (let count = 2; count < 5; count++) {
      await store.accept(newDelivery({ coalesce }));
      expect((await store.loadRun(runId)).coalesced?.count).toBe(count);
    }
  });

  it("gives a run that gave way as it is on disk, although it was accepted a moment ago", async () => {
    const store = SqliteDeliveryStore.open(database);
    const overlap = { key: newClaim().key, mode: "latest" } as const;
    const outcomes = await Promise.all([1, 2, 3].map(() => store.accept(newDelivery({ overlap }))));
    const states = [];
    for (const outcome of outcomes) states.push((await store.loadRun(accepted(outcome).runId)).state);
    expect(states).toEqual(["skipped", "skipped", "queued"]);
  });

  it("removes at most 64 deliveries at a time, and counts what was never an id among those it kept", async () => {
    const store = SqliteDeliveryStore.open(database);
    const { deliveryId, runId } = await accept(store);
    const tooMany = Array.from({ length: 65 }, () => deliveryId);
    await expect(store.remove(tooMany, 0)).rejects.toThrow("At most 64");
    expect(await store.remove([deliveryId, "", "dlv_1"], 0)).toEqual({ removed: 0, emptied: 0, kept: 3 });
    await store.settle(runId, { state: "done", reason: null });
    // The newest of all stays.
    await accept(store);
    expect(await store.remove(["dlv_1", deliveryId], 0)).toEqual({ removed: 1, emptied: 0, kept: 1 });
    expect(await store.get(deliveryId)).toBeUndefined();
  });

  it("refuses more runs in one delivery than it has keys for, and takes the most it has", async () => {
    const store = SqliteDeliveryStore.open(database);
    const runs = Array.from({ length: 4097 }, () => ({ lane: "a", spec: agentSpec() }));
    await expect(store.accept(newDelivery({ runs }))).rejects.toThrow("at most 4096 runs; this one has 4097");
    const { deliveryId, runIds } = await accept(store, { runs: runs.slice(1) });
    expect(new Set(runIds).size).toBe(4096);
    expect((await store.get(deliveryId))?.runs.at(-1)?.id).toBe(runIds[4095]);
    const next = await accept(store);
    expect((await store.loadRun(next.runId)).deliveryId).toBe(next.deliveryId);
  });

  it("cuts a long reply in the file too once the run is settled", async () => {
    const store = SqliteDeliveryStore.open(database);
    const { runId } = await accept(store);
    await store.beginAttempt(runId, { number: 1, startedAt: 0 });
    await store.endAttempt(runId, { endedAt: 1, status: "ok", error: null, reply: "é".repeat(5000) });
    await store.settle(runId, { state: "done", reason: null });
    expect(database.reader.prepare("SELECT length(reply) AS n FROM attempts").get()).toEqual({ n: 2000 });
  });
});
