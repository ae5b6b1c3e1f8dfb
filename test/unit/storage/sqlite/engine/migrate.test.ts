import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { migrate, type UpdateStep } from "../../../../../src/storage/sqlite/engine/migrate.ts";
import type { SqliteModule } from "../../../../../src/storage/sqlite/engine/module.ts";

const first: SqliteModule["migrations"] = { "0001-first": ["CREATE TABLE notes (text TEXT)"] };
const second: SqliteModule["migrations"] = {
  ...first,
  "0002-length": ["ALTER TABLE notes ADD COLUMN length INTEGER", "UPDATE notes SET length = length(text)"],
};
const broken: SqliteModule["migrations"] = {
  ...second,
  "0003-broken": ["CREATE TABLE half (id INTEGER)", "CREATE TABLE notes (text TEXT)"],
};

function moduleOf(migrations: SqliteModule["migrations"], name = "notes"): SqliteModule {
  return { name, migrations, operations: () => ({}) };
}

function database(): DatabaseSync {
  const opened = new DatabaseSync(":memory:");
  onTestFinished(() => opened.close());
  return opened;
}

describe("migrate", () => {
  it("brings a file of an old version up to date and keeps what is in it", () => {
    const file = database();
    migrate(file, moduleOf(first));
    file.exec("INSERT INTO notes VALUES ('four')");
    migrate(file, moduleOf(second));
    expect(file.prepare("SELECT * FROM notes").all()).toEqual([{ text: "four", length: 4 }]);
  });

  it("reports each step on a file of an old version, and none on a new one", () => {
    const file = database();
    const steps: UpdateStep[] = [];
    const onStep = (step: UpdateStep) => steps.push(step);
    migrate(file, moduleOf(first), onStep);
    expect(steps).toEqual([]);
    migrate(file, moduleOf(second), onStep);
    const what = "steps of the database's update";
    expect(steps).toEqual([
      { done: 0, total: 2, what },
      { done: 1, total: 2, what },
    ]);
  });

  it("does nothing to a file that is up to date", () => {
    const file = database();
    migrate(file, moduleOf(second));
    const before = file.prepare("SELECT * FROM notes_migration").all();
    migrate(file, moduleOf(second));
    expect(file.prepare("SELECT * FROM notes_migration").all()).toEqual(before);
    expect(before.map((row) => row["name"])).toEqual(["0001-first", "0002-length"]);
  });

  it("keeps the versions of modules apart", () => {
    const file = database();
    migrate(file, moduleOf(second));
    migrate(file, moduleOf({ "0001-a": [] }, "other"));
    expect(file.prepare("SELECT name FROM other_migration").all()).toEqual([{ name: "0001-a" }]);
  });

  it("leaves nothing of a migration that fails", () => {
    const file = database();
    migrate(file, moduleOf(first));
    expect(() => migrate(file, moduleOf(broken))).toThrow(
      "The tables of notes could not be brought up to date: table notes already exists",
    );
    const tables = file.prepare("SELECT name FROM sqlite_schema WHERE name = 'half'").all();
    expect(tables).toEqual([]);
    // The migration before it, of the same run, is undone with it.
    expect(file.prepare("SELECT name FROM notes_migration").all()).toEqual([{ name: "0001-first" }]);
    migrate(file, moduleOf(second));
  });

  it("refuses a file that a newer version wrote", () => {
    const file = database();
    migrate(file, moduleOf(second));
    expect(() => migrate(file, moduleOf(first))).toThrow(/0002-length/u);
  });

  it("continues with a file whose migrations an earlier version recorded beside a table of locks", () => {
    const file = database();
    file.exec(`
      CREATE TABLE "notes_migration" ("name" varchar(255) not null primary key, "timestamp" varchar(255) not null);
      CREATE TABLE "notes_migration_lock" ("id" varchar(255) not null primary key, "is_locked" integer default 0 not null);
      INSERT INTO "notes_migration_lock" VALUES ('migration_lock', 0);
      CREATE TABLE notes (text TEXT);
      INSERT INTO "notes_migration" VALUES ('0001-first', '2026-01-01T00:00:00.000Z');
    `);
    migrate(file, moduleOf(second));
    expect(file.prepare("SELECT name FROM notes_migration ORDER BY name").all()).toEqual([
      { name: "0001-first" },
      { name: "0002-length" },
    ]);
  });

  it("only reads a file that is up to date, so another connection may hold the lock for writing", () => {
    const path = join(mkdtempSync(join(tmpdir(), "reveille-migrate-")), "a.sqlite");
    const [writer, other] = [new DatabaseSync(path), new DatabaseSync(path)];
    onTestFinished(() => {
      writer.close();
      other.close();
      rmSync(dirname(path), { recursive: true });
    });
    migrate(writer, moduleOf(second));
    writer.exec("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE");
    expect(() => migrate(other, moduleOf(second))).not.toThrow();
  });
});
