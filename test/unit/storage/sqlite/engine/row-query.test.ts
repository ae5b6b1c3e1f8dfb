import { DatabaseSync } from "node:sqlite";
import { describe, expect, expectTypeOf, it, onTestFinished } from "vitest";
import { rowQuery } from "../../../../../src/storage/sqlite/engine/row-query.ts";

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
});
