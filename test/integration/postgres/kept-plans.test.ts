/**
 * The server keeps the plan of a statement from its sixth time on. One that it makes while the tables are empty must be
 * good when they are full, too: they may not be analyzed for minutes, and are small when they are analyzed first.
 */
import { afterEach, beforeEach, expect, it } from "vitest";
import { PostgresState } from "../../../src/hosts/embedded/state/postgres-state.ts";
import { PostgresDeliveryStore } from "../../../src/storage/postgres/delivery-store.ts";
import { PostgresDatabase } from "../../../src/storage/postgres/engine/database.ts";
import { DONE, FAILED } from "../../../src/storage/sqlite/codes.ts";
import { newDelivery } from "../../conformance/store/new-delivery.ts";
import { createDatabase, type TestDatabase } from "../../fixtures/postgres/database.ts";
import { runSql } from "../../fixtures/postgres/run-sql.ts";

const logger = { debug() {}, info() {}, warn() {}, error() {} };
const WAIT = { timeout: 15_000 };
/** More often than the server makes a plan anew. */
const TIMES = 10;
const STORED = 5_000;

let database: TestDatabase;

beforeEach(async () => {
  database = await createDatabase();
});
afterEach(() => database.drop());

/** Rows of the table that were read so far; what a connection has read is counted when it ends. */
async function rowsRead(table: string): Promise<number> {
  const [row] = (await runSql(
    database.url,
    `SELECT (seq_tup_read + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relid = t.relid))::int AS count
     FROM pg_stat_user_tables AS t WHERE schemaname = 'reveille' AND relname = '${table}'`,
  )) as readonly [{ readonly count: number }];
  return row.count;
}

async function carryOutRun(store: PostgresDeliveryStore): Promise<void> {
  const accepted = await store.accept(newDelivery());
  if (accepted.kind !== "accepted") throw new Error(`The call is ${accepted.kind}.`);
  const [id] = accepted.runIds as [string];
  await store.beginAttempt(id, { number: 1, startedAt: 1 });
  await store.recordStep(id, "summarized", { at: 2 });
  await store.endAttempt(id, { endedAt: 2, status: "ok", error: null, reply: "Done." });
  await store.settle(id, { state: "done", reason: null, at: 3 });
}

it("a run is written without the runs of other deliveries", async () => {
  const store = await PostgresDeliveryStore.open({ url: database.url, logger });
  for (let time = 0; time < TIMES; time++) await carryOutRun(store);
  await runSql(
    database.url,
    `INSERT INTO reveille.runs (id, tag, lane, kind, state, calls)
     SELECT 1000000 + n, tag, lane, kind, state, calls FROM generate_series(1, ${STORED}) AS n, (SELECT * FROM reveille.runs LIMIT 1) AS one;
     INSERT INTO reveille.attempts (run, number, started_at, status)
     SELECT 1000000 + n, 1, 1, 'ok' FROM generate_series(1, ${STORED}) AS n`,
  );
  for (let time = 0; time < TIMES; time++) await carryOutRun(store);
  await store.close();
  await expect.poll(() => rowsRead("attempts"), WAIT).toBeGreaterThanOrEqual(2 * TIMES);
  expect(await rowsRead("runs")).toBeLessThan(STORED);
  expect(await rowsRead("attempts")).toBeLessThan(STORED);
});

it.each(["held", "duplicate"] as const)("what is %s is listed without what is in other states", async (state) => {
  const store = await PostgresDeliveryStore.open({ url: database.url, logger });
  await carryOutRun(store);
  const list = () => store.list({ state, limit: 50 });
  for (let time = 0; time < TIMES; time++) expect((await list()).deliveries).toEqual([]);
  await runSql(
    database.url,
    `INSERT INTO reveille.deliveries SELECT (jsonb_populate_record(one, jsonb_build_object('seq', 1000 + n))).*
     FROM generate_series(1, ${STORED}) AS n, reveille.deliveries AS one;
     INSERT INTO reveille.runs SELECT (jsonb_populate_record(one, jsonb_build_object(
       'id', (1000 + n) * 4096, 'state', CASE WHEN n % 10 = 0 THEN ${FAILED} ELSE ${DONE} END))).*
     FROM generate_series(1, ${STORED}) AS n, reveille.runs AS one;
     ANALYZE`,
  );
  for (let time = 0; time < TIMES; time++) expect((await list()).deliveries).toEqual([]);
  expect((await store.list({ state: "done", limit: 50 })).deliveries).toHaveLength(50);
  await store.close();
  await expect.poll(() => rowsRead("deliveries"), WAIT).toBeGreaterThanOrEqual(50);
  expect(await rowsRead("deliveries")).toBeLessThan(STORED);
  expect(await rowsRead("runs")).toBeLessThan(STORED);
});

it("the conversation of a session is read without those of others", async () => {
  const open = await PostgresDatabase.open({ url: database.url, logger, isBeside: true });
  const state = new PostgresState(open);
  const conversation = (number: number) => state.read("runTurns", `s${number}`, { limit: 20, maxChars: 10_000 });
  for (let time = 0; time < TIMES; time++) expect(await conversation(1)).toEqual([]);
  await runSql(
    database.url,
    `INSERT INTO reveille.embedded_session (id, key, kept, created_at, active_at)
     SELECT n, 's' || n, 0, 1, 1 FROM generate_series(1, 50) AS n;
     INSERT INTO reveille.embedded_message (session, run_id, isolated, role, at, text)
     SELECT n, 'r' || n || '-' || turn, 1, role, 1, role || turn
     FROM generate_series(1, 20) AS turn, generate_series(1, 50) AS n, unnest('{user,assistant}'::text[]) AS role`,
  );
  for (let number = 1; number <= TIMES; number++) expect(await conversation(number)).toHaveLength(40);
  await open.close();
  await expect.poll(() => rowsRead("embedded_message"), WAIT).toBeGreaterThanOrEqual(40 * TIMES);
  expect(await rowsRead("embedded_message")).toBeLessThan(100 * TIMES);
});
