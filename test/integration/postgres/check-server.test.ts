import pino from "pino";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { PostgresDeliveryStore } from "../../../src/storage/postgres/delivery-store.ts";
import { MIGRATIONS } from "../../../src/storage/postgres/migrations.ts";
import { migrate } from "../../../src/storage/postgres/migrate.ts";
import { createDatabase, type TestDatabase } from "../../fixtures/postgres/database.ts";
import { runSql } from "../../fixtures/postgres/run-sql.ts";

const logger = pino({ level: "silent" });

/** The reason why a store cannot be opened. */
async function refusal(url: string): Promise<string> {
  try {
    const store = await PostgresDeliveryStore.open({ url, logger });
    await store.close();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return "opened";
}

describe("a database that a gateway must not use", () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createDatabase();
  });
  afterEach(() => database.drop());

  const changed = (changes: Partial<URL>): string => Object.assign(new URL(database.url), changes).href;
  const sql = (...statements: readonly string[]) => runSql(database.url, ...statements);

  it("is opened when nothing is wrong with it", async () => {
    expect(await refusal(database.url)).toBe("opened");
  });

  it("is none that does not exist, or cannot be reached", async () => {
    expect(await refusal(changed({ pathname: "/nowhere" }))).toMatch(/is not there: .*nowhere.*createdb/u);
    expect(await refusal(changed({ port: "1" }))).toMatch(/^PostgreSQL cannot be reached: .*ECONNREFUSED/u);
  });

  it("is none whose user is unknown, and the password is not shown", async () => {
    const shown = await refusal(changed({ username: "stranger", password: "the-password" }));
    expect(shown).toMatch(/refuses the user of hooks\.store\.url: .*stranger/u);
    expect(shown).not.toContain("the-password");
  });

  it("loses no committed call: synchronous_commit has to be on", async () => {
    const name = new URL(database.url).pathname.slice(1);
    await sql(`ALTER DATABASE ${name} SET synchronous_commit = off`);
    expect(await refusal(database.url)).toMatch(/^synchronous_commit is off: .* ALTER DATABASE/u);
  });

  it.each([
    {
      setting: "server_version_num",
      value: "140011",
      said: /^PostgreSQL .* is too old: version 15 or later is needed/u,
    },
    { setting: "fsync", value: "off", said: /^fsync is off: / },
  ])("is on a server that is not fit for it: $setting is $value", async ({ setting, value, said }) => {
    // The server says of itself what another one would.
    await sql(
      "CREATE SCHEMA other",
      `CREATE FUNCTION other.current_setting(setting text) RETURNS text LANGUAGE sql AS
        $$ SELECT CASE setting WHEN '${setting}' THEN '${value}' ELSE pg_catalog.current_setting(setting) END $$`,
      `ALTER DATABASE ${new URL(database.url).pathname.slice(1)} SET search_path = other, pg_catalog`,
    );
    expect(await refusal(database.url)).toMatch(said);
  });

  it("gives its user all rights on the tables", async () => {
    await sql("DROP ROLE IF EXISTS reader", "CREATE ROLE reader LOGIN", "GRANT USAGE ON SCHEMA reveille TO reader");
    await sql("GRANT SELECT ON ALL TABLES IN SCHEMA reveille TO reader");
    expect(await refusal(changed({ username: "reader" }))).toMatch(/may not use the tables.*make it their owner/u);
    await sql("REVOKE ALL ON SCHEMA reveille FROM reader", "DROP OWNED BY reader", "DROP ROLE reader");
  });

  it("has the tables of this version", async () => {
    await sql("INSERT INTO reveille.migrations (name) VALUES ('9999-later')");
    expect(await refusal(database.url)).toBe(
      "The tables are those of a later version (9999-later): install that version.",
    );
    await expect(migrate(database.url)).rejects.toThrow("a later version (9999-later)");
    await sql("TRUNCATE reveille.migrations");
    expect(await refusal(database.url)).toBe(
      "The tables are those of an earlier version (without 0001-deliveries). Run reveille migrate.",
    );
  });

  it("has tables, which migrate makes once, also when two do at the same time", async () => {
    const empty = await createDatabase({ isEmpty: true });
    expect(await refusal(empty.url)).toBe("The database has no tables yet. Run reveille migrate.");
    const applied = await Promise.all([migrate(empty.url), migrate(empty.url)]);
    expect(applied.flat()).toEqual(Object.keys(MIGRATIONS));
    expect(await migrate(empty.url)).toEqual([]);
    expect(await refusal(empty.url)).toBe("opened");
    await empty.drop();
  });
});
