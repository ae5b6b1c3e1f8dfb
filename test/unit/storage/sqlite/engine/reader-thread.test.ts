import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { SqliteDatabase } from "../../../../../src/storage/sqlite/engine/database.ts";
import { LogRestart } from "../../../../../src/storage/sqlite/engine/log-restart.ts";
import { ReaderThread } from "../../../../../src/storage/sqlite/engine/reader-thread.ts";
import { notesModule } from "./notes-module.ts";
import { temporaryFolder } from "./temporary-folder.ts";

async function open() {
  const file = join(temporaryFolder(), "a.sqlite");
  const database = await SqliteDatabase.open({ file, modules: [notesModule] });
  onTestFinished(() => database.close());
  return { database, file };
}

async function openThread(options?: { idleMs: number }, { shared }: LogRestart = new LogRestart()) {
  const { file } = await open();
  const thread = new ReaderThread({ file, modules: [String(notesModule)], logRestart: shared }, options);
  onTestFinished(() => thread.close());
  return thread;
}

describe("the thread that reads", () => {
  it("sees every write whose promise has resolved, from a thread of its own", async () => {
    const { database } = await open();
    for (let id = 1; id <= 5; id++) {
      await database.write("notes.add", [id, "text"]);
      expect(await database.read("notes.count", null)).toBe(id);
    }
    expect(await database.read("notes.thread", null)).toBeGreaterThan(0);
  });

  it("rejects a read that fails, and goes on", async () => {
    const { database } = await open();
    const reads = [
      database.read("notes.fail", null),
      database.read("notes.nothing", null),
      database.read("notes.count", null),
    ];
    expect(await Promise.allSettled(reads)).toMatchObject([
      { reason: { code: "FAILED", message: "no such table: nowhere" } },
      { reason: { code: "FAILED", message: "No module of this database has the read notes.nothing." } },
      { value: 0 },
    ]);
  });

  it("rejects what waits when it dies, and starts again with the next read", async () => {
    const thread = await openThread();
    const reads = [thread.read("notes.die", null), thread.read("notes.count", null)];
    const dead = { reason: { code: "UNAVAILABLE" } };
    expect(await Promise.allSettled(reads)).toMatchObject([dead, dead]);
    expect(await thread.read("notes.count", null)).toBe(0);
  });

  it("ends when it has had nothing to read, and starts again with the next read", async () => {
    const thread = await openThread({ idleMs: 1 });
    const first = await thread.read("notes.thread", null);
    await expect.poll(() => thread.read("notes.thread", null), { interval: 50 }).not.toBe(first);
  });

  it("waits while the writer starts the log over, and then goes on", async () => {
    const restart = new LogRestart();
    const thread = await openThread(undefined, restart);
    await thread.read("notes.count", null);
    new Int32Array(restart.shared)[0] = 1;
    const read = thread.read("notes.count", null);
    expect(await Promise.race([read, sleep(300, "waits")])).toBe("waits");
    restart.withoutReads(() => undefined);
    expect(await read).toBe(0);
  });

  it("goes on after a second when a writer that died has left it waiting", async () => {
    const restart = new LogRestart();
    const thread = await openThread(undefined, restart);
    new Int32Array(restart.shared)[0] = 1;
    expect(await thread.read("notes.count", null)).toBe(0);
  });

  it("takes no more than a thousand reads at once", async () => {
    const thread = await openThread();
    const reads = await Promise.allSettled(Array.from({ length: 1_001 }, () => thread.read("notes.count", null)));
    expect(reads.at(-2)).toEqual({ status: "fulfilled", value: 0 });
    expect(reads.at(-1)).toMatchObject({ reason: { code: "UNAVAILABLE" } });
  });

  it("answers what was asked before the database closes, and refuses what comes after", async () => {
    const { database } = await open();
    const asked = database.read("notes.count", null);
    const closed = database.close();
    await expect(database.read("notes.count", null)).rejects.toMatchObject({ code: "CLOSED" });
    expect(await asked).toBe(0);
    await closed;
  });
});
