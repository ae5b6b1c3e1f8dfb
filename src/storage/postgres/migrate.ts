import { connect } from "./engine/connect.ts";
import { Session, statement } from "./engine/statement.ts";
import { asStoreError } from "./engine/errors.ts";
import { LOCK_CLASS } from "./engine/owner-connection.ts";
import { MIGRATIONS } from "./migrations.ts";
import { StoreError } from "../delivery-store.ts";

/** Of two that migrate at once, one waits for the other, and for no gateway: their places have numbers from 1 on. */
const LOCK = `pg_advisory_xact_lock(${LOCK_CLASS}, -1)`;
const applied = statement({ name: "text" }, "SELECT name FROM reveille.migrations ORDER BY name");

/**
 * Brings the tables of a database to this version, in one transaction, and returns what was applied. Rejects with a
 * {@link StoreError} when they are those of a later version.
 */
export async function migrate(url: string): Promise<readonly string[]> {
  const client = await connect(url, { purpose: "migrate" });
  const session = new Session(client);
  try {
    await session.script(`BEGIN; SELECT ${LOCK}; CREATE SCHEMA IF NOT EXISTS reveille;
      CREATE TABLE IF NOT EXISTS reveille.migrations (name text PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp())`);
    const present = (await session.rows(applied)).map(({ name }) => name);
    const later = present.find((name) => MIGRATIONS[name] === undefined);
    if (later !== undefined) {
      throw new StoreError("UNAVAILABLE", `The tables are those of a later version (${later}): install that version.`);
    }
    const missing = Object.entries(MIGRATIONS).filter(([name]) => !present.includes(name));
    for (const [name, statements] of missing) {
      for (const text of statements) await session.script(text);
      await session.script(`INSERT INTO reveille.migrations (name) VALUES ('${name}')`);
    }
    await session.script("COMMIT");
    return missing.map(([name]) => name);
  } catch (error) {
    throw asStoreError(error);
  } finally {
    await client.end();
  }
}
