/** Retention over many deliveries, which the conformance suite of the stores has not. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { PostgresDeliveryStore } from "../../../src/storage/postgres/delivery-store.ts";
import { newDelivery } from "../../conformance/store/new-delivery.ts";
import { createDatabase, type TestDatabase } from "../../fixtures/postgres/database.ts";
import { runSql } from "../../fixtures/postgres/run-sql.ts";

const logger = { debug() {}, info() {}, warn() {}, error() {} };
const WAIT = { timeout: 15_000 };
/** The first of them are far enough behind the latest one to be remembered. */
const STORED = 80_000;
const FIRST_AT = 1_000_000;

let database: TestDatabase;

beforeEach(async () => {
  database = await createDatabase();
  const store = await open();
  const accepted = await store.accept(newDelivery());
  if (accepted.kind !== "accepted") throw new Error(`The call is ${accepted.kind}.`);
  await store.settle(accepted.runIds[0]!, { state: "done", reason: null, at: 3 });
  await store.close();
  await runSql(
    database.url,
    `INSERT INTO reveille.deliveries SELECT (jsonb_populate_record(
       one, jsonb_build_object('seq', 1000 + n, 'received_at', ${FIRST_AT} + n))).*
     FROM generate_series(1, ${STORED}) AS n, reveille.deliveries AS one;
     INSERT INTO reveille.contents SELECT (jsonb_populate_record(
       one, jsonb_build_object('id', (1000 + n) * 4096))).*
     FROM generate_series(1, ${STORED}) AS n, reveille.contents AS one`,
  );
});
afterEach(() => database.drop());

const open = () => PostgresDeliveryStore.open({ url: database.url, logger });

/** A round: what it has removed and emptied. */
async function round(
  store: PostgresDeliveryStore,
  { removeBefore = 0, emptyBefore = 0 }: { removeBefore?: number; emptyBefore?: number } = {},
): Promise<readonly [removed: number, emptied: number]> {
  const done: [number, number] = [0, 0];
  for (let more = true; more;) {
    const outcome = await store.prune({ now: 1e13, removeBefore, emptyBefore, maxBytes: null, most: 256 });
    done[0] += outcome.removed;
    done[1] += outcome.emptied;
    more = outcome.more;
  }
  return done;
}

async function rowsRead(): Promise<number> {
  const [{ count }] = (await runSql(
    database.url,
    `SELECT (seq_tup_read + idx_tup_fetch)::int AS count FROM pg_stat_user_tables WHERE relname = 'deliveries'`,
  )) as readonly [{ readonly count: number }];
  return count;
}

it("a round looks at every delivery once, and the next one only at what is new", async () => {
  const before = await rowsRead();
  const first = await open();
  expect(await round(first)).toEqual([0, 0]);
  await first.close();
  await expect.poll(rowsRead, WAIT).toBeGreaterThanOrEqual(before + STORED);
  const once = (await rowsRead()) - before;
  const second = await open();
  expect([await round(second), await round(second), await round(second)]).toEqual([
    [0, 0],
    [0, 0],
    [0, 0],
  ]);
  await second.close();
  await expect.poll(rowsRead, WAIT).toBeGreaterThanOrEqual(before + once + STORED);
  // The latest ones are looked at again, since others may be committed among them.
  expect((await rowsRead()) - before - once).toBeLessThan(2.9 * once);
}, 60_000);

it("a delivery is removed, or loses its request, when its time has come, and no other is", async () => {
  const store = await open();
  expect([await round(store), await round(store)]).toEqual([
    [0, 0],
    [0, 0],
  ]);
  expect(await round(store, { emptyBefore: FIRST_AT + 301 })).toEqual([0, 300]);
  expect(await round(store, { emptyBefore: FIRST_AT + 301 })).toEqual([0, 0]);
  expect(await round(store, { removeBefore: FIRST_AT + 101, emptyBefore: FIRST_AT + 302 })).toEqual([100, 1]);
  expect(await round(store, { removeBefore: FIRST_AT + 101, emptyBefore: FIRST_AT + 302 })).toEqual([0, 0]);
  const [{ left }] = (await runSql(
    database.url,
    "SELECT count(*)::int AS left FROM reveille.deliveries WHERE seq > 1000",
  )) as readonly [{ readonly left: number }];
  expect(left).toBe(STORED - 100);
  await store.close();
}, 60_000);
