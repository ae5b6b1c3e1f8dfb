import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { STATES } from "../../../src/core/run.ts";
import type { DeliveryStore } from "../../../src/storage/delivery-store.ts";
import type { ReplayKeyClaim, NewDelivery } from "../../../src/storage/new-delivery.ts";
import { dictionary, endedDelivery, newClaim, newCoalesce, newDelivery, RECEIVED_AT } from "./new-delivery.ts";
import { accept, accepted, listAll, openRuns } from "./store-actions.ts";
import type { StoreUnderTest } from "./store-harness.ts";

const DAY = 86_400_000;
const REASON = 'The transform build.ts failed: it threw Error: no branch in "secret".';

type Claims = Pick<NewDelivery, "idempotency" | "replayKeys">;
/** By each of them a copy of a request is recognized; new ones each time. */
const CLAIMS: readonly (readonly [name: string, make: (expiresAt?: number) => Claims])[] = [
  ["its key", (expiresAt) => ({ idempotency: newClaim(expiresAt === undefined ? {} : { expiresAt }) })],
  [
    "a replay key",
    (expiresAt = RECEIVED_AT + DAY) => ({ replayKeys: [newReplayKey(expiresAt), newReplayKey(expiresAt)] }),
  ],
];

function newReplayKey(expiresAt = RECEIVED_AT + DAY): ReplayKeyClaim {
  return { key: randomBytes(32), expiresAt };
}

/** Deliveries that have failed without a run: they are dead letters as well, and claim nothing. */
export function describeFailingAtOnce(underTest: () => StoreUnderTest): void {
  const failed = async (store: DeliveryStore, changes: Partial<NewDelivery> = {}) => {
    const { deliveryId } = accepted(await store.accept(endedDelivery("failed", REASON, changes)));
    return deliveryId;
  };
  /** The store, and then the same one opened again. */
  const both = () => [() => Promise.resolve(underTest().store), () => underTest().reopen()];

  it("keeps one with its reason and its request, also when the file is opened again", async () => {
    const { store } = underTest();
    const headers = dictionary({ "x-event": "push", ["__proto__"]: "header" });
    const body = Buffer.from([0, 0xff, 0x0a]);
    const known = { route: "github", mappingId: "github", event: "push" };
    const own = { ...known, actor: "octocat", name: "github", headers, body, credentialId: "token:1" };
    const id = await failed(store, own);
    const shown = {
      ...known,
      actor: "octocat",
      id,
      state: "failed",
      reason: REASON,
      name: "github",
      runIds: [],
      relatedTo: null,
    };
    for (const open of both()) {
      const opened = await open();
      expect(await opened.get(id)).toMatchObject({ ...shown, bodyBytes: 3, runs: [] });
      expect((await opened.get(id))?.headers).toEqual(headers);
      expect(Buffer.from((await opened.body(id))!)).toEqual(body);
      expect((await opened.list({ limit: 5 })).deliveries).toMatchObject([shown]);
      expect((await opened.list({ limit: 5, state: "failed" })).deliveries).toMatchObject([shown]);
      expect(await opened.replayable(id)).toMatchObject({
        ...known,
        actor: "octocat",
        body: new Uint8Array(body),
        runs: [],
        members: [],
      });
      expect(await opened.stateFor(id, "token:1")).toEqual({ deliveryId: id, state: "failed", runs: [] });
      expect(await opened.stateFor(id, "token:2")).toBeUndefined();
    }
  });

  it("has nothing to carry out", async () => {
    const { store } = underTest();
    const id = await failed(store);
    expect(await openRuns(store)).toEqual([]);
    await expect(store.settle(`run_${id.slice(4)}_0`, { state: "canceled", reason: null })).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  });

  it("is listed as failed and as nothing else, among those whose runs have failed, newest first", async () => {
    const { store } = underTest();
    const ids: string[] = [];
    for (let round = 0; round < 6; round++) {
      ids.unshift(await failed(store, { route: round % 2 === 0 ? "even" : "odd" }));
      const { deliveryId, runId } = await accept(store, { route: "odd" });
      await store.settle(runId, { state: "failed", reason: "no model" });
      ids.unshift(deliveryId);
      await store.accept(endedDelivery("filtered"));
      await accept(store);
    }
    for (const open of both()) {
      const opened = await open();
      for (const limit of [1, 2, 5, 12, 13]) {
        expect(await listAll(opened, { limit, state: "failed" })).toEqual(ids);
        expect(await listAll(opened, { limit, state: "failed", text: "failed: it threw" })).toHaveLength(6);
        expect(await listAll(opened, { limit, state: "failed", route: "even" })).toHaveLength(3);
      }
      for (const state of STATES) {
        const listed = await listAll(opened, { limit: 50, state });
        expect([state, ids.filter((id) => listed.includes(id))]).toEqual([state, state === "failed" ? ids : []]);
      }
    }
  });

  it("is filtered like any other, by actor, time and text", async () => {
    const { store } = underTest();
    const id = await failed(store, { actor: "Octocat", receivedAt: RECEIVED_AT + 5 });
    await failed(store);
    const query = { limit: 1, state: "failed", actor: "octocat", receivedFrom: RECEIVED_AT + 5 } as const;
    expect(await listAll(store, query)).toEqual([id]);
    expect(await listAll(store, { ...query, receivedBefore: RECEIVED_AT + 5 })).toEqual([]);
    expect(await listAll(store, { ...query, text: "NO BRANCH" })).toEqual([id]);
    expect(await listAll(store, { ...query, text: "no branches" })).toEqual([]);
  });

  it.each(CLAIMS)("claims nothing by %s: the same call is a new one each time, until one is taken", async (_, make) => {
    const claims = make();
    const first = await failed(underTest().store, claims);
    const second = await failed(underTest().store, claims);
    expect(second).not.toBe(first);
    const store = await underTest().reopen();
    const retried = await accept(store, claims);
    const repeat = { kind: "repeat", deliveryId: retried.deliveryId, runIds: retried.runIds };
    expect(await store.accept(endedDelivery("failed", REASON, claims))).toEqual(repeat);
    expect(await store.accept(endedDelivery("filtered", "a bot", claims))).toEqual(repeat);
    expect(await listAll(store, { limit: 5, state: "failed" })).toEqual([second, first]);
  });

  it.each(CLAIMS)("is a repeat by %s of a call that was taken, and no dead letter", async (_, make) => {
    const claims = make();
    const { deliveryId, runIds } = await accept(underTest().store, { ...claims, mappingId: "ci" });
    for (const [before, open] of both().entries()) {
      const store = await open();
      const outcome = await store.accept(
        endedDelivery("failed", REASON, { ...claims, mappingId: "ci", name: "secret" }),
      );
      expect(outcome).toEqual({ kind: "repeat", deliveryId, runIds });
      const { deliveries } = await store.list({ limit: 1 });
      const relatedTo = { how: "duplicate", deliveryId };
      expect(deliveries).toMatchObject([{ state: "duplicate", name: "ci", reason: null, relatedTo }]);
      expect(await listAll(store, { limit: 1, state: "failed" })).toEqual([]);
      expect(await listAll(store, { limit: 1, state: "duplicate" })).toHaveLength(before + 1);
    }
  });

  it.each(CLAIMS)("is recognized by %s also in the commit that takes the first of them", async (_, make) => {
    const { store } = underTest();
    const claims = make();
    const [before, taken, after] = await Promise.all([
      store.accept(endedDelivery("failed", REASON, claims)),
      store.accept(newDelivery(claims)),
      store.accept(endedDelivery("failed", REASON, claims)),
    ]);
    expect([before.kind, taken.kind]).toEqual(["accepted", "accepted"]);
    expect(after).toMatchObject({ kind: "repeat", deliveryId: taken.deliveryId });
  });

  it.each(CLAIMS)("is a call of its own again when what held %s has lapsed, or has failed", async (_, make) => {
    const { store } = underTest();
    const claims = make(RECEIVED_AT + 1_000);
    const { runId, deliveryId } = await accept(store, claims);
    const copy = (receivedAt: number) => store.accept(endedDelivery("failed", REASON, { ...claims, receivedAt }));
    expect(await copy(RECEIVED_AT + 999)).toMatchObject({ kind: "repeat", deliveryId });
    expect(await copy(RECEIVED_AT + 1_000)).toMatchObject({ kind: "accepted" });
    await store.settle(runId, { state: "failed", reason: "no model" });
    expect(await copy(RECEIVED_AT + 1)).toMatchObject({ kind: "accepted" });
  });

  it("is refused like any other under a key that another request has, and is not stored", async () => {
    const { store } = underTest();
    const idempotency = newClaim();
    const { deliveryId } = await accept(store, { idempotency });
    const other = { ...idempotency, fingerprint: newClaim().fingerprint };
    const replayKey = newReplayKey();
    for (const open of both()) {
      const opened = await open();
      const conflict = endedDelivery("failed", REASON, { idempotency: other, replayKeys: [replayKey] });
      expect(await opened.accept(conflict)).toEqual({ kind: "conflict", deliveryId });
      expect(await listAll(opened, { limit: 5 })).toEqual([deliveryId]);
    }
    await accept(await underTest().reopen(), { replayKeys: [replayKey] });
  });

  it.each([
    ["coalesce", { coalesce: newCoalesce() }],
    ["overlap", { overlap: { key: randomBytes(32), mode: "skip" as const } }],
  ])("is refused with %s, and nothing is stored", async (_, claim) => {
    const { store } = underTest();
    await expect(store.accept(endedDelivery("failed", REASON, claim))).rejects.toThrow("neither coalesce nor overlap");
    expect(await listAll(store, { limit: 5 })).toEqual([]);
    await accept(store, claim);
  });

  it("is a replay and has replays like any other", async () => {
    const { store } = underTest();
    const first = await failed(store);
    const second = await failed(store, { replayOf: first });
    const third = await accept(store, { replayOf: first });
    await store.settle(third.runId, { state: "done", reason: null });
    const replays = [
      { id: third.deliveryId, state: "done" },
      { id: second, state: "failed" },
    ];
    for (const open of both()) {
      const opened = await open();
      expect(await opened.get(second)).toMatchObject({ relatedTo: { how: "replay", deliveryId: first } });
      expect(await opened.replaysOf(first)).toEqual(replays);
    }
  });

  it("goes after its time, and loses with its request what its reason shows of it", async () => {
    const { store } = underTest();
    const [removed, emptied] = [
      await failed(store),
      await failed(store, {
        receivedAt: RECEIVED_AT + 2 * DAY,
        name: "secret",
        mappingId: "ci",
        body: Buffer.from("secret"),
      }),
    ];
    const kept = await failed(store, { receivedAt: RECEIVED_AT + 9 * DAY });
    const limits = { now: RECEIVED_AT + 9 * DAY, removeBefore: RECEIVED_AT + DAY, emptyBefore: RECEIVED_AT + 3 * DAY };
    for (let more = true; more;) ({ more } = await store.prune({ ...limits, maxBytes: null }));
    expect(await store.get(removed)).toBeUndefined();
    expect(await store.get(emptied)).toMatchObject({
      state: "failed",
      name: "ci",
      reason: "The transform build.ts failed",
      headers: {},
      bodyBytes: 0,
    });
    expect(JSON.stringify(await store.get(emptied))).not.toContain("secret");
    expect(await store.replayable(emptied)).toMatchObject({ body: null, runs: [] });
    expect(await listAll(store, { limit: 5, state: "failed" })).toEqual([kept, emptied]);
    expect((await store.get(kept))?.reason).toBe(REASON);
  });

  it("counts for the bytes that deliveries may take, and goes at once when a person wants it", async () => {
    const { store } = underTest();
    const body = Buffer.alloc(100_000, "x");
    const ids = [await failed(store, { body }), await failed(store, { body }), await failed(store, { body })];
    const limits = { now: RECEIVED_AT, removeBefore: 0, emptyBefore: 0, maxBytes: 250_000 };
    for (let more = true; more;) ({ more } = await store.prune(limits));
    expect(await listAll(store, { limit: 5, state: "failed" })).toEqual([ids[2], ids[1]]);
    expect(await store.remove([ids[1]!], RECEIVED_AT)).toEqual({ removed: 1, emptied: 0, kept: 0 });
    expect(await listAll(store, { limit: 5 })).toEqual([ids[2]]);
  });
}
