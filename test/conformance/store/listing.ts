import { expect, it } from "vitest";
import { STATES } from "../../../src/delivery.ts";
import { agentSpec, endedDelivery, newDelivery, RECEIVED_AT } from "./new-delivery.ts";
import { accept, accepted, listAll } from "./store-actions.ts";
import type { StoreUnderTest } from "./store-harness.ts";

/** Lists: newest first, in pages that neither repeat nor lose. */
export function describeListing(underTest: () => StoreUnderTest): void {
  it("lists nothing of an empty store", async () => {
    const { store } = underTest();
    expect(await store.list({ limit: 1 })).toEqual({ deliveries: [], nextCursor: null });
    for (const state of STATES) expect((await store.list({ limit: 10, state })).deliveries).toEqual([]);
  });

  it("lists newest first, each with its summary", async () => {
    const { store } = underTest();
    const first = await accept(store, { route: "wake", name: "First" });
    const second = accepted(await store.accept(endedDelivery("skipped", "the transform said so", { mappingId: "m" })));
    const page = await store.list({ limit: 10 });
    expect(page.nextCursor).toBeNull();
    expect(page.deliveries).toEqual([
      {
        id: second.deliveryId,
        state: "skipped",
        reason: "the transform said so",
        route: "agent",
        mappingId: "m",
        name: "Hook",
        receivedAt: new Date(RECEIVED_AT).toISOString(),
        runIds: [],
      },
      expect.objectContaining({ id: first.deliveryId, state: "queued", name: "First", runIds: first.runIds }),
    ]);
  });

  it.each([1, 3, 7, 200])("goes through all of them in pages of %i", async (limit) => {
    const { store } = underTest();
    const ids = await acceptMany(underTest(), 23);
    expect(await listAll(store, { limit })).toEqual(ids.toReversed());
  });

  it("neither repeats nor skips while others are accepted between pages", async () => {
    const { store } = underTest();
    const ids = await acceptMany(underTest(), 12);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await store.list({ limit: 5, ...(cursor !== undefined && { cursor }) });
      seen.push(...page.deliveries.map((delivery) => delivery.id));
      await acceptMany(underTest(), 4);
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(seen).toEqual(ids.toReversed());
  });

  it("filters by route", async () => {
    const { store } = underTest();
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        store.accept(newDelivery({ route: index % 3 === 0 ? "rare" : "usual" })),
      ),
    );
    const rare = outcomes.filter((_, index) => index % 3 === 0).map((outcome) => outcome.deliveryId);
    expect(await listAll(store, { limit: 4, route: "rare" })).toEqual(rare.toReversed());
    expect(await listAll(store, { limit: 4, route: "none' OR 1=1 --" })).toEqual([]);
  });

  it("filters by every state, alone and with a route", async () => {
    const { store } = underTest();
    const expected: Record<string, string[]> = Object.fromEntries(STATES.map((state) => [state, []]));
    for (let round = 0; round < 3; round++) {
      for (const state of ["filtered", "skipped"] as const) {
        expected[state]!.unshift((await store.accept(endedDelivery(state))).deliveryId);
      }
      for (const state of ["queued", "running", "held", "done", "failed", "canceled"] as const) {
        // Two runs in that state: the delivery is listed once.
        const runs = [1, 2].map(() => ({ lane: "a", spec: agentSpec() }));
        const { deliveryId, runIds } = await accept(store, { runs, route: round === 1 ? "other" : "agent" });
        for (const runId of runIds) {
          if (state === "running") await store.beginAttempt(runId, { number: 1, startedAt: RECEIVED_AT });
          else if (state === "held") await store.hold(runId, "x");
          else if (state !== "queued") await store.settle(runId, { state, reason: null });
        }
        expected[state]!.unshift(deliveryId);
      }
    }
    for (const state of STATES) {
      for (const limit of [1, 2, 10]) {
        expect({ state, ids: await listAll(store, { limit, state }) }).toEqual({ state, ids: expected[state] });
      }
      const other =
        expected[state]!.length === 0 || state === "filtered" || state === "skipped" ? [] : [expected[state]![1]];
      expect({ state, ids: await listAll(store, { limit: 1, state, route: "other" }) }).toEqual({ state, ids: other });
    }
  });

  it("lists a delivery under the state it shows and no other", async () => {
    const { store } = underTest();
    const runs = [1, 2, 3].map(() => ({ lane: "a", spec: agentSpec() }));
    const { deliveryId, runIds } = await accept(store, { runs });
    await store.settle(runIds[0]!, { state: "failed", reason: "x" });
    await store.settle(runIds[1]!, { state: "done", reason: null });
    const found = async () => {
      const states: string[] = [];
      for (const state of STATES)
        if ((await listAll(store, { limit: 5, state })).includes(deliveryId)) states.push(state);
      return states;
    };
    expect(await found()).toEqual(["queued"]);
    await store.settle(runIds[2]!, { state: "done", reason: null });
    expect(await found()).toEqual(["failed"]);
  });

  it("refuses a cursor that nobody gave out", async () => {
    const { store } = underTest();
    await accept(store);
    const made = ["", "x", "c", "c0000000", "c00000000", "c0000000!", "czzzzzzzzz", "czzzzzzzz", "1", "dlv_00000001"];
    for (const cursor of made) {
      const answer = await store.list({ limit: 5, cursor }).catch((error: unknown) => error);
      expect({ cursor, answer }).toMatchObject({ cursor, answer: { name: "StoreError", code: "INVALID" } });
    }
  });

  it("refuses a limit that is not a whole number from 1 to 200", async () => {
    for (const limit of [0, -1, 201, 1.5, Number.NaN]) {
      const refusal = { name: "StoreError", code: "INVALID" };
      await expect(underTest().store.list({ limit })).rejects.toMatchObject(refusal);
    }
  });
}

async function acceptMany({ store }: StoreUnderTest, count: number): Promise<string[]> {
  const outcomes = await Promise.all(Array.from({ length: count }, () => store.accept(newDelivery())));
  return outcomes.map((outcome) => outcome.deliveryId);
}
