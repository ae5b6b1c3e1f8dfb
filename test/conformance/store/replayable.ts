import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import {
  agentSpec,
  dictionary,
  endedDelivery,
  newClaim,
  newCoalesce,
  newDelivery,
  RECEIVED_AT,
  wakeSpec,
} from "./new-delivery.ts";
import { accept, accepted, listAll } from "./store-actions.ts";
import type { StoreUnderTest } from "./store-harness.ts";

/** What a replay needs, and what a caller may know. */
export function describeReplayable(underTest: () => StoreUnderTest): void {
  it("gives everything a replay needs, exactly", async () => {
    const { store } = underTest();
    const runs = [
      { lane: "a", spec: agentSpec({ message: "lone \ud800" }) },
      { lane: "", spec: wakeSpec() },
    ];
    const delivery = {
      route: "github/push",
      mappingId: "github",
      name: "GitHub",
      receivedAt: RECEIVED_AT,
      event: "push",
      actor: "octocat",
      level: "owner" as const,
      headers: dictionary({ ["__proto__"]: "header" }),
      query: dictionary({ q: "ä" }),
      body: Buffer.from([0, 0xff]),
      runs,
    };
    const { deliveryId, runIds } = accepted(await store.accept(newDelivery(delivery)));
    await store.settle(runIds[0]!, { state: "failed", reason: "no model" });
    expect(await store.replayable(deliveryId)).toEqual({
      ...delivery,
      body: new Uint8Array([0, 0xff]),
      runs: runs.map((run, index) => ({ ...run, runId: runIds[index], state: index === 0 ? "failed" : "queued" })),
      members: [],
    });
    const reopened = await underTest().reopen();
    expect(Object.keys((await reopened.replayable(deliveryId))?.headers ?? {})).toEqual(["__proto__"]);
  });

  it("gives the run of a coalesced delivery that was never carried out", async () => {
    const { store } = underTest();
    const coalesce = newCoalesce();
    const first = await accept(store, {
      coalesce,
      runs: [{ lane: "the lane", spec: agentSpec({ message: "one" }) }],
    });
    const runs = [{ lane: "the lane", spec: agentSpec({ message: "two" }) }];
    const { deliveryId } = await store.accept(newDelivery({ coalesce, runs, body: Buffer.from("second") }));
    expect(await store.replayable(deliveryId)).toMatchObject({
      runs: [{ ...runs[0], runId: first.runId, state: "queued" }],
      body: new Uint8Array(Buffer.from("second")),
      members: [],
    });
    await store.settle(first.runId, { state: "failed", reason: "no model" });
    expect((await store.replayable(deliveryId))?.runs).toMatchObject([{ state: "failed" }]);
  });

  it("names the deliveries whose calls are a part of its run, oldest first, and no others", async () => {
    const { store } = underTest();
    const [coalesce, idempotency] = [newCoalesce(), newClaim()];
    const first = await accept(store, { coalesce, idempotency });
    const parts = [
      (await store.accept(newDelivery({ coalesce }))).deliveryId,
      (await store.accept(newDelivery({ coalesce }))).deliveryId,
    ];
    await store.accept(newDelivery({ coalesce, idempotency }));
    await accept(store, { replayOf: first.deliveryId });
    await accept(store, { coalesce: newCoalesce() });
    expect((await store.replayable(first.deliveryId))?.members).toEqual(parts);
    await store.settle(first.runId, { state: "failed", reason: "no model" });
    expect((await store.replayable(first.deliveryId))?.members).toEqual(parts);
  });

  it("gives neither body nor runs of a duplicate", async () => {
    const { store } = underTest();
    const idempotency = newClaim();
    await accept(store, { idempotency });
    await store.accept(newDelivery({ idempotency }));
    const [id] = await listAll(store, { limit: 1, state: "duplicate" });
    expect(await store.replayable(id!)).toMatchObject({ body: null, headers: {}, query: {}, runs: [] });
  });

  it("says of a replay which delivery it repeats, and refuses what was never one", async () => {
    const { store } = underTest();
    const first = await accept(store);
    const replay = await accept(store, { replayOf: first.deliveryId, credentialId: null });
    const relatedTo = { how: "replay", deliveryId: first.deliveryId };
    expect(await store.get(replay.deliveryId)).toMatchObject({ state: "queued", relatedTo });
    expect((await store.list({ limit: 1 })).deliveries).toMatchObject([{ id: replay.deliveryId, relatedTo }]);
    await store.settle(replay.runId, { state: "done", reason: null });
    expect(await store.get(replay.deliveryId)).toMatchObject({ state: "done", relatedTo });
    await expect(store.accept(newDelivery({ replayOf: "dlv_1" }))).rejects.toThrow("by its id");
  });

  it("names the replays of a delivery with their states, newest first, in whatever state they are", async () => {
    const { store } = underTest();
    const first = await accept(store);
    const { deliveryId } = first;
    const other = await accept(store, { replayOf: (await accept(store)).deliveryId });
    expect(await store.replaysOf(deliveryId)).toEqual([]);
    const replayOf = deliveryId;
    const coalesce = newCoalesce();
    const overlap = { key: randomBytes(32), mode: "skip" as const };
    const done = await accept(store, { replayOf, overlap });
    const dropped = await store.accept(newDelivery({ replayOf, overlap }));
    const joined = await accept(store, { replayOf, coalesce });
    const part = await store.accept(newDelivery({ replayOf, coalesce }));
    const filtered = await store.accept(endedDelivery("filtered", "a bot", { replayOf }));
    await store.settle(done.runId, { state: "done", reason: null });
    const expected = [
      { id: filtered.deliveryId, state: "filtered" },
      { id: part.deliveryId, state: "coalesced" },
      { id: joined.deliveryId, state: "queued" },
      { id: dropped.deliveryId, state: "skipped" },
      { id: done.deliveryId, state: "done" },
    ];
    expect(await store.replaysOf(deliveryId)).toEqual(expected);
    expect(await store.replaysOf(other.deliveryId)).toEqual([]);
    const reopened = await underTest().reopen();
    expect(await reopened.replaysOf(deliveryId)).toEqual(expected);
    for (const unknown of ["dlv_1", deliveryId.slice(0, -1) + (deliveryId.endsWith("0") ? "1" : "0")]) {
      expect(await reopened.replaysOf(unknown)).toEqual([]);
    }
    await reopened.settle(first.runId, { state: "failed", reason: "no model" });
    expect(await reopened.remove([replayOf], RECEIVED_AT)).toMatchObject({ removed: 1 });
    expect(await reopened.replaysOf(replayOf)).toEqual(expected);
    expect(await reopened.get(part.deliveryId)).toMatchObject({
      relatedTo: { how: "coalesced", deliveryId: joined.deliveryId },
    });
  });

  it("shows a caller the state of its delivery and of its runs, and nothing else", async () => {
    const { store } = underTest();
    const runs = [
      { lane: "a", spec: agentSpec() },
      { lane: "a", spec: agentSpec() },
    ];
    const { deliveryId, runIds } = await accept(store, { credentialId: "token:1", runs });
    await store.settle(runIds[0]!, { state: "failed", reason: "a secret reason" });
    expect(await store.stateFor(deliveryId, "token:1")).toEqual({
      deliveryId,
      state: "queued",
      runs: [
        { runId: runIds[0], state: "failed" },
        { runId: runIds[1], state: "queued" },
      ],
    });
    await store.settle(runIds[1]!, { state: "skipped", reason: "too old" });
    expect((await store.stateFor(deliveryId, "token:1"))?.state).toBe("failed");
  });

  it("shows a caller of a coalesced delivery its state and not the run of another delivery", async () => {
    const { store } = underTest();
    const coalesce = newCoalesce();
    await accept(store, { coalesce, credentialId: "token:1" });
    const { deliveryId } = await store.accept(newDelivery({ coalesce, credentialId: "token:2" }));
    expect(await store.stateFor(deliveryId, "token:2")).toEqual({ deliveryId, state: "coalesced", runs: [] });
  });

  it("discloses nothing to a caller with another credential, nor of a delivery without one", async () => {
    const { store } = underTest();
    const { deliveryId } = await accept(store, { credentialId: "token:1" });
    for (const other of ["token:2", "TOKEN:1", "token:", "", "token:1 "]) {
      expect(await store.stateFor(deliveryId, other)).toBeUndefined();
    }
    const replay = await accept(store, { replayOf: deliveryId, credentialId: null });
    for (const credential of ["", "null", "token:1"]) {
      expect(await store.stateFor(replay.deliveryId, credential)).toBeUndefined();
    }
  });
}
