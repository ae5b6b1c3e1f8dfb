import { DatabaseSync } from "node:sqlite";
import { describe, expect, expectTypeOf, it, onTestFinished } from "vitest";
import { rowQuery } from "../../../src/sqlite/row-query.ts";

function open(): DatabaseSync {
  const database = new DatabaseSync(":memory:");
  onTestFinished(() => database.close());
  database.exec("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL, author TEXT, body BLOB) STRICT");
  database.exec("INSERT INTO notes VALUES (1, 'one', NULL, x'00ff'), (2, 'two', 'ada', NULL)");
  return database;
}

const NOTE = { id: "integer", text: "text", author: "text?", body: "blob?" } as const;
const FROM = "FROM notes WHERE id >= ? ORDER BY id";

describe("rowQuery", () => {
  it("gives rows of the declared shape, one, all or one after the other", () => {
    const notes = rowQuery(open(), NOTE, `SELECT body, author, text, id ${FROM}`);
    const first = { id: 1, text: "one", author: null, body: new Uint8Array([0, 255]) };
    const second = { id: 2, text: "two", author: "ada", body: null };
    expect({ ...notes.get(1) }).toEqual(first);
    expect(notes.get(3)).toBeUndefined();
    expect(notes.all(1).map((row) => ({ ...row }))).toEqual([first, second]);
    const texts: string[] = [];
    for (const { text } of notes.iterate(2)) texts.push(text);
    expect(texts).toEqual(["two"]);
    expectTypeOf(notes.all(1)).toEqualTypeOf<
      { readonly id: number; readonly text: string; readonly author: string | null; readonly body: Uint8Array | null }[]
    >();
  });

  it("takes what an expression, a pragma or a change gives as it is declared", () => {
    const database = open();
    expect(rowQuery(database, { n: "integer" }, "SELECT count(*) AS n FROM notes").get()?.n).toBe(2);
    expect(rowQuery(database, { page_size: "integer" }, "PRAGMA page_size").get()?.page_size).toBeGreaterThan(0);
    const change = rowQuery(database, { id: "integer" }, "DELETE FROM notes WHERE id = ? RETURNING id");
    expect(change.get(2)?.id).toBe(2);
  });

  it.each([
    ["lacks a column", NOTE, `SELECT id, text, author ${FROM}`],
    ["gives a column more", { id: "integer" }, `SELECT id, text ${FROM}`],
    ["gives one under another name", { number: "integer" }, `SELECT id ${FROM}`],
    ["gives one twice, of which a row would show the last", { id: "integer" }, `SELECT id, author AS id ${FROM}`],
    ["gives two of the same name instead of two", { id: "integer", text: "text" }, `SELECT id, id ${FROM}`],
    ["gives a text for a number", { text: "integer" }, `SELECT text ${FROM}`],
    ["gives a number for a text", { note: "text" }, `SELECT id AS note ${FROM}`],
    ["gives bytes for a text", { body: "text?" }, `SELECT body ${FROM}`],
    ["gives a column that every object seems to have", { id: "integer" }, `SELECT id AS constructor ${FROM}`],
    ["gives no rows at all", { id: "integer" }, "DELETE FROM notes"],
  ] as const)("refuses a query that %s, when it is prepared", (_, shape, sql) => {
    const database = open();
    expect(() => rowQuery(database, shape, sql)).toThrow(sql);
    expect(rowQuery(database, { n: "integer" }, "SELECT count(*) AS n FROM notes").get()?.n).toBe(2);
  });

  it("says what a query gives and what was declared", () => {
    const database = open();
    expect(() => rowQuery(database, { id: "text", n: "integer?" }, `SELECT id, 1 AS n ${FROM}`)).toThrow(
      /^A query gives id integer, n of any type, and not id text, n integer\?: SELECT id, 1 AS n/u,
    );
    expect(() => rowQuery(database, { id: "text" }, "DELETE FROM notes")).toThrow(
      "A query gives no column, and not id",
    );
  });
});
