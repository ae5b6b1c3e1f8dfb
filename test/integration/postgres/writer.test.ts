import { setTimeout as sleep } from "node:timers/promises";
import pino from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { PostgresDeliveryStore } from "../../../src/storage/postgres/delivery-store.ts";
import { newDelivery, RECEIVED_AT } from "../../conformance/store/new-delivery.ts";
import { accept, openRuns } from "../../conformance/store/store-actions.ts";
import { createDatabase, emptyTables, type TestDatabase } from "../../fixtures/postgres/database.ts";
import { DatabaseProxy } from "../../fixtures/postgres/proxy.ts";
import { runSql } from "../../fixtures/postgres/run-sql.ts";

const logger = pino({ level: "silent" });
const unavailable = { name: "StoreError", code: "UNAVAILABLE" };
const END_WRITERS =
  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'reveille owner' AND datname = current_database()";

describe("the connection that writes", () => {
  let database: TestDatabase;
  let proxy: DatabaseProxy;
  let store: PostgresDeliveryStore;

  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());
  beforeEach(async () => {
    proxy = await DatabaseProxy.listen(database.url);
    store = await PostgresDeliveryStore.open({ url: proxy.url, logger });
  });
  afterEach(async () => {
    await store.close();
    await proxy[Symbol.asyncDispose]();
    await emptyTables(database.url);
  });

  const isBack = () =>
    expect
      .poll(() =>
        accept(store).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);

  it("is made again by itself, and calls meanwhile are refused and not stored", async () => {
    const before = await accept(store);
    proxy.cut();
    await expect(store.accept(newDelivery({ name: "too early" }))).rejects.toMatchObject(unavailable);
    await isBack();
    expect(await store.get(before.deliveryId)).toMatchObject({ state: "queued" });
    const { deliveries } = await store.list({ limit: 50 });
    expect(deliveries.map(({ name }) => name)).not.toContain("too early");
  });

  it("fails a read whose connection breaks, and the process goes on", async () => {
    await store.backlog();
    proxy.hold();
    const read = store.backlog();
    // What fails is looked at later.
    read.catch(() => {});
    await sleep(50);
    proxy.cut();
    await expect(read).rejects.toMatchObject(unavailable);
    await isBack();
  });

  it("gives the right answer for a commit whose own answer was lost", async () => {
    proxy.loseAnswerOf("COMMIT");
    const { deliveryId, runId } = await accept(store, { name: "committed" });
    expect(await store.get(deliveryId)).toMatchObject({ name: "committed" });
    expect((await openRuns(store)).map((run) => run.runId)).toEqual([runId]);
  });

  it("is given up with the first statement that has no answer for ten seconds, and calls are refused from then on", async () => {
    await accept(store);
    proxy.hold();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const calls = Promise.allSettled([store.accept(newDelivery())]);
    await vi.advanceTimersByTimeAsync(10_000);
    vi.useRealTimers();
    await expect(store.accept(newDelivery())).rejects.toMatchObject(unavailable);
    expect(await calls).toMatchObject([{ status: "rejected", reason: unavailable }]);
    proxy.letGo();
    await isBack();
  });

  it("is not alone in that: a read without an answer fails after ten seconds as well, and the next one has a new connection", async () => {
    const { deliveryId } = await accept(store);
    await store.backlog();
    proxy.hold();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const read = vi.fn();
    void store.backlog().catch(read);
    await vi.advanceTimersByTimeAsync(10_000);
    vi.useRealTimers();
    await expect.poll(() => read.mock.calls).toMatchObject([[unavailable]]);
    expect(await store.get(deliveryId)).toMatchObject({ state: "queued" });
    proxy.letGo();
    await isBack();
  });

  it("refuses a call whose transaction ended before its commit", async () => {
    proxy.loseAnswerOf("INSERT INTO reveille.deliveries");
    await expect(store.accept(newDelivery())).rejects.toMatchObject(unavailable);
    await isBack();
    expect(await openRuns(store)).toHaveLength(1);
  });

  it("ends with its lock when the server ends it, and takes the lock again", async () => {
    await runSql(database.url, END_WRITERS);
    await isBack();
  });

  it("is the only one: another gateway is refused with the reason, until this one has ended", async () => {
    const other = () => PostgresDeliveryStore.open({ url: database.url, logger });
    await expect(other()).rejects.toThrow(
      new RegExp(`^another gateway uses the database \\(on .*, process ${process.pid}, since .* UTC\\)`, "u"),
    );
    await store.close();
    store = await other();
    await accept(store);
  });

  it("loses its lock with the network; the gateway that takes over is the only one that writes, also later", async () => {
    const { runId } = await accept(store);
    proxy.freeze();
    const lost = store.settle(runId, { state: "done", reason: null });
    const successor = await PostgresDeliveryStore.open({ url: database.url, logger });
    await successor.beginAttempt(runId, { number: 1, startedAt: RECEIVED_AT });
    proxy.thaw();
    await expect(lost).rejects.toMatchObject(unavailable);
    await expect
      .poll(() => store.settle(runId, { state: "done", reason: null }).catch((error: unknown) => String(error)))
      .toContain("While this gateway had no connection to PostgreSQL, another gateway uses the database");
    await expect(store.accept(newDelivery())).rejects.toMatchObject(unavailable);
    expect(await openRuns(successor)).toMatchObject([{ runId, state: "running" }]);
    await successor.close();
  });

  /** Another gateway takes over after a commit whose answer is lost; `found` shows that it was committed. */
  async function replaceAtCommit(found: string): Promise<PostgresDeliveryStore> {
    await expect.poll(() => runSql(database.url, found)).toHaveLength(1);
    await runSql(database.url, END_WRITERS);
    const successor = await PostgresDeliveryStore.open({ url: database.url, logger });
    onTestFinished(() => successor.close());
    proxy.thaw();
    return successor;
  }

  it("gives the right answer for a commit also when another gateway has taken over before it could ask", async () => {
    const frozen = proxy.freezeAfter("COMMIT");
    const call = accept(store, { name: "committed" });
    await frozen;
    const successor = await replaceAtCommit("SELECT FROM reveille.deliveries");
    const { runId } = await call;
    expect((await openRuns(successor)).map((run) => run.runId)).toEqual([runId]);
    await expect(store.accept(newDelivery())).rejects.toMatchObject(unavailable);
  });

  it("begins no run by a commit that it hears of when another gateway has taken over", async () => {
    const { runId } = await accept(store);
    const frozen = proxy.freezeAfter("COMMIT");
    const begun = store.beginAttempt(runId, { number: 1, startedAt: RECEIVED_AT });
    begun.catch(() => {});
    await frozen;
    await replaceAtCommit("SELECT FROM reveille.attempts");
    await expect(begun).rejects.toMatchObject(unavailable);
  });

  it("begins no run when the answer took so long that another gateway may have it", async () => {
    const { runId } = await accept(store);
    proxy.hold();
    const begun = store.beginAttempt(runId, { number: 1, startedAt: RECEIVED_AT });
    begun.catch(() => {});
    await sleep(4_100);
    proxy.letGo();
    await expect(begun).rejects.toMatchObject(unavailable);
    await store.beginAttempt(runId, { number: 1, startedAt: RECEIVED_AT });
    expect(await openRuns(store)).toMatchObject([{ runId, state: "running" }]);
  });

  it("is closed also when the server answers nothing any more", async () => {
    await accept(store);
    await store.backlog();
    proxy.freeze();
    const closed = vi.fn<() => void>();
    void store.close().then(closed);
    try {
      await expect.poll(() => closed.mock.calls, { timeout: 8_000 }).toHaveLength(1);
    } finally {
      proxy.thaw();
    }
  });

  it("carries out the others when one write cannot be stored", async () => {
    const { runIds } = await accept(store, { runs: [1, 2].map(() => newDelivery().runs[0]!) });
    const begin = (id: string, number: number) => store.beginAttempt(id, { number, startedAt: RECEIVED_AT });
    // Larger than a number of an attempt can be in the table.
    const outcomes = await Promise.allSettled([begin(runIds[0]!, 2 ** 40), begin(runIds[1]!, 1)]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
    expect((await openRuns(store)).map(({ state }) => state)).toEqual(["queued", "running"]);
  });

  it("shares a commit among calls only as far as their bodies are not too large together", async () => {
    const bodies = [1, 3_000_000, 3_000_000, 3_000_000, 3_000_000].map((bytes) => Buffer.alloc(bytes));
    const sent = bodies.map((body) => accept(store, { body }));
    const stored = await Promise.all((await Promise.all(sent)).map(({ deliveryId }) => store.body(deliveryId)));
    expect(stored.map((body) => body?.length)).toEqual(bodies.map((body) => body.length));
    const commits = "SELECT count(*)::int AS calls FROM reveille.deliveries GROUP BY xmin::text ORDER BY min(seq)";
    expect(await runSql(database.url, commits)).toEqual([{ calls: 4 }, { calls: 1 }]);
  });

  it("stores texts with characters that PostgreSQL has none for", async () => {
    const { deliveryId, runId } = await accept(store, { name: "null \0 byte" });
    await store.hold(runId, "because \0");
    expect(await store.get(deliveryId)).toMatchObject({ name: "null \ufffd byte", reason: "because \ufffd" });
  });
});
