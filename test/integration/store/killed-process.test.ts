import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { SqliteDatabase } from "../../../src/storage/sqlite/engine/database.ts";
import { SqliteDeliveryStore, sqliteStoreModule } from "../../../src/storage/sqlite/delivery-store.ts";
import { listAll, openRuns } from "../../conformance/store/store-actions.ts";

const script = fileURLToPath(new URL("./accepting-process.ts", import.meta.url));
const KILLS = 5;

// Six processes are started, one after the other.
describe("a store whose process is killed", { timeout: 180_000 }, () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "killed-store-"));
    file = join(folder, "deliveries.sqlite");
  });
  afterEach(() => rm(folder, { recursive: true }));

  it("issue 1: has every delivery that was acknowledged, whole, after each of several kills", async () => {
    const acknowledged = new Set<string>();
    for (let kill = 0; kill < KILLS; kill++) {
      for (const id of await acceptUntilKilled(file, 50 + kill * 80)) acknowledged.add(id);
    }
    expect(acknowledged.size).toBeGreaterThan(KILLS);

    const database = await SqliteDatabase.open({ file, modules: [sqliteStoreModule] });
    const store = SqliteDeliveryStore.open(database, { ownsDatabase: true });
    const stored = await listAll(store, { limit: 200 });
    expect([...acknowledged].filter((id) => !stored.includes(id))).toEqual([]);
    const runIds: string[] = [];
    for (const id of stored) {
      const detail = await store.get(id);
      const body = await store.body(id);
      expect(detail?.runs).toHaveLength(1);
      expect({ id, bytes: body?.byteLength }).toEqual({ id, bytes: Number(detail?.name) });
      runIds.unshift(...(detail?.runIds ?? []));
    }
    expect((await openRuns(store)).map((run) => run.runId)).toEqual(runIds);
    await store.close();

    const checked = new DatabaseSync(file, { readOnly: true });
    expect(checked.prepare("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
    expect(checked.prepare("SELECT count(*) AS n FROM claims").get()).toEqual({ n: stored.length });
    checked.close();
  });

  it("leaves no lock behind, and holds it as long as it lives", async () => {
    const child = start(file);
    await once(child.stdout, "data");
    await expect(SqliteDatabase.open({ file, modules: [] })).rejects.toMatchObject({
      name: "SqliteError",
      code: "IN_USE",
    });
    child.stdout.resume();
    child.kill("SIGKILL");
    await once(child, "exit");
    const database = await SqliteDatabase.open({ file, modules: [sqliteStoreModule] });
    await database.close();
  });
});

/** It accepts until it is killed, so it must not outlive a test that fails. */
function start(file: string) {
  const child = spawn(process.execPath, [script, file], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

/** The ids that the process printed before it was killed; what it had not finished printing does not count. */
async function acceptUntilKilled(file: string, afterMs: number): Promise<string[]> {
  const child = start(file);
  let output = "";
  const started = new Promise((resolve) => {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      // It is ready, and two were acknowledged: how soon that is, is up to the disk.
      if (output.split("\n").length > 3) resolve(undefined);
    });
  });
  const closed = once(child, "close");
  await started;
  await sleep(afterMs);
  child.kill("SIGKILL");
  await closed;
  const lines = output.slice(0, output.lastIndexOf("\n")).split("\n");
  expect(lines.shift()).toBe("ready");
  return lines;
}
