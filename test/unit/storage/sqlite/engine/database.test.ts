import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { SqliteDatabase } from "../../../../../src/storage/sqlite/engine/database.ts";
import { notesModule } from "./notes-module.ts";
import { temporaryFolder } from "./temporary-folder.ts";

describe("SqliteDatabase", () => {
  let file: string;
  beforeEach(() => {
    file = join(temporaryFolder(), "a.sqlite");
  });

  async function open(logger = { info: vi.fn<() => void>(), warn: vi.fn<() => void>() }): Promise<SqliteDatabase> {
    const database = await SqliteDatabase.open({ file, modules: [notesModule], logger });
    onTestFinished(() => database.close());
    return database;
  }

  it("shows every write to the reader as soon as its promise resolves", async () => {
    const database = await open();
    const count = database.reader.prepare("SELECT count(*) AS n FROM notes");
    for (let id = 1; id <= 20; id++) {
      await database.write("notes.add", [id, "text"]);
      expect(count.get()).toEqual({ n: id });
    }
  });

  it("carries out simultaneous writes in the order of the calls and gives each its result", async () => {
    const database = await open();
    const results = await Promise.all([
      database.write("notes.add", [1, "a"]),
      database.write<number>("notes.addBytes", { id: 2, bytes: Buffer.from("bytes") }),
      database.write("notes.echo", ["x", { y: 1 }]),
    ]);
    expect(results).toEqual([undefined, 5, ["x", { y: 1 }]]);
    expect(database.reader.prepare("SELECT bytes FROM notes WHERE id = 2").get()).toEqual({
      bytes: new Uint8Array(Buffer.from("bytes")),
    });
  });

  it("rejects a failing write alone", async () => {
    const database = await open();
    const calls = [[1], [2], [3]].map((args, index) =>
      database.write(index === 1 ? "notes.addThenThrow" : "notes.add", [...args, "x"]),
    );
    expect(await Promise.allSettled(calls)).toMatchObject([
      { status: "fulfilled" },
      { reason: { name: "SqliteError", code: "FAILED", message: "The operation failed half-way." } },
      { status: "fulfilled" },
    ]);
    expect(database.reader.prepare("SELECT id FROM notes").all()).toEqual([{ id: 1 }, { id: 3 }]);
  });

  it("commits through fsync: a log, and synchronous FULL", async () => {
    const database = await open();
    expect(await database.write("notes.pragmas", null)).toEqual({ journal: "wal", sync: 2, auto: 0 });
  });

  it("keeps all its files to their owner", async () => {
    const database = await open();
    await database.write("notes.add", [1, "x"]);
    const folder = join(file, "..");
    const modes = readdirSync(folder).map((name) => [name, (statSync(join(folder, name)).mode & 0o777).toString(8)]);
    expect(Object.fromEntries(modes)).toEqual({
      "a.sqlite": "600",
      "a.sqlite-shm": "600",
      "a.sqlite-wal": "600",
      "a.sqlite.lock": "600",
      "a.sqlite.mark": "600",
    });
  });

  it("leaves no thread behind when the file is gone as soon as it is open, and can be opened again", async () => {
    const before = process.getActiveResourcesInfo();
    await expect(
      SqliteDatabase.open({ file, modules: [new URL("./unlinking-module.ts", import.meta.url)] }),
    ).rejects.toMatchObject({
      name: "SqliteError",
      code: "UNAVAILABLE",
      message: expect.stringMatching(/a\.sqlite cannot be opened: unable to open database file\. Check /u) as string,
    });
    const ports = (resources: readonly string[]) => resources.filter((kind) => kind === "MessagePort").length;
    expect(ports(process.getActiveResourcesInfo())).toBe(ports(before));
    await expect(open()).rejects.toThrow(/is gone or empty.+start once with --accept-loss/u);
    const database = await SqliteDatabase.open({ file, modules: [notesModule], acceptLoss: true });
    await database.write("notes.add", [1, "x"]);
    await database.close();
  });

  it("refuses a second opening of the file and lets the first continue", async () => {
    const database = await open();
    await expect(open()).rejects.toMatchObject({ name: "SqliteError", code: "IN_USE" });
    await database.write("notes.add", [1, "x"]);
    await database.close();
    const again = await open();
    expect(again.reader.prepare("SELECT id FROM notes").all()).toEqual([{ id: 1 }]);
  });

  it("finishes what was handed over when it closes, and takes no more", async () => {
    const database = await open();
    const calls = Array.from({ length: 50 }, (_, id) => database.write("notes.add", [id, "x"]));
    const closing = database.close();
    await expect(database.write("notes.add", [99, "x"])).rejects.toMatchObject({ code: "CLOSED" });
    await closing;
    await Promise.all(calls);
    await database.close();
    const again = await open();
    expect(again.reader.prepare("SELECT count(*) AS n FROM notes").get()).toEqual({ n: 50 });
  });

  it("refuses a module that is at fault, and leaves the file free", async () => {
    const modules = [new URL("./temporary-folder.ts", import.meta.url)];
    await expect(SqliteDatabase.open({ file, modules })).rejects.toMatchObject({ name: "SqliteError", code: "FAILED" });
    await open();
  });

  it("refuses a module that ends the thread before it is ready", async () => {
    const modules = [new URL("./exiting-module.ts", import.meta.url)];
    await expect(SqliteDatabase.open({ file, modules })).rejects.toMatchObject({ name: "SqliteError", code: "FAILED" });
    await open();
  });

  it("refuses a file that the machine does not let it open", async () => {
    const missing = join(file, "..", "missing", "a.sqlite");
    await expect(SqliteDatabase.open({ file: missing, modules: [] })).rejects.toThrow(/ENOENT/u);
  });

  it("rejects writes in progress when the writer thread dies, and continues with a new one", async () => {
    const logger = { info: vi.fn<() => void>(), warn: vi.fn<() => void>() };
    const database = await open(logger);
    await database.write("notes.add", [1, "before"]);
    const lost = await Promise.allSettled([database.write("notes.add", [2, "x"]), database.write("notes.die", null)]);
    expect(lost).toMatchObject([{ reason: { code: "UNAVAILABLE" } }, { reason: { code: "UNAVAILABLE" } }]);
    expect(logger.warn).toHaveBeenCalledOnce();
    await database.write("notes.add", [3, "after"]);
    expect(database.reader.prepare("SELECT id FROM notes").all()).toEqual([{ id: 1 }, { id: 3 }]);
  });

  it("is rewritten once when that is asked for, and not again by a new writer thread", async () => {
    const onUpdate = vi.fn<() => void>();
    const database = await SqliteDatabase.open({
      file,
      modules: [notesModule],
      compact: true,
      onUpdate,
    });
    onTestFinished(() => database.close());
    await database.write("notes.add", [1, "before"]);
    await database.write("notes.die", null).catch(() => {});
    await database.write("notes.add", [2, "after"]);
    expect(onUpdate).toHaveBeenCalledOnce();
  });

  it("does not start the writer thread over and over: it refuses in between, however the clock is set", async () => {
    const database = await open();
    const sinceStart = vi.spyOn(performance, "now").mockReturnValue(performance.now());
    await expect(database.write("notes.die", null)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(database.write("notes.die", null)).rejects.toMatchObject({
      message: "The writer thread of the database ended.",
    });
    await expect(database.write("notes.add", [1, "x"])).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: "The writer thread of the database ended and is not yet started again.",
    });
    vi.spyOn(Date, "now").mockReturnValue(Date.now() - 3_600_000);
    sinceStart.mockReturnValue(performance.now() + 100);
    await database.write("notes.add", [2, "x"]);
  });

  it("survives an operation whose result cannot be handed over", async () => {
    const database = await open();
    await expect(database.write("notes.unclonable", null)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await database.write("notes.add", [1, "x"]);
  });

  it("closes after its writer thread has died", async () => {
    const database = await open();
    await expect(database.write("notes.die", null)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await database.close();
    await open();
  });

  it("keeps the log short under steady writing", async () => {
    const database = await open();
    const bytes = Buffer.alloc(64 * 1024);
    let written = 0;
    let longestLog = 0;
    // How long it gets is up to the other thread. It is kept short once 40 MB go into it and it does not grow.
    for (let steady = 0; steady < 40; steady++) {
      const ids = Array.from({ length: 16 }, () => written++);
      await Promise.all(ids.map((id) => database.write("notes.addBytes", { id, bytes })));
      const { size } = statSync(`${file}-wal`);
      if (size > longestLog) steady = 0;
      longestLog = Math.max(longestLog, size);
    }
    expect(longestLog).toBeGreaterThan(8 * 1024 * 1024);
    expect(database.reader.prepare("SELECT count(*) AS n FROM notes").get()).toEqual({ n: written });
  });
});
