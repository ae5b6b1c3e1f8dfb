import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { Writer } from "../../../../src/storage/sqlite/engine/writer.ts";
import { SqliteDatabase } from "../../../../src/storage/sqlite/engine/database.ts";
import { SqliteDeliveryStore, sqliteStoreModule } from "../../../../src/storage/sqlite/delivery-store.ts";
import { storeMigrations } from "../../../../src/storage/sqlite/migrations.ts";
import { sqliteModule } from "../../../../src/storage/sqlite/store-module.ts";
import { agentSpec, newDelivery, wakeSpec } from "../../../conformance/store/new-delivery.ts";
import { accept, listAll, openRuns } from "../../../conformance/store/store-actions.ts";
import { temporaryFolder } from "./engine/temporary-folder.ts";

/** Each is a file that this version of the store has written. */
const STORED = readdirSync(import.meta.dirname)
  .flatMap((name) => /^store-(\d+)\.sql$/u.exec(name)?.slice(1) ?? [])
  .toSorted();
/** Their files hold what that of 0002 does, in the tables of their own. */
const LATER = STORED.slice(2);

/** A file as an old version of the store left it. */
function oldFile(version: string): string {
  const file = join(temporaryFolder(), "old.sqlite");
  const database = new DatabaseSync(file);
  database.exec(readFileSync(new URL(`./store-${version}.sql`, import.meta.url), "utf8"));
  database.close();
  return file;
}

function schemaOf(file: string): unknown[] {
  const database = new DatabaseSync(file, { readOnly: true });
  const rows = database
    .prepare("SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE '%migration_lock%' ORDER BY name")
    .all();
  database.close();
  return rows.map((row) => [row["name"], typeof row["sql"] === "string" ? row["sql"].replaceAll(/\s+/gu, " ") : null]);
}

describe("the tables of the delivery store", () => {
  it("open a file of version 0001 with everything that is in it, and continue from there", async () => {
    const database = await SqliteDatabase.open({ file: oldFile("0001"), modules: [sqliteStoreModule] });
    const store = SqliteDeliveryStore.open(database, { ownsDatabase: true });
    onTestFinished(() => store.close());

    const ids = await listAll(store, { limit: 10 });
    const [third, second, first] = await Promise.all(ids.map((id) => store.get(id)));
    expect([third?.state, second?.state, first?.state]).toEqual(["failed", "filtered", "held"]);
    expect(first).toMatchObject({
      route: "github",
      mappingId: "push",
      name: "GitHub",
      receivedAt: "2026-01-02T03:04:05.678Z",
      headers: { "x-event": "push" },
      query: { q: "1" },
      bodyBytes: 10,
      runs: [
        {
          state: "done",
          spec: agentSpec({ message: "First message", delivery: { unresolved: "no recipient yet" } }),
          attempts: [{ number: 1, status: "ok", endedAt: "2026-01-02T03:04:07.678Z" }],
          reply: "The reply.",
          delivery: "sent",
        },
        { state: "held", reason: "a person decides", spec: wakeSpec({ text: "Wake text" }) },
      ],
    });
    expect(Buffer.from((await store.body(ids[2]!))!).toString()).toBe("first body");
    expect(await openRuns(store)).toMatchObject([{ lane: "agent:main:main", kind: "wake", state: "held" }]);

    const idempotency = { key: Buffer.alloc(32, 1), fingerprint: Buffer.alloc(32, 2), expiresAt: 0 };
    expect(await store.accept(newDelivery({ idempotency }))).toMatchObject({ kind: "repeat", deliveryId: ids[2] });
    const { deliveryId } = await accept(store);
    const repeats = await listAll(store, { limit: 10, state: "duplicate" });
    expect(repeats).toHaveLength(1);
    expect(await listAll(store, { limit: 10 })).toEqual([deliveryId, ...repeats, ...ids]);
  });

  it("open a file of version 0002 in the middle of its work, and finish that", async () => {
    const database = await SqliteDatabase.open({ file: oldFile("0002"), modules: [sqliteStoreModule] });
    const store = SqliteDeliveryStore.open(database, { ownsDatabase: true });
    onTestFinished(() => store.close());

    const [second, first] = await listAll(store, { limit: 10 });
    expect(await store.get(first!)).toMatchObject({
      state: "queued",
      event: null,
      actor: null,
      relatedTo: null,
      runs: [{ dueAt: null, calls: 1 }],
    });
    const rest = { lane: "agent:main:hook:1", kind: "agent", dueAt: null, expiresAt: null, replied: false };
    const open = await openRuns(store);
    expect(open).toMatchObject([
      { ...rest, mappingId: "push", state: "queued", begun: false },
      { ...rest, mappingId: null, state: "running", begun: true },
    ]);
    // A copy of each is still known, by its mark and by its key.
    const mark = { key: Buffer.alloc(32, 3), expiresAt: 0 };
    expect(await store.accept(newDelivery({ replayKeys: [mark] }))).toMatchObject({
      kind: "repeat",
      deliveryId: first,
    });
    const idempotency = { key: Buffer.alloc(32, 1), fingerprint: Buffer.alloc(32, 2), expiresAt: 0 };
    expect(await store.accept(newDelivery({ idempotency }))).toMatchObject({ kind: "repeat", deliveryId: second });
    expect(await store.stateFor(first!, "token:1")).toBeUndefined();
    expect(await store.replayable(first!)).toMatchObject({
      route: "github",
      body: new Uint8Array(Buffer.from("first body")),
    });

    await store.stopCoalescing(open[0]!.runId);
    await store.settle(open[0]!.runId, { state: "skipped", reason: "too old" });
    await store.postpone(open[1]!.runId, { dueAt: 5, reason: "busy" });
    expect(await openRuns(store)).toMatchObject([{ state: "queued", dueAt: 5, begun: true }]);
    expect(await listAll(store, { limit: 10, state: "skipped" })).toEqual([first]);
  });

  it.each(LATER)("open a file of version %s in the middle of its work, with all that is in it", async (version) => {
    const database = await SqliteDatabase.open({ file: oldFile(version), modules: [sqliteStoreModule] });
    const store = SqliteDeliveryStore.open(database, { ownsDatabase: true });
    onTestFinished(() => store.close());

    const [, first] = await listAll(store, { limit: 10 });
    const open = await openRuns(store);
    expect(open).toMatchObject([
      { lane: "agent:main:hook:1", state: "queued", begun: false },
      { lane: "agent:main:hook:1", state: "running", begun: true },
    ]);
    expect(Buffer.from((await store.body(first!))!).toString()).toBe("first body");
    const mark = { key: Buffer.alloc(32, 3), expiresAt: 0 };
    expect(await store.accept(newDelivery({ replayKeys: [mark] }))).toMatchObject({ deliveryId: first });
    await store.settle(open[0]!.runId, { state: "skipped", reason: "too old" });
    expect(await listAll(store, { limit: 10, state: "skipped" })).toEqual([first]);
  });

  it("of every earlier version are stored", () => {
    const versions = Object.keys(storeMigrations).map((name) => name.slice(0, 4));
    expect(STORED).toEqual(expect.arrayContaining(versions.slice(0, -1)));
  });

  it.each(STORED)("are the same whether a file is new or comes from version %s", async (version) => {
    const old = oldFile(version);
    const fresh = join(temporaryFolder(), "new.sqlite");
    for (const file of [old, fresh]) (await Writer.open(file, [sqliteModule])).close();
    expect(schemaOf(old)).toEqual(schemaOf(fresh));
  });
});
