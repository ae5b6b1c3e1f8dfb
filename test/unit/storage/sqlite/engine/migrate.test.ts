import { DatabaseSync } from "node:sqlite";
import { sql } from "kysely";
import { describe, expect, it, onTestFinished } from "vitest";
import { migrate } from "../../../../../src/storage/sqlite/engine/migrate.ts";
import type { SqliteModule } from "../../../../../src/storage/sqlite/engine/module.ts";

const first: SqliteModule["migrations"] = {
  "0001-first": { up: async (database) => void (await sql`CREATE TABLE notes (text TEXT)`.execute(database)) },
};
const second: SqliteModule["migrations"] = {
  ...first,
  "0002-length": {
    async up(database) {
      await sql`ALTER TABLE notes ADD COLUMN length INTEGER`.execute(database);
      await sql`UPDATE notes SET length = length(text)`.execute(database);
    },
  },
};
const broken: SqliteModule["migrations"] = {
  ...second,
  "0003-broken": {
    async up(database) {
      await sql`CREATE TABLE half (id INTEGER)`.execute(database);
      await sql`CREATE TABLE notes (text TEXT)`.execute(database);
    },
  },
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
  it("brings a file of an old version up to date and keeps what is in it", async () => {
    const file = database();
    await migrate(file, moduleOf(first));
    file.exec("INSERT INTO notes VALUES ('four')");
    await migrate(file, moduleOf(second));
    expect(file.prepare("SELECT * FROM notes").all()).toEqual([{ text: "four", length: 4 }]);
  });

  it("does nothing to a file that is up to date", async () => {
    const file = database();
    await migrate(file, moduleOf(second));
    const before = file.prepare("SELECT * FROM notes_migration").all();
    await migrate(file, moduleOf(second));
    expect(file.prepare("SELECT * FROM notes_migration").all()).toEqual(before);
    expect(before.map((row) => row["name"])).toEqual(["0001-first", "0002-length"]);
  });

  it("keeps the versions of modules apart", async () => {
    const file = database();
    await migrate(file, moduleOf(second));
    await migrate(file, moduleOf({ "0001-a": { up: async () => undefined } }, "other"));
    expect(file.prepare("SELECT name FROM other_migration").all()).toEqual([{ name: "0001-a" }]);
  });

  it("leaves nothing of a migration that fails", async () => {
    const file = database();
    await migrate(file, moduleOf(first));
    await expect(migrate(file, moduleOf(broken))).rejects.toThrow(
      "The tables of notes could not be brought up to date: table notes already exists",
    );
    const tables = file.prepare("SELECT name FROM sqlite_schema WHERE name = 'half'").all();
    expect(tables).toEqual([]);
    // The migration before it, of the same run, is undone with it.
    expect(file.prepare("SELECT name FROM notes_migration").all()).toEqual([{ name: "0001-first" }]);
    await migrate(file, moduleOf(second));
  });

  it("refuses a file that a newer version wrote", async () => {
    const file = database();
    await migrate(file, moduleOf(second));
    await expect(migrate(file, moduleOf(first))).rejects.toThrow(/0002-length/u);
  });

  it("says so when a migration throws something that is no error", async () => {
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- a migration may do that
    const odd = moduleOf({ "0001-odd": { up: () => Promise.reject("text") } });
    await expect(migrate(database(), odd)).rejects.toThrow(/could not be brought up to date/u);
  });
});
