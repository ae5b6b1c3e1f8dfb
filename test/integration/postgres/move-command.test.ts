import { rename } from "node:fs/promises";
import { join } from "node:path";
import pino from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openStoredDeliveries } from "../../../src/hosts/shared/open-store.ts";
import type { DeliveryStore } from "../../../src/storage/delivery-store.ts";
import { PostgresDeliveryStore } from "../../../src/storage/postgres/delivery-store.ts";
import { agentSpec, newDelivery, wakeSpec } from "../../conformance/store/new-delivery.ts";
import { createDatabase, type TestDatabase } from "../../fixtures/postgres/database.ts";
import { runSql } from "../../fixtures/postgres/run-sql.ts";
import { RecordedProcess } from "../../unit/cli/recorded-process.ts";
import { RunningGateway } from "../http/running-gateway.ts";

const logger = pino({ level: "silent" });
const KEY = { "idempotency-key": "the same" };

describe("reveille move", () => {
  let terminal: RecordedProcess;
  let database: TestDatabase;
  let gateway: RunningGateway;

  beforeEach(async () => {
    terminal = new RecordedProcess();
    database = await createDatabase();
    gateway = await RunningGateway.start();
  });
  afterEach(async () => {
    await gateway[Symbol.asyncDispose]();
    terminal.remove();
    await database.drop();
  });

  const move = (...args: readonly string[]) => {
    terminal.out = "";
    terminal.err = "";
    gateway.writeHooks({ store: { url: database.url } });
    return terminal.run("move", "--from", "sqlite", "--to", "postgres", "--config", gateway.configFile, ...args);
  };
  const openSqlite = () => openStoredDeliveries(join(gateway.folder, "state"), logger);

  /** All that a store shows of its deliveries. */
  async function shown(store: DeliveryStore) {
    const { deliveries } = await store.list({ limit: 100 });
    const details = deliveries.map(async ({ id }) => ({
      detail: await store.get(id),
      body: await store.body(id),
      replayable: await store.replayable(id),
      replays: await store.replaysOf(id),
      duplicates: await store.duplicatesOf(id),
    }));
    return {
      deliveries: await Promise.all(details),
      backlog: await store.backlog(),
      pauses: await store.pauses(),
      usage: await store.usageSince(0),
      outages: await store.outages(),
    };
  }

  it("carries calls over: what is open goes on, a repeat is recognized, a pause and its words stay", async () => {
    await gateway.api("/hooks/*/pause", {});
    const first = await gateway.post("/hooks/agent", { message: "wait for the move" }, KEY);
    await gateway.stop();
    expect(await move()).toBe(0);
    expect(terminal.out).toMatch(/deliveries +1\nruns +1\n/u);
    expect(terminal.out).toContain("The counts match. Open runs that go on in PostgreSQL: 1. Start the gateway now.");
    await gateway.restart();
    const again = await gateway.post("/hooks/agent", { message: "wait for the move" }, KEY);
    expect(again.body).toMatchObject({ deliveryId: first.body["deliveryId"] });
    expect((await gateway.delivery(first.body["deliveryId"])).state).toBe("queued");
    await gateway.api("/hooks/*/resume", {});
    expect((await gateway.ended(first.body["deliveryId"])).state).toBe("done");
  });

  it("copies everything: each delivery shows the same, also one with U+0000, and ids go on after the last", async () => {
    await gateway.stop();
    const { deliveries: sqlite, close } = await openSqlite();
    const now = Date.now();
    const key = (byte: number) => ({ key: new Uint8Array(32).fill(byte), expiresAt: now + 3_600_000 });
    const spec = agentSpec({ message: 'with "quotes", ü and \0' });
    const whole = { ...newDelivery({ receivedAt: now, body: Buffer.from([0, 255, 10]) }), replayKeys: [key(1)] };
    const done = await sqlite.accept({ ...whole, runs: [{ lane: "a", spec }] });
    if (done.kind !== "accepted") throw new Error(done.kind);
    await sqlite.beginAttempt(done.runIds[0]!, { number: 1, startedAt: now });
    await sqlite.endAttempt(done.runIds[0]!, { endedAt: now + 5, status: "ok", error: null, reply: "Done." });
    await sqlite.recordStep(done.runIds[0]!, "summarized", { at: now + 6 });
    await sqlite.settle(done.runIds[0]!, { state: "done", reason: null, at: now + 7 });
    await sqlite.accept({ ...whole, runs: [{ lane: "a", spec }] });
    const coalesce = { key: new Uint8Array(32).fill(2), windowMs: 1_000, maxWaitMs: 10_000 };
    for (const text of ["one", "two"]) {
      await sqlite.accept(newDelivery({ receivedAt: now, coalesce, runs: [{ lane: "w", spec: wakeSpec({ text }) }] }));
    }
    await sqlite.accept(newDelivery({ receivedAt: now, held: "A person decides.", replayOf: done.deliveryId }));
    await sqlite.accept(
      newDelivery({ receivedAt: now, runs: [], ended: { state: "filtered", reason: "Not for us." } }),
    );
    await sqlite.pause({ scope: "*", reason: "by hand", since: now });
    await sqlite.addUsage([{ scope: "*", minute: 3, runs: 2, tokens: 5, microUsd: 7 }]);
    await sqlite.openOutage({ subject: "channel:mail", since: now });
    const before = await shown(sqlite);
    expect(before.deliveries).toHaveLength(6);
    await close();

    expect(await move("--json")).toBe(0);
    expect(JSON.parse(terminal.out)).toMatchObject({
      moved: true,
      counts: { deliveries: 6, coalescing: 1 },
      openRuns: 2,
    });
    const postgres = await PostgresDeliveryStore.open({ url: database.url, logger });
    expect(await shown(postgres)).toEqual(before);
    const copy = await postgres.accept({ ...whole, runs: [{ lane: "a", spec }] });
    expect(copy).toMatchObject({ kind: "repeat", deliveryId: done.deliveryId });
    const joined = await postgres.accept(
      newDelivery({ receivedAt: now, coalesce, runs: [{ lane: "w", spec: wakeSpec() }] }),
    );
    expect(joined.kind).toBe("coalesced");
    const next = await postgres.accept(newDelivery({ receivedAt: now }));
    expect(next.deliveryId > before.deliveries[0]!.detail!.id).toBe(true);
    await postgres.close();
  });

  it("carries the sessions over, with their transcripts, what waits and the outbox, and goes on with their numbers", async () => {
    const told = async () => {
      const { sessions } = await gateway.api<{ sessions: readonly { key: string }[] }>("/sessions");
      const paths = sessions.flatMap(({ key }) =>
        ["messages", "events"].map((what) => `/sessions/${encodeURIComponent(key)}/${what}`),
      );
      const parts = await Promise.all([...paths, "/outbox"].map((path) => gateway.api(path)));
      return { sessions, parts };
    };
    const run = async (message: string) => {
      const { body } = await gateway.post("/hooks/agent", { message });
      await gateway.ended(body["deliveryId"]);
    };
    await run("before the move");
    await gateway.post("/hooks/wake", { text: "It waits.", mode: "next-heartbeat" });
    await expect.poll(async () => JSON.stringify(await told())).toContain("It waits.");
    const before = await told();
    expect(JSON.stringify(before)).toContain("before the move");
    await gateway.stop();
    expect(await move("--json")).toBe(0);
    expect(JSON.parse(terminal.out)).toMatchObject({ counts: { embedded_message: 2, embedded_event: 2 } });
    await gateway.restart();
    expect(await told()).toEqual(before);
    await run("after the move");
    expect(JSON.stringify(await told())).toContain("after the move");
    expect(JSON.stringify(gateway.logger.lines)).not.toContain("reveille move carries them over");
  });

  it("can be done again after a break: nothing is copied twice, and what is open in the file ends there", async () => {
    await gateway.api("/hooks/*/pause", {});
    await gateway.post("/hooks/agent", { message: "wait" });
    await gateway.stop();
    await move();
    const { reader, deliveries } = await openSqlite();
    expect(await deliveries.backlog()).toMatchObject({ queued: 0, running: 0, held: 0 });
    expect(reader.prepare("SELECT reason FROM runs").get()).toEqual({
      reason: "Moved to PostgreSQL with reveille move.",
    });
    await deliveries.close();
    expect(await move()).toBe(0);
    expect(terminal.out).toContain("The database has all of it already.");
    expect(await runSql(database.url, "SELECT count(*)::int AS runs FROM reveille.runs WHERE state = 4")).toEqual([
      { runs: 1 },
    ]);
  });

  it("shows on a terminal how far it is", async () => {
    await gateway.post("/hooks/agent", { message: "seen" });
    await gateway.stop();
    terminal.isTerminal = true;
    expect(await move()).toBe(0);
    expect(terminal.out).toMatch(/\[#+-*\] \d+ % {2}\d+ of \d+ rows/u);
    expect(terminal.out).toContain("100 %");
  });

  it("moves nothing while a gateway runs, to tables that have deliveries, or where it is interrupted or misses something", async () => {
    await gateway.api("/hooks/*/pause", {});
    await gateway.post("/hooks/agent", { message: "wait" });
    expect(await move()).toBe(1);
    expect(terminal.err).toContain("is in use by another process");
    await gateway.stop();

    const other = await PostgresDeliveryStore.open({ url: database.url, logger });
    expect(await move()).toBe(1);
    expect(terminal.err).toContain("A gateway uses the database of hooks.store; stop it first.");
    await other.accept(newDelivery());
    await other.close();
    expect(await move()).toBe(1);
    expect(terminal.err).toContain(
      "The database of hooks.store has deliveries or sessions already: move to an empty one.",
    );

    await runSql(
      database.url,
      "DELETE FROM reveille.deliveries; DELETE FROM reveille.runs; DELETE FROM reveille.contents",
    );
    await runSql(database.url, "CREATE RULE lost AS ON INSERT TO reveille.pauses DO INSTEAD NOTHING");
    expect(await move()).toBe(1);
    expect(terminal.err).toMatch(/The counts do not match \(.*pauses: 0 of 1.*\); nothing was moved\./u);
    expect(await runSql(database.url, "SELECT count(*)::int AS all FROM reveille.deliveries")).toEqual([{ all: 0 }]);
    const { deliveries } = await openSqlite();
    expect(await deliveries.backlog()).toMatchObject({ queued: 1 });
    await deliveries.close();

    terminal.err = "";
    await rename(join(gateway.folder, "state"), join(gateway.folder, "elsewhere"));
    expect(await move()).toBe(1);
    expect(terminal.err).toMatch(/There is no .*reveille\.sqlite: nothing is stored there\./u);
    await rename(join(gateway.folder, "elsewhere"), join(gateway.folder, "state"));

    gateway.writeHooks({});
    expect(await terminal.run("move", "--from", "sqlite", "--to", "postgres", "--config", gateway.configFile)).toBe(1);
    expect(terminal.err).toContain("hooks.store is not set, or hooks are off: there is no database to move to.");
    await gateway.restart();
  });
});
