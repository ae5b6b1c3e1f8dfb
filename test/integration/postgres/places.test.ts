/** The places of gateways that take turns, on a real server. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { PostgresDeliveryStore } from "../../../src/storage/postgres/delivery-store.ts";
import type { HandedTurn, SharedTurns, TurnOffer } from "../../../src/storage/shared-store.ts";
import { newDelivery } from "../../conformance/store/new-delivery.ts";
import { accept, openRuns } from "../../conformance/store/store-actions.ts";
import { createDatabase, type TestDatabase } from "../../fixtures/postgres/database.ts";
import { runSql } from "../../fixtures/postgres/run-sql.ts";

const POLL = { timeout: 15_000 };
const OFFER: TurnOffer = { alike: "1", agents: ["main"], channels: ["console"], turns: 4 };
const logger = { debug() {}, info() {}, warn() {}, error() {} };

let database: TestDatabase;
let stores: PostgresDeliveryStore[];
let first: SharedTurns;
let second: SharedTurns;
let turn: HandedTurn;

beforeEach(async () => {
  database = await createDatabase();
  const open = () => PostgresDeliveryStore.open({ url: database.url, logger, isBeside: true });
  stores = [await open(), await open()];
  first = stores[0]!.shared.turns;
  second = stores[1]!.shared.turns;
  const outcome = await stores[0]!.accept(newDelivery());
  if (outcome.kind !== "accepted") throw new Error(`The call is ${outcome.kind}.`);
  turn = { runId: outcome.runIds[0]!, attempt: 1 };
});
afterEach(async () => {
  for (const store of stores) await store.close();
  await database.drop();
});

async function placeOf(turns: SharedTurns): Promise<number> {
  return (await turns.look(OFFER)).own!;
}

const offersSeenBy = async (turns: SharedTurns) => (await turns.look(OFFER)).places.map(({ offer }) => offer);

it("a gateway has one place, and the others see what it takes now", async () => {
  const place = await placeOf(first);
  expect(await placeOf(first)).toBe(place);
  await first.look({ ...OFFER, turns: 9 });
  expect(await placeOf(second)).not.toBe(place);
  expect(await offersSeenBy(second)).toEqual([{ ...OFFER, turns: 9 }, OFFER]);
});

it("a turn travels to the place that it is handed to, and its outcome back; each gateway hears of it", async () => {
  const heard: string[] = [];
  first.onChange(() => heard.push("first"));
  second.onChange(() => heard.push("second"));
  await placeOf(first);
  const place = await placeOf(second);
  await first.hand(turn, { place, request: "now", startedAt: 1_000 });
  await expect.poll(() => heard, POLL).toEqual(["second"]);
  expect((await first.look(OFFER)).taken).toEqual([]);
  expect((await second.look(OFFER)).taken).toEqual([{ ...turn, request: "now", ends: false }]);
  await first.end(turn);
  await expect.poll(() => heard, POLL).toEqual(["second", "second"]);
  expect((await second.look(OFFER)).taken).toEqual([{ ...turn, request: "now", ends: true }]);
  await second.leave(turn, "done\0");
  await expect.poll(() => heard, POLL).toContain("first");
  expect((await first.look(OFFER)).ended).toEqual([turn]);
  expect(await first.find(turn)).toEqual({ place, outcome: "done\ufffd" });
  expect((await second.look(OFFER)).taken).toEqual([]);
});

it("a turn that is handed over twice keeps its outcome, unless it goes to another place", async () => {
  const place = await placeOf(second);
  await first.hand(turn, { place, request: "now", startedAt: 1_000 });
  await second.leave(turn, "done");
  await first.hand(turn, { place, request: "now", startedAt: 1_000 });
  expect(await first.find(turn)).toEqual({ place, outcome: "done" });
  await first.hand(turn, { place: await placeOf(first), request: "now", startedAt: 1_000 });
  expect(await first.find(turn)).toMatchObject({ outcome: null });
});

it("a turn is taken away once its run is settled, and its gateway hears of it", async () => {
  let heard = 0;
  second.onChange(() => heard++);
  const place = await placeOf(second);
  await first.hand(turn, { place, request: "now", startedAt: 1_000 });
  await expect.poll(() => heard, POLL).toBe(1);
  await first.forget(turn.runId);
  expect((await second.look(OFFER)).taken).toHaveLength(1);
  await stores[0]!.settle(turn.runId, { state: "canceled", reason: null });
  await first.forget(turn.runId);
  await expect.poll(() => heard, POLL).toBe(2);
  expect((await second.look(OFFER)).taken).toEqual([]);
  await second.leave(turn, "late");
  expect(await first.find(turn)).toBeUndefined();
});

it("a gateway that begins to lead takes away turns of runs that were canceled before, and no others", async () => {
  const place = await placeOf(second);
  const { runId } = await accept(stores[0]!);
  for (const each of [turn, { runId, attempt: 1 }]) await first.hand(each, { place, request: "now", startedAt: 1_000 });
  await stores[1]!.settle(turn.runId, { state: "canceled", reason: null });
  expect((await second.look(OFFER)).taken).toHaveLength(2);
  await stores[0]!.close();
  await stores[1]!.shared.leading;
  expect((await openRuns(stores[1]!)).map((run) => run.runId)).toEqual([runId]);
  expect((await second.look(OFFER)).taken).toMatchObject([{ runId }]);
});

it("a place that is given up is gone, and an outcome of a turn there is not taken any more", async () => {
  await placeOf(first);
  const place = await placeOf(second);
  await first.hand(turn, { place, request: "now", startedAt: 1_000 });
  await second.withdraw();
  expect(await offersSeenBy(first)).toHaveLength(1);
  await second.leave(turn, "late");
  const next = await placeOf(second);
  expect(next).not.toBe(place);
  await second.leave(turn, "later");
  expect(await first.find(turn)).toEqual({ place, outcome: null });
  expect(await offersSeenBy(first)).toHaveLength(2);
});

it("a place goes with its connection, and the gateway that has lost it is told so", async () => {
  await placeOf(first);
  const place = await placeOf(second);
  await first.hand(turn, { place, request: "now", startedAt: 1_000 });
  await runSql(
    database.url,
    `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND objid = ${place}`,
  );
  await expect.poll(() => offersSeenBy(first), POLL).toHaveLength(1);
  const lost = await second.look(OFFER);
  expect([lost.own, lost.taken]).toEqual([undefined, []]);
  await expect
    .poll(() => second.look(OFFER).catch(() => ({ own: undefined })), POLL)
    .toMatchObject({
      own: expect.any(Number) as number,
    });
});
