import { describe, expect, it } from "vitest";
import { MIGRATIONS } from "../../../../src/storage/postgres/migrations.ts";
import { ATTEMPT_ROW, DELIVERY_ROW, RUN_ROW } from "../../../../src/storage/sqlite/readers/stored-rows.ts";

const statements = Object.values(MIGRATIONS).flat();

/** The columns of a table after every migration. */
function columnsOf(table: string): readonly string[] {
  const definition = statements.find((text) => text.startsWith(`CREATE TABLE reveille.${table} (`)) ?? "";
  const added = statements.filter((text) => text.startsWith(`ALTER TABLE reveille.${table} ADD COLUMN `));
  return [
    ...definition.matchAll(/^ +([a-z_]+) [a-z]/gmu).map(([, name]) => name!),
    ...added.map((text) => text.split(" ")[5]!),
  ];
}

/** These rows are shared with SQLite: a column that is added there is added here as well. */
describe("the tables in PostgreSQL", () => {
  it.each([
    ["deliveries", DELIVERY_ROW],
    ["attempts", ATTEMPT_ROW],
  ])("have every column that is read of %s", (table, row) => {
    expect(columnsOf(table)).toEqual(expect.arrayContaining(Object.keys(row)));
  });

  it("have every column that is read of runs and their contents", () => {
    const columns = [...columnsOf("runs"), ...columnsOf("contents")];
    expect(columns).toEqual(expect.arrayContaining(Object.keys(RUN_ROW)));
  });
});

/** What a gateway of the version before does not notice. */
const ADDS = [
  /^CREATE TABLE reveille\.\w+ \(/u,
  /^CREATE (?:UNIQUE )?INDEX \w+ ON reveille\./u,
  /^CREATE SEQUENCE reveille\./u,
  /^INSERT INTO reveille\./u,
  /^ALTER TABLE reveille\.\w+ ADD COLUMN \w+ (?!.*NOT NULL(?!.*DEFAULT))/u,
];

describe.each(Object.entries(MIGRATIONS))("the migration %s", (name, texts) => {
  it("only adds, so that gateways of two versions run on the same tables", () => {
    expect(name).toMatch(/^\d{4}-[a-z-]+$/u);
    for (const text of texts) expect(text).toSatisfy((added: string) => ADDS.some((form) => form.test(added.trim())));
  });
});
