import { DatabaseSync } from "node:sqlite";
import { type Generated, Kysely } from "kysely";
import { describe, expect, it, onTestFinished } from "vitest";
import { NodeSqliteDialect } from "../../../../../src/storage/sqlite/engine/migrate.ts";

interface Tables {
  notes: { id: Generated<number>; text: string };
}

function open(): { database: DatabaseSync; queries: Kysely<Tables> } {
  const database = new DatabaseSync(":memory:");
  onTestFinished(() => {
    if (database.isOpen) database.close();
  });
  database.exec("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)");
  return { database, queries: new Kysely<Tables>({ dialect: new NodeSqliteDialect(database) }) };
}

describe("NodeSqliteDialect", () => {
  it("runs typed queries on a node:sqlite connection", async () => {
    const { queries } = open();
    const inserted = await queries.insertInto("notes").values({ text: "one" }).executeTakeFirstOrThrow();
    expect(inserted).toMatchObject({ insertId: 1n, numInsertedOrUpdatedRows: 1n });
    const returned = await queries.insertInto("notes").values({ text: "two" }).returningAll().execute();
    expect(returned).toEqual([{ id: 2, text: "two" }]);
    expect(await queries.selectFrom("notes").select("text").where("id", "=", 1).execute()).toEqual([{ text: "one" }]);
  });

  it("streams rows", async () => {
    const { queries } = open();
    await queries
      .insertInto("notes")
      .values([{ text: "a" }, { text: "b" }])
      .execute();
    const texts: string[] = [];
    for await (const row of queries.selectFrom("notes").selectAll().stream()) texts.push(row.text);
    expect(texts).toEqual(["a", "b"]);
  });

  it("undoes a transaction that fails, tables included", async () => {
    const { database, queries } = open();
    const failing = queries.transaction().execute(async (transaction) => {
      await transaction.schema.createTable("half").addColumn("id", "integer").execute();
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(database.prepare("SELECT name FROM sqlite_schema WHERE name = 'half'").all()).toEqual([]);
  });

  it("closes the connection only when it is destroyed", async () => {
    const { database, queries } = open();
    await queries.selectFrom("notes").selectAll().execute();
    expect(database.isOpen).toBe(true);
    await queries.destroy();
    expect(database.isOpen).toBe(false);
  });
});
