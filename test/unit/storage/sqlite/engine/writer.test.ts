import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { Writer } from "../../../../../src/storage/sqlite/engine/writer.ts";
import { sqliteModule } from "./notes-module.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const manyNotes = {
  operations: Array.from({ length: 200 }, () => "notes.add"),
  args: Array.from({ length: 200 }, (_, id) => [id, "x".repeat(500)]),
};

describe("Writer", () => {
  it("writes with a log and a full fsync for each commit, and never copies the log by itself", async () => {
    const writer = await Writer.open(join(temporaryFolder(), "a.sqlite"), [sqliteModule]);
    const outcome = writer.commit({ operations: ["notes.pragmas"], args: [null] });
    expect(outcome.results).toEqual([{ journal: "wal", sync: 2, auto: 0 }]);
    writer.close();
  });

  it("cannot start the log over while someone reads an older state, and waits for no one", async () => {
    const file = join(temporaryFolder(), "a.sqlite");
    const writer = await Writer.open(file, [sqliteModule]);
    onTestFinished(() => writer.close());
    const reader = new DatabaseSync(file, { readOnly: true });
    onTestFinished(() => reader.close());
    reader.exec("BEGIN");
    reader.prepare("SELECT count(*) FROM notes").get();
    const before = writer.commit(manyNotes).logBytes;
    writer.finishCheckpoint({ wait: false });
    const added = writer.commit({ operations: ["notes.add"], args: [[999, "x"]] });
    expect(added.logBytes).toBeGreaterThan(before);
    expect(writer.finishCheckpoint({ wait: true })).toBe(false);

    reader.exec("COMMIT");
    expect(writer.finishCheckpoint({ wait: true })).toBe(true);
    const restarted = writer.commit({ operations: ["notes.add"], args: [[1000, "x"]] });
    expect(restarted.logBytes).toBeLessThan(before);
  });

  it("puts the log away when it closes", async () => {
    const file = join(temporaryFolder(), "a.sqlite");
    const writer = await Writer.open(file, [sqliteModule]);
    writer.commit(manyNotes);
    expect(existsSync(`${file}-wal`)).toBe(true);
    writer.close();
    expect(existsSync(`${file}-wal`)).toBe(false);
  });

  it("leaves nothing open when a migration fails", async () => {
    const file = join(temporaryFolder(), "a.sqlite");
    const failing = { ...sqliteModule, migrations: { "0001-no": ["NO"] } };
    await expect(Writer.open(file, [failing])).rejects.toThrow(/notes could not be brought up to date: near "NO"/u);
    expect(existsSync(`${file}-shm`)).toBe(false);
  });

  it("reports a log that cannot be copied as not finished", async () => {
    const writer = await Writer.open(join(temporaryFolder(), "a.sqlite"), [sqliteModule]);
    const database = new DatabaseSync(":memory:");
    writer.close();
    database.close();
    expect(writer.finishCheckpoint({ wait: false })).toBe(false);
  });
});
