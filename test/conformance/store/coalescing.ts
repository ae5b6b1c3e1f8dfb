import { expect, it } from "vitest";
import { MAX_COALESCED_CHARS } from "../../../src/storage/delivery-store.ts";
import type { DeliveryStore } from "../../../src/storage/delivery-store.ts";
import type { NewDelivery } from "../../../src/storage/new-delivery.ts";
import { agentSpec, newClaim, newCoalesce, newDelivery, RECEIVED_AT, wakeSpec } from "./new-delivery.ts";
import { accept, accepted, listAll, openRun, openRuns } from "./store-actions.ts";
import type { StoreUnderTest } from "./store-harness.ts";

const HOUR = 3_600_000;
const LANE = "agent:main:hook:1";
const saying = (message: string) => [{ lane: LANE, spec: agentSpec({ message, coalesce: "list" }) }];

/** Coalescing: calls of one key become one run, and none of them is lost. */
export function describeCoalescing(underTest: () => StoreUnderTest): void {
  it("makes one run of the calls that arrive while it is coalescing", async () => {
    const { store } = underTest();
    const coalesce = newCoalesce({ windowMs: 1000, maxWaitMs: 60_000 });
    const first = await store.accept(newDelivery({ coalesce, runs: saying("one") }));
    expect(first).toMatchObject({ kind: "accepted", dueAt: RECEIVED_AT + 1000 });
    const { deliveryId, runId } = accepted(first);
    const changes = { coalesce, receivedAt: RECEIVED_AT + 400, body: Buffer.from("second"), mappingId: "mail" };
    const second = await store.accept(newDelivery({ ...changes, runs: saying("two") }));
    expect(second).toEqual({ kind: "coalesced", deliveryId: second.deliveryId, runId, dueAt: RECEIVED_AT + 1400 });

    expect(await store.get(second.deliveryId)).toMatchObject({
      state: "coalesced",
      reason: null,
      mappingId: "mail",
      relatedTo: { how: "coalesced", deliveryId },
      runIds: [],
      runs: [],
      bodyBytes: 6,
    });
    expect(Buffer.from((await store.body(second.deliveryId))!).toString()).toBe("second");
    expect((await store.get(deliveryId))?.runs).toMatchObject([
      { state: "queued", calls: 2, dueAt: new Date(RECEIVED_AT + 1400).toISOString() },
    ]);
    expect(await openRuns(store)).toMatchObject([{ runId, dueAt: RECEIVED_AT + 1400, begun: false }]);
    expect(await listAll(store, { limit: 10, state: "coalesced" })).toEqual([second.deliveryId]);
  });

  it("gives the run the texts of all calls in order, and the last call's spec", async () => {
    const { store } = underTest();
    const coalesce = newCoalesce();
    const { runId } = await accept(store, { coalesce, runs: saying("one") });
    for (const text of ["two", "lone \ud800", "four"])
      await store.accept(newDelivery({ coalesce, runs: saying(text) }));
    await store.stopCoalescing(runId);
    const run = await store.loadRun(runId);
    expect(run.spec).toEqual(saying("one")[0]!.spec);
    expect(run.coalesced).toEqual({
      count: 4,
      latest: saying("four")[0]!.spec,
      texts: ["one", "two", "lone \ud800", "four"],
    });
    expect(await (await underTest().reopen()).loadRun(runId)).toEqual(run);
  });

  it("coalesces wakes as well", async () => {
    const { store } = underTest();
    const coalesce = newCoalesce();
    const wake = (text: string) => [{ lane: "agent:main:main", spec: wakeSpec({ text, coalesce: "latest" }) }];
    const { runId } = await accept(store, { coalesce, runs: wake("one") });
    await store.accept(newDelivery({ coalesce, runs: wake("two") }));
    expect((await store.loadRun(runId)).coalesced).toEqual({
      count: 2,
      latest: wake("two")[0]!.spec,
      texts: ["one", "two"],
    });
  });

  it("says nothing of calls when a run stands for its own only", async () => {
    const { store } = underTest();
    const { deliveryId, runId } = await accept(store, { coalesce: newCoalesce() });
    expect(await store.loadRun(runId)).not.toHaveProperty("coalesced");
    expect((await store.get(deliveryId))?.runs[0]?.calls).toBe(1);
  });

  it("keeps the runs of different keys apart", async () => {
    const { store } = underTest();
    const outcomes = [];
    for (const coalesce of [newCoalesce(), newCoalesce()]) {
      for (let count = 0; count < 2; count++) outcomes.push(await store.accept(newDelivery({ coalesce })));
    }
    expect(outcomes.map(({ kind }) => kind)).toEqual(["accepted", "coalesced", "accepted", "coalesced"]);
    expect(await openRuns(store)).toHaveLength(2);
  });

  it("makes one run of calls that arrive together, and counts each", async () => {
    const { store } = underTest();
    const coalesce = newCoalesce();
    const outcomes = await Promise.all(
      Array.from({ length: 300 }, (_, at) => store.accept(newDelivery({ coalesce, runs: saying(`call ${at}`) }))),
    );
    expect(outcomes.filter(({ kind }) => kind === "accepted")).toHaveLength(1);
    expect(outcomes.filter(({ kind }) => kind === "coalesced")).toHaveLength(299);
    const { runId } = accepted(outcomes[0]!);
    const { coalesced } = await store.loadRun(runId);
    expect(coalesced?.count).toBe(300);
    expect(coalesced?.texts).toEqual(Array.from({ length: 300 }, (_, at) => `call ${at}`));
  });

  it("gives a run at most 500 texts, the latest, and still the number of all", async () => {
    const { store } = underTest();
    const coalesce = newCoalesce();
    const outcomes = await Promise.all(
      Array.from({ length: 510 }, (_, at) => store.accept(newDelivery({ coalesce, runs: saying(`${at}`) }))),
    );
    const { coalesced } = await store.loadRun(accepted(outcomes[0]!).runId);
    expect(coalesced).toMatchObject({ count: 510, latest: saying("509")[0]!.spec });
    expect(coalesced?.texts).toEqual(Array.from({ length: 500 }, (_, at) => `${at + 10}`));
  });

  it("gives a run no more characters than it can hold, the latest call's always", async () => {
    const { store } = underTest();
    const coalesce = newCoalesce();
    const texts = ["a".repeat(400_000), "b".repeat(400_000), "c", "d".repeat(500_000)];
    const { runId } = await accept(store, { coalesce, runs: saying(texts[0]!) });
    for (const text of texts.slice(1)) await store.accept(newDelivery({ coalesce, runs: saying(text) }));
    expect((await store.loadRun(runId)).coalesced).toMatchObject({ count: 4, texts: texts.slice(1) });
    const longest = "e".repeat(MAX_COALESCED_CHARS + 1);
    await store.accept(newDelivery({ coalesce, runs: saying(longest) }));
    expect((await store.loadRun(runId)).coalesced).toMatchObject({ count: 5, texts: [longest] });
  });

  it("is due so long after the last call, and no later than so long after the first", async () => {
    const { store } = underTest();
    const coalesce = newCoalesce({ windowMs: 1000, maxWaitMs: 2500 });
    const due = [];
    for (const after of [0, 900, 1800, 2400, 9000]) due.push(await dueAfter(store, { coalesce }, after));
    expect(due).toEqual([1000, 1900, 2500, 2500, 2500]);
    const short = newCoalesce({ windowMs: 1000, maxWaitMs: 300 });
    expect(await dueAfter(store, { coalesce: short }, 0)).toBe(300);
  });

  it("is due no earlier for a call that took its time on the way", async () => {
    const { store } = underTest();
    const coalesce = newCoalesce({ windowMs: 1000, maxWaitMs: 60_000 });
    await dueAfter(store, { coalesce }, 5000);
    expect(await dueAfter(store, { coalesce }, 2000)).toBe(6000);
  });

  it("waits no longer than usual for a clock that was set back", async () => {
    const { store } = underTest();
    const coalesce = newCoalesce({ windowMs: 1000, maxWaitMs: 2500 });
    await dueAfter(store, { coalesce }, HOUR);
    const due = [];
    for (const after of [0, 900, 1800, 2400]) due.push(await dueAfter(store, { coalesce }, after));
    expect(due).toEqual([1000, 1900, 2500, 2500]);
  });

  it.each<[string, (store: DeliveryStore, runId: string) => Promise<void>]>([
    ["it stopped coalescing", (store, runId) => store.stopCoalescing(runId)],
    ["it has begun", (store, runId) => store.beginAttempt(runId, { number: 1, startedAt: RECEIVED_AT })],
    [
      "it has begun and is to be tried again",
      async (store, runId) => {
        await store.beginAttempt(runId, { number: 1, startedAt: RECEIVED_AT });
        await store.endAttempt(runId, { endedAt: RECEIVED_AT, status: "error", error: "busy", reply: null });
        await store.postpone(runId, { dueAt: RECEIVED_AT + 10, reason: "busy" });
      },
    ],
    ["it was postponed", (store, runId) => store.postpone(runId, { dueAt: RECEIVED_AT + 10, reason: "no host" })],
    ["it is held", (store, runId) => store.hold(runId, "a person decides")],
    ["it is settled", (store, runId) => store.settle(runId, { state: "canceled", reason: "by hand" })],
    ["it was skipped", (store, runId) => store.settle(runId, { state: "skipped", reason: "too old" })],
  ])("begins a run of its own for the next call when %s", async (_, change) => {
    const { store } = underTest();
    const coalesce = newCoalesce();
    const first = await accept(store, { coalesce });
    await store.accept(newDelivery({ coalesce }));
    await change(store, first.runId);
    const next = await accept(store, { coalesce });
    expect(next.runId).not.toBe(first.runId);
    expect(await store.accept(newDelivery({ coalesce }))).toMatchObject({ kind: "coalesced", runId: next.runId });
    expect((await store.loadRun(first.runId)).coalesced?.count).toBe(2);
    // A further change of the first run does not end the coalescing of its successor.
    await store.stopCoalescing(first.runId);
    expect(await store.accept(newDelivery({ coalesce }))).toMatchObject({ kind: "coalesced", runId: next.runId });
  });

  it("continues to coalesce after it was closed and opened again, and stops then as well", async () => {
    const coalesce = newCoalesce();
    const { runId } = await accept(underTest().store, { coalesce });
    const reopened = await underTest().reopen();
    expect(await reopened.accept(newDelivery({ coalesce }))).toMatchObject({ kind: "coalesced", runId });
    const again = await underTest().reopen();
    await again.stopCoalescing(runId);
    expect(await again.accept(newDelivery({ coalesce }))).toMatchObject({ kind: "accepted" });
    expect((await again.loadRun(runId)).coalesced?.count).toBe(2);
  });

  it("does nothing for a run that coalesces no calls", async () => {
    const { store } = underTest();
    const { runId } = await accept(store);
    await store.stopCoalescing(runId);
    expect(await openRun(store, runId)).toMatchObject({ state: "queued", dueAt: null });
  });

  it("recognizes a repeat before it is coalesced, so that it counts once", async () => {
    const { store } = underTest();
    const [coalesce, idempotency] = [newCoalesce(), newClaim()];
    const { runId } = await accept(store, { coalesce });
    for (let count = 0; count < 3; count++) await store.accept(newDelivery({ coalesce, idempotency }));
    expect((await store.loadRun(runId)).coalesced?.count).toBe(2);
  });

  it("refuses to coalesce what is not exactly one run, or has an overlap", async () => {
    const { store } = underTest();
    const coalesce = newCoalesce();
    const overlap = { key: coalesce.key, mode: "skip" } as const;
    const runs = [...saying("one"), ...saying("two")];
    const ended = { state: "filtered", reason: "a bot" } as const;
    for (const changes of [{ runs }, { overlap }, { runs: [], ended }]) {
      await expect(store.accept(newDelivery({ coalesce, ...changes }))).rejects.toThrow("exactly one run");
    }
    expect(await listAll(store, { limit: 10 })).toEqual([]);
  });
}

/** Accepts a call so long after the first; gives when the run is due, by the same measure. */
async function dueAfter(store: DeliveryStore, changes: Partial<NewDelivery>, afterMs: number): Promise<number> {
  const outcome = await store.accept(newDelivery({ ...changes, receivedAt: RECEIVED_AT + afterMs }));
  const dueAt = outcome.kind === "accepted" || outcome.kind === "coalesced" ? (outcome.dueAt ?? 0) : 0;
  expect((await openRuns(store)).at(-1)?.dueAt).toBe(dueAt);
  return dueAt - RECEIVED_AT;
}
