import { expect, it } from "vitest";
import { STATES } from "../../../src/core/run.ts";
import type { StatsPage } from "../../../src/storage/delivery-stats.ts";
import type { NewDelivery } from "../../../src/storage/new-delivery.ts";
import { agentSpec, endedDelivery, newClaim, newCoalesce, newDelivery, RECEIVED_AT, wakeSpec } from "./new-delivery.ts";
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
        event: null,
        actor: null,
        level: null,
        relatedTo: null,
      },
      expect.objectContaining({ id: first.deliveryId, state: "queued", name: "First", runIds: first.runIds }),
    ]);
  });

  it("counts the deliveries of a period by span, mapping and state, a part of them on each page", async () => {
    const { store } = underTest();
    const hourMs = 3_600_000;
    const start = Math.floor(RECEIVED_AT / hourMs) * hourMs;
    await accept(store, { route: "wake", mappingId: null, receivedAt: start - 1 });
    for (let at = 0; at < 150; at++) await accept(store, { mappingId: "m", receivedAt: start + at });
    const { runId } = await accept(store, { mappingId: "m", receivedAt: start + hourMs });
    for (const number of [1, 2]) {
      await store.beginAttempt(runId, { number, startedAt: start });
      const usage = { inputTokens: 100, outputTokens: 20 * number, ...(number === 2 && { costUsd: 0.5 }) };
      await store.endAttempt(runId, { endedAt: start, status: "error", error: "no", reply: null, usage });
    }
    await store.settle(runId, { state: "failed", reason: "it did" });
    await store.accept(
      endedDelivery("filtered", "a clause", { mappingId: null, route: "agent", receivedAt: start + hourMs }),
    );
    await accept(store, { mappingId: "m", receivedAt: start + 2 * hourMs });

    const period = { from: start, before: start + 2 * hourMs, bucketMs: hourMs };
    const counts = new Map<string, number[]>();
    let cursor: string | null = null;
    do {
      const page: StatsPage = await store.stats({ ...period, ...(cursor === null ? {} : { cursor }) });
      for (const { at, name, state, deliveries, runs, bytes, tokens, costUsd } of page.rows) {
        const [before = 0, runsBefore = 0] = counts.get(`${(at - start) / hourMs} ${name} ${state}`) ?? [];
        counts.set(`${(at - start) / hourMs} ${name} ${state}`, [before + deliveries, runsBefore + runs]);
        expect(bytes).toBeGreaterThanOrEqual(500 * deliveries);
        expect([tokens, costUsd]).toEqual(state === "failed" ? [260, 0.5] : [0, 0]);
      }
      cursor = page.nextCursor;
    } while (cursor !== null);
    expect(Object.fromEntries(counts)).toEqual({
      "0 m queued": [150, 150],
      "1 m failed": [1, 1],
      "1 agent filtered": [1, 0],
    });
    await expect(store.stats({ ...period, cursor: "x" })).rejects.toMatchObject({ code: "INVALID" });
  });

  it("counts mappings apart whose deliveries have the same name, and together those of one mapping", async () => {
    const { store } = underTest();
    for (const mappingId of ["a", "b", "b", null]) await accept(store, { mappingId, name: "Hook" });
    await accept(store, { mappingId: "a", name: "Another" });
    const period = { from: RECEIVED_AT, before: RECEIVED_AT + 1, bucketMs: 1_000 };
    const counts: Record<string, number> = {};
    for (const { name, deliveries } of (await store.stats(period)).rows) {
      counts[name] = (counts[name] ?? 0) + deliveries;
    }
    expect(counts).toEqual({ a: 2, b: 2, agent: 1 });
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
    const [idempotency, coalesce] = [newClaim(), newCoalesce()];
    expected["queued"]!.unshift((await accept(store, { idempotency, coalesce })).deliveryId);
    for (let round = 0; round < 3; round++) {
      for (const state of ["filtered", "skipped"] as const) {
        expected[state]!.unshift((await store.accept(endedDelivery(state))).deliveryId);
      }
      expected["coalesced"]!.unshift((await store.accept(newDelivery({ coalesce }))).deliveryId);
      await store.accept(newDelivery({ idempotency }));
      expected["duplicate"]!.unshift((await store.list({ limit: 1 })).deliveries[0]!.id);
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
      const other = ["filtered", "skipped", "duplicate", "coalesced"].includes(state) ? [] : [expected[state]![1]];
      expect({ state, ids: await listAll(store, { limit: 1, state, route: "other" }) }).toEqual({ state, ids: other });
    }
  });

  it("lists a delivery whose runs were all skipped as skipped, and one of which something was done by that", async () => {
    const { store } = underTest();
    const runs = [1, 2].map(() => ({ lane: "a", spec: agentSpec() }));
    const [all, half] = [await accept(store, { runs }), await accept(store, { runs })];
    await store.settleAll([...all.runIds, half.runIds[0]!], { state: "skipped", reason: "it waited too long" });
    await store.settle(half.runIds[1]!, { state: "done", reason: null });
    const { deliveries } = await store.list({ limit: 5, state: "skipped" });
    expect(deliveries).toEqual([
      expect.objectContaining({ id: all.deliveryId, state: "skipped", reason: "it waited too long" }),
    ]);
    expect(await listAll(store, { limit: 5, state: "done" })).toEqual([half.deliveryId]);
  });

  it("names event, actor and the delivery that another belongs to", async () => {
    const { store } = underTest();
    const [idempotency, coalesce] = [newClaim(), newCoalesce()];
    const known = { event: "pull_request.opened", actor: "octocat" };
    const shown = { event: "pull_request.opened", actor: "octocat" };
    const first = await accept(store, { idempotency, coalesce, ...known });
    await store.accept(newDelivery({ idempotency, ...known }));
    await store.accept(newDelivery({ coalesce }));
    await accept(store, { replayOf: first.deliveryId, ...known });
    const { deliveries } = await store.list({ limit: 5 });
    const { deliveryId } = first;
    expect(deliveries.map(({ state, event, actor, relatedTo }) => ({ state, event, actor, relatedTo }))).toEqual([
      { state: "queued", ...shown, relatedTo: { how: "replay", deliveryId } },
      { state: "coalesced", event: null, actor: null, relatedTo: { how: "coalesced", deliveryId } },
      { state: "duplicate", ...shown, relatedTo: { how: "duplicate", deliveryId } },
      { state: "queued", ...shown, relatedTo: null },
    ]);
  });

  it("filters by the chain that a delivery is a part of, and shows it", async () => {
    const { store } = underTest();
    const first = (await accept(store)).deliveryId;
    const other = (await accept(store)).deliveryId;
    const chained = (await accept(store, { chain: { id: first, depth: 2 } })).deliveryId;
    await accept(store, { chain: { id: other, depth: 1 } });
    expect(await listAll(store, { limit: 1, chain: first })).toEqual([chained]);
    expect((await store.get(chained))?.chain).toEqual({ id: first, depth: 2 });
    expect((await store.replayable(chained))?.chain).toEqual({ id: first, depth: 2 });
    expect((await store.get(first))?.chain).toBeUndefined();
  });

  it("filters by the level of the actor", async () => {
    const { store } = underTest();
    const ids: string[] = [];
    for (const level of ["unknown", "known", "trusted", "owner", null] as const) {
      ids.push((await accept(store, { actor: "ada", level })).deliveryId);
    }
    expect(await listAll(store, { limit: 1, level: "unknown" })).toEqual([ids[0]]);
    expect(await listAll(store, { limit: 10, level: "owner" })).toEqual([ids[3]]);
    const { deliveries } = await store.list({ limit: 10 });
    expect(deliveries.map(({ level }) => level)).toEqual([null, "owner", "trusted", "known", "unknown"]);
  });

  it("filters by actor without regard to case", async () => {
    const { store } = underTest();
    const of = async (actor: string | null) => (await accept(store, { actor })).deliveryId;
    const bots = [await of("Renovate[bot]"), await of("renovate[BOT]")];
    const others = [await of("renovate"), await of(null), await of("élodie"), await of("%")];
    for (const actor of ["renovate[bot]", "RENOVATE[BOT]"]) {
      expect(await listAll(store, { limit: 1, actor })).toEqual(bots.toReversed());
    }
    expect(await listAll(store, { limit: 10, actor: "ÉLODIE" })).toEqual([others[2]]);
    expect(await listAll(store, { limit: 10, actor: "%" })).toEqual([others[3]]);
    expect(await listAll(store, { limit: 10, actor: "_" })).toEqual([]);
  });

  it("filters by time of receipt, from one time on and before another, in whatever order they came", async () => {
    const { store } = underTest();
    const ids: string[] = [];
    for (const receivedAt of [5, 3, 9, 4, 5]) ids.push((await accept(store, { receivedAt })).deliveryId);
    const of = (...indexes: number[]) => indexes.map((index) => ids[index]);
    expect(await listAll(store, { limit: 1, receivedFrom: 5 })).toEqual(of(4, 2, 0));
    expect(await listAll(store, { limit: 2, receivedBefore: 5 })).toEqual(of(3, 1));
    expect(await listAll(store, { limit: 9, receivedFrom: 4, receivedBefore: 9 })).toEqual(of(4, 3, 0));
    expect(await listAll(store, { limit: 9, receivedFrom: 4, receivedBefore: 4 })).toEqual([]);
  });

  it("finds a text in name, event, reason and texts, taken literally, without regard to the case of ASCII letters", async () => {
    const { store } = underTest();
    const ids: Record<string, string> = {};
    const add = async (what: string, changes: Partial<NewDelivery>) => {
      ids[what] = (await store.accept(newDelivery(changes))).deliveryId;
    };
    const run = (message: string) => ({ lane: "a", spec: agentSpec({ message }) });
    await add("name", { name: "The Needle" });
    await add("event", { event: "needle.found" });
    await add("text", { runs: [run("hay"), run("more hay with a NEEDLE in it")] });
    await add("wake", { runs: [{ lane: "a", spec: wakeSpec({ text: "needle" }) }] });
    await add("lone surrogate", { runs: [run("needle \ud800")] });
    await add("neither", { route: "needle", body: Buffer.from("needle"), runs: [run("100% n_edle")] });
    ids["reason"] = (await store.accept(endedDelivery("filtered", "it is a needle"))).deliveryId;
    const settled = await accept(store);
    await store.settle(settled.runId, { state: "failed", reason: "No needle." });
    ids["reason of a run"] = settled.deliveryId;
    const found = async (text: string) => {
      const listed = await listAll(store, { limit: 3, text });
      return Object.keys(ids).filter((what) => listed.includes(ids[what]!));
    };
    const needles = ["name", "event", "text", "wake", "lone surrogate", "reason", "reason of a run"];
    expect(await found("nEEdle")).toEqual(needles);
    expect(await found("100%")).toEqual(["neither"]);
    expect(await found("n_edle")).toEqual(["neither"]);
    expect(await found("%")).toEqual(["neither"]);
    expect(await found("' OR 1=1 --")).toEqual([]);
    expect(await listAll(store, { limit: 2, text: "needle", state: "filtered" })).toEqual([ids["reason"]]);
    expect(await listAll(store, { limit: 2, text: "needle", state: "failed" })).toEqual([settled.deliveryId]);
  });

  it("finds a text as it is also beside characters that a database may have none for, and nothing around it", async () => {
    const { store } = underTest();
    const text = String.raw`He said "no\ud83d": C:\ud83d` + "\nthen\t\ud83d\ud83d \0 \u{1f600} end";
    const specs = [agentSpec({ message: text }), wakeSpec({ text })];
    const { deliveryId } = await accept(store, { runs: specs.map((spec) => ({ lane: "a", spec })) });
    for (const part of [String.raw`said "no\ud83d": c:\ud83d`, "\nThen\t", "\u{1f600} end"]) {
      expect(await listAll(store, { limit: 1, text: part })).toEqual([deliveryId]);
    }
    for (const part of ["agentId", "webhook", String.raw`\n`, String.raw`\\`, "sessionKey"]) {
      expect(await listAll(store, { limit: 1, text: part })).toEqual([]);
    }
  });

  it("combines all filters", async () => {
    const { store } = underTest();
    const wanted = { route: "github", actor: "octocat", receivedAt: 1000, name: "Push" };
    const { deliveryId } = await accept(store, wanted);
    const different = [
      { route: "other" },
      { actor: "other" },
      { receivedAt: 999 },
      { receivedAt: 2000 },
      { name: "x" },
    ];
    for (const change of different) await accept(store, { ...wanted, ...change });
    const query = { route: "github", actor: "Octocat", receivedFrom: 1000, receivedBefore: 2000, text: "push" };
    for (const limit of [1, 10]) {
      expect(await listAll(store, { limit, ...query })).toEqual([deliveryId]);
      expect(await listAll(store, { limit, ...query, state: "queued" })).toEqual([deliveryId]);
      expect(await listAll(store, { limit, ...query, state: "done" })).toEqual([]);
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

  it("refuses a cursor that no page returned", async () => {
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
