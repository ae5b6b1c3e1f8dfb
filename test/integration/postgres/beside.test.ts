/** Two stores on one database: one leads, the other accepts beside it. */
import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { PostgresDeliveryStore } from "../../../src/storage/postgres/delivery-store.ts";
import type { ChangedRun } from "../../../src/storage/shared-store.ts";
import { agentSpec, newClaim, newCoalesce, newDelivery } from "../../conformance/store/new-delivery.ts";
import { accept, openRuns } from "../../conformance/store/store-actions.ts";
import { createDatabase, emptyTables, type TestDatabase } from "../../fixtures/postgres/database.ts";
import { runSql } from "../../fixtures/postgres/run-sql.ts";

const logger = pino({ level: "silent" });
const ROUNDS = 60;
const numbers = (count: number) => Array.from({ length: count }, (_, number) => number);

describe("a gateway beside another one on a database", () => {
  let database: TestDatabase;
  let first: PostgresDeliveryStore;
  let second: PostgresDeliveryStore;
  /** What the first was given of the other. */
  let given: ChangedRun[];

  const open = () => PostgresDeliveryStore.open({ url: database.url, logger, isBeside: true });
  const givenIds = () => given.map(({ runId }) => runId);

  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());
  beforeEach(async () => {
    given = [];
    first = await open();
    first.shared.follow((changed) => given.push(...changed));
    second = await open();
  });
  afterEach(async () => {
    await first.close();
    await second.close();
    await emptyTables(database.url);
  });

  it("accepts, and the one that leads is given its runs", async () => {
    expect([first.shared.leads, second.shared.leads]).toEqual([true, false]);
    const outcome = await second.accept(newDelivery({ mappingId: "mail" }));
    expect(outcome).toMatchObject({ kind: "accepted", isLeft: true });
    await expect.poll(() => given).toMatchObject([{ state: "queued", mappingId: "mail", begun: false, dueAt: null }]);
    expect(await first.loadRun(givenIds()[0]!)).toMatchObject({ deliveryId: outcome.deliveryId });
  });

  it("leaves the lead to another one when it stops, so that the runs do not wait for its end", async () => {
    second.shared.decline();
    await first.close();
    // Time in which it would have asked for it.
    await sleep(500);
    const third = await open();
    onTestFinished(() => third.close());
    await expect.poll(() => third.shared.leads).toBe(true);
    expect(second.shared.leads).toBe(false);
    first = second;
  });

  it("is heard before a call that comes after it, so that both keep their order", async () => {
    for (const round of numbers(ROUNDS)) {
      const { runId } = await accept(second, { name: `round ${round}` });
      await first.accept(newDelivery());
      expect(givenIds()).toContain(runId);
    }
    expect(new Set(givenIds()).size).toBe(given.length);
  });

  it("is refused by a gateway that uses the database alone, and refuses none", async () => {
    const alone = PostgresDeliveryStore.open({ url: database.url, logger });
    await expect(alone).rejects.toThrow("another gateway uses the database");
  });

  it("accepts one of two copies of a call, whichever gateway each arrives at", async () => {
    const copies = numbers(ROUNDS).map(() => newDelivery({ idempotency: newClaim() }));
    const outcomes = await Promise.all(copies.map((copy) => Promise.all([first.accept(copy), second.accept(copy)])));
    for (const [one, other] of outcomes) {
      expect([one.kind, other.kind].toSorted()).toEqual(["accepted", "repeat"]);
      expect(one.deliveryId).toBe(other.deliveryId);
    }
  });

  it("joins a run that coalesces only as long as that run has not read its calls", async () => {
    const joined = await Promise.all(
      numbers(ROUNDS).map(async (round) => {
        const coalesce = newCoalesce({ windowMs: 1_000, maxWaitMs: 60_000 });
        const runs = [{ lane: `lane ${round}`, spec: agentSpec({ coalesce: "list" }) }];
        const { runId } = await accept(first, { coalesce, runs });
        const begin = first.stopCoalescing(runId).then(() => first.loadRun(runId));
        const [run, outcome] = await Promise.all([begin, second.accept(newDelivery({ coalesce, runs }))]);
        return { calls: run.coalesced?.count ?? 1, isJoined: outcome.kind === "coalesced" };
      }),
    );
    for (const { calls, isJoined } of joined) expect(calls).toBe(isJoined ? 2 : 1);
  });

  it("moves the time of a run that another gateway carries out", async () => {
    const coalesce = newCoalesce({ windowMs: 1_000, maxWaitMs: 60_000 });
    const runs = [{ lane: "", spec: agentSpec({ coalesce: "list" }) }];
    const { runId } = await accept(first, { coalesce, runs });
    const outcome = await second.accept(newDelivery({ coalesce, runs, receivedAt: newDelivery().receivedAt + 500 }));
    expect(outcome).toMatchObject({ kind: "coalesced", runId });
    const dueAt = newDelivery().receivedAt + 1_500;
    await expect.poll(() => given).toMatchObject([{ runId, state: "queued", begun: false, dueAt }]);
  });

  it("takes the place of a run only when that has not begun", async () => {
    const rounds = await Promise.all(
      numbers(ROUNDS).map(async () => {
        const overlap = { key: newClaim().key, mode: "latest" } as const;
        const { runId } = await accept(first, { overlap });
        const begin = first.beginAttempt(runId, { number: 1, startedAt: 1 }).then(
          () => true,
          () => false,
        );
        const [isBegun, outcome] = await Promise.all([begin, second.accept(newDelivery({ overlap }))]);
        return { isBegun, isSuperseded: outcome.kind === "accepted" && outcome.superseded !== undefined, runId };
      }),
    );
    for (const { isBegun, isSuperseded } of rounds) expect(isBegun).toBe(!isSuperseded);
    const gone = rounds.filter(({ isSuperseded }) => isSuperseded).map(({ runId }) => runId);
    const skipped = () => given.filter(({ state }) => state === "skipped").map(({ runId }) => runId);
    await expect.poll(() => skipped().toSorted()).toEqual(gone.toSorted());
  });

  it("ends a run for an operator, and the gateway that carries it out hears of it", async () => {
    const { runId } = await accept(first);
    await second.settle(runId, { state: "canceled", reason: "canceled by the operator" });
    await expect.poll(() => given).toMatchObject([{ runId, state: "canceled", reason: "canceled by the operator" }]);
    await expect(first.beginAttempt(runId, { number: 1, startedAt: 1 })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("ends a run whose agent is at it, and the gateway that carries it out hears that there may be a turn to end", async () => {
    const { runId } = await accept(first);
    await first.beginAttempt(runId, { number: 1, startedAt: 1 });
    await second.settle(runId, { state: "canceled", reason: "canceled by the operator" });
    await expect.poll(() => given).toMatchObject([{ runId, state: "canceled", begun: true }]);
  });

  it("lets a held run go, and the gateway that carries it out hears of it", async () => {
    const { runIds } = await accept(second, { held: "quarantine: " });
    const [runId = ""] = runIds;
    await second.accept(newDelivery());
    await second.postpone(runId, { dueAt: 5, reason: "a person let its reply go" });
    await expect.poll(() => given.filter((run) => run.runId === runId)).toMatchObject([{ state: "queued", dueAt: 5 }]);
  });

  it("has the key of the first one", async () => {
    const keys = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)] as const;
    expect(await first.shared.keyOfAll(keys[0])).toEqual(new Uint8Array(keys[0]));
    expect(await second.shared.keyOfAll(keys[1])).toEqual(new Uint8Array(keys[0]));
  });

  it("leads when the first one is gone, and has every run once", async () => {
    const before = await accept(second);
    await first.close();
    const between = await accept(second);
    await second.shared.leading;
    const known = await openRuns(second);
    expect(known.map(({ runId }) => runId)).toEqual([before.runId, between.runId]);
    const others: ChangedRun[] = [];
    const late = await second.accept(newDelivery());
    expect(late).toMatchObject({ isLeft: true });
    second.shared.follow((changed) => others.push(...changed));
    const own = await second.accept(newDelivery());
    expect(own).not.toHaveProperty("isLeft");
    expect(others.map(({ runId }) => runId)).toEqual(late.kind === "accepted" ? late.runIds : []);
  });

  it("leads after all when what it wrote at first to do so failed", async () => {
    onTestFinished(async () => void (await runSql(database.url, "DROP FUNCTION IF EXISTS fail CASCADE")));
    const held = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 0";
    await runSql(
      database.url,
      `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE 'No space left on device' USING ERRCODE = 'disk_full'; END $$`,
      "CREATE TRIGGER fails BEFORE INSERT ON reveille.owner EXECUTE FUNCTION fail()",
    );
    await first.close();
    await expect.poll(() => runSql(database.url, held)).toHaveLength(1);
    expect(second.shared.leads).toBe(false);
    await runSql(database.url, "DROP FUNCTION fail CASCADE");
    await expect.poll(() => second.shared.leads).toBe(true);
  });

  it("accepts again by itself when its connection was lost, and leads nothing by that", async () => {
    const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = 'reveille owner'
        AND pid NOT IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')`;
    await runSql(database.url, end);
    const isBack = () =>
      second.accept(newDelivery()).then(
        () => true,
        () => false,
      );
    await expect.poll(isBack).toBe(true);
    expect(second.shared.leads).toBe(false);
  });
});
