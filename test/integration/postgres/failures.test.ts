/** Failures of the server itself: each test has one of its own. */
import { randomBytes } from "node:crypto";
import { spawn, spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import pino from "pino";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { PostgresDeliveryStore } from "../../../src/storage/postgres/delivery-store.ts";
import { migrate } from "../../../src/storage/postgres/migrate.ts";
import { newDelivery, RECEIVED_AT } from "../../conformance/store/new-delivery.ts";
import { accept } from "../../conformance/store/store-actions.ts";
import { createDatabase } from "../../fixtures/postgres/database.ts";
import { DatabaseProxy } from "../../fixtures/postgres/proxy.ts";
import { runSql } from "../../fixtures/postgres/run-sql.ts";
import { freePort, postgresUser, startServer, type TestServer } from "../../fixtures/postgres/server.ts";

const logger = pino({ level: "silent" });
const open = (url: string) => PostgresDeliveryStore.open({ url, logger });
const POOLER = "/usr/sbin/pgbouncer";

describe("a server that fails", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server.dispose());

  it("has room for the locks of a burst of calls with many keys", async () => {
    const small = await startServer(["max_connections = 12", "max_locks_per_transaction = 64"]);
    onTestFinished(() => small.dispose());
    await migrate(small.url);
    const store = await open(small.url);
    const replayKeys = () =>
      Array.from({ length: 8 }, () => ({ key: randomBytes(32), expiresAt: RECEIVED_AT + 60_000 }));
    const calls = Array.from({ length: 512 }, () => store.accept(newDelivery({ replayKeys: replayKeys() })));
    expect(new Set((await Promise.all(calls)).map(({ kind }) => kind))).toEqual(new Set(["accepted"]));
    await store.close();
  });

  it("does not take a transaction that a crash has undone for the next one, which gets its number", async () => {
    const crashing = await startServer(["wal_writer_delay = 10s", "autovacuum = off"]);
    onTestFinished(() => crashing.dispose());
    await migrate(crashing.url);
    const proxy = await DatabaseProxy.listen(crashing.url);
    const store = await open(proxy.url);
    await accept(store);
    const frozen = proxy.freezeAt("COMMIT");
    const call = store.accept(newDelivery({ name: "undone" }));
    await frozen;
    await crashing.stop("immediate");
    await crashing.start();
    await runSql(crashing.url, "CREATE TABLE the_next ()");
    proxy.thaw();
    await expect(call).rejects.toMatchObject({ code: "UNAVAILABLE" });
    while (!(await accept(store, { name: "later" }).then(Boolean, () => false))) await sleep(100);
    expect((await store.list({ limit: 10 })).deliveries.map(({ name }) => name)).toEqual(["later", "Hook"]);
    await store.close();
    await proxy[Symbol.asyncDispose]();
  });

  it("gives the lead of a gateway that died while it waited for a lock to the next one", async () => {
    const database = await createDatabase();
    onTestFinished(() => database.drop());
    const { url } = database;
    const proxy = await DatabaseProxy.listen(url);
    const dying = await PostgresDeliveryStore.open({ url: proxy.url, logger, isBeside: true });
    await dying.shared.leading;
    const next = await PostgresDeliveryStore.open({ url, logger, isBeside: true });
    const blocker = new pg.Client({ connectionString: url });
    await blocker.connect();
    await blocker.query("BEGIN; LOCK TABLE reveille.deliveries IN SHARE MODE");
    const call = dying.accept(newDelivery()).catch((error: unknown) => error);
    await expect.poll(() => runSql(url, "SELECT FROM pg_locks WHERE NOT granted")).toHaveLength(1);
    await proxy[Symbol.asyncDispose]();
    // The server ends the statement that waits after a minute.
    await expect.poll(() => next.shared.leads, { timeout: 20_000 }).toBe(true);
    await blocker.end();
    await dying.close();
    expect(await call).toMatchObject({ code: "UNAVAILABLE" });
    await next.close();
  });

  it("hands over to a standby: nothing acknowledged is lost, and the gateway goes on there by itself", async () => {
    const primary = await startServer();
    await migrate(primary.url);
    const standby = await startServer([], { standbyOf: primary });
    await runSql(primary.url, "ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()");
    const proxy = await DatabaseProxy.listen(primary.url);
    const store = await open(proxy.url);
    const acknowledged: string[] = [];
    let refused = 0;
    const call = async (): Promise<void> => {
      const outcome = await store.accept(newDelivery()).catch(() => undefined);
      if (outcome === undefined) refused++;
      else acknowledged.push(outcome.deliveryId);
    };
    await Promise.all(Array.from({ length: 50 }, call));

    const during = Promise.all(Array.from({ length: 50 }, call));
    await primary.stop("immediate");
    proxy.leadTo(standby.url);
    // Until it is promoted it cannot be written to, and the gateway waits for that.
    await expect(store.accept(newDelivery())).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await runSql(standby.url, "SELECT pg_promote()");
    while (!(await accept(store).then(Boolean, () => false))) await sleep(100);
    // One whose commit may have been made waited until a server could be asked.
    await during;
    for (const id of acknowledged) expect(await store.get(id)).toMatchObject({ state: "queued" });
    expect(acknowledged.length + refused).toBe(100);
    expect(acknowledged.length).toBeGreaterThanOrEqual(50);

    await store.close();
    await proxy[Symbol.asyncDispose]();
    await standby.dispose();
    await primary.dispose();
  });

  it.runIf(canMount())("is full: a call is refused whole, and the gateway goes on when there is space", async () => {
    const folder = mkdtempSync(join(tmpdir(), "small-"));
    spawnSync("mount", ["-t", "tmpfs", "-o", "size=48m", "tmpfs", folder]);
    try {
      const user = postgresUser();
      if (user !== undefined) chownSync(folder, user.uid, user.gid);
      await runSql(server.url, `CREATE TABLESPACE small LOCATION '${folder}'`);
      await runSql(server.url, "CREATE DATABASE small TABLESPACE small");
      const url = Object.assign(new URL(server.url), { pathname: "/small" }).href;
      await migrate(url);
      const filler = join(folder, "filler");
      writeFileSync(filler, Buffer.alloc(16 * 1024 * 1024));
      const store = await open(url);
      const stored: string[] = [];
      const big = () => accept(store, { body: randomBytes(1024 * 1024) });
      const refusal = await (async () => {
        for (;;) stored.push((await big()).deliveryId);
      })().catch((error: unknown) => error);
      expect(refusal).toMatchObject({ code: "UNAVAILABLE" });
      expect(String(refusal)).toMatch(/No space left on device/u);
      const { deliveries } = await store.list({ limit: 200 });
      expect(deliveries.map(({ id }) => id)).toEqual(stored.toReversed());
      rmSync(filler);
      stored.push((await big()).deliveryId);
      expect(await store.get(stored.at(-1)!)).toMatchObject({ state: "queued" });
      await store.close();
      await runSql(server.url, "DROP DATABASE small WITH (FORCE)");
      await runSql(server.url, "DROP TABLESPACE small");
    } finally {
      spawnSync("umount", [folder]);
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it.runIf(existsSync(POOLER))(
    "is behind a pooler in transaction mode: the start says what to give instead",
    async () => {
      await runSql(server.url, "CREATE DATABASE pooled");
      await migrate(Object.assign(new URL(server.url), { pathname: "/pooled" }).href);
      await using pooler = await startPooler(server);
      await expect(open(pooler.url)).rejects.toThrow(
        "hooks.store.url leads to a pooler: give the address of PostgreSQL itself.",
      );
    },
  );
});

function canMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), "mount-"));
  const isMounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]).status === 0;
  if (isMounted) spawnSync("umount", [folder]);
  rmSync(folder, { recursive: true });
  return isMounted;
}

async function startPooler({ port }: TestServer) {
  const folder = mkdtempSync(join(tmpdir(), "pooler-"));
  const user = postgresUser();
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  const own = await freePort();
  const settings = [
    "[databases]",
    `pooled = host=127.0.0.1 port=${port} user=postgres`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${own}`,
    "unix_socket_dir =",
    "auth_type = any",
    "pool_mode = transaction",
  ];
  writeFileSync(join(folder, "pooler.ini"), settings.join("\n"));
  const child = spawn(POOLER, [join(folder, "pooler.ini")], { ...user, cwd: folder, stdio: "ignore" });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const url = `postgresql://postgres@127.0.0.1:${own}/pooled`;
  while (!(await runSql(url, "SELECT 1").then(Boolean, () => false))) {
    if (child.exitCode !== null) throw new Error(`pgbouncer has ended with ${child.exitCode}.`);
    await sleep(50);
  }
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
