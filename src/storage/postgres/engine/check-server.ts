import type { Client } from "pg";
import { StoreError } from "../../delivery-store.ts";
import { MIGRATIONS } from "../migrations.ts";
import { type Session, statement } from "./statement.ts";

const MIN_VERSION = 150_000;
const MIGRATE = "Run reveille migrate.";

const RIGHTS = ["SELECT", "INSERT", "UPDATE", "DELETE"];

const readServer = statement(
  { version: "integer", shown: "text", synchronous: "text", fsync: "text", standby: "integer", backend: "integer" },
  `SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS shown,
    current_setting('synchronous_commit') AS synchronous, current_setting('fsync') AS fsync,
    pg_is_in_recovery()::int AS standby, pg_backend_pid() AS backend`,
);
const readRights = statement(
  { schema: "integer", tables: "integer" },
  `SELECT has_schema_privilege('reveille', 'USAGE')::int AS schema,
    coalesce(bool_and(${RIGHTS.map((right) => `has_table_privilege(c.oid, '${right}')`).join(" AND ")}), true)::int AS tables
  FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace
  WHERE nspname = 'reveille' AND relkind = 'r' AND relname <> 'migrations'`,
);
const hasSchema = statement({ found: "integer" }, "SELECT (to_regnamespace('reveille') IS NOT NULL)::int AS found");
const readMigrations = statement({ name: "text" }, "SELECT name FROM reveille.migrations ORDER BY name");

/**
 * Rejects with a {@link StoreError} that says what to correct when a gateway must not use the database. One that runs
 * already (`isRunning`) goes on with tables of a later version, which only add to those it knows.
 */
export async function checkServer(
  session: Session,
  client: Client,
  { isRunning = false }: { readonly isRunning?: boolean } = {},
): Promise<void> {
  const server = (await session.first(readServer))!;
  if (server.version < MIN_VERSION) {
    throw unusable(`PostgreSQL ${server.shown} is too old: version 15 or later is needed.`);
  }
  if (server.standby === 1) throw unusable("The server of hooks.store.url is a standby, which cannot be written to.");
  if (!["on", "remote_apply"].includes(server.synchronous)) {
    throw unusable(
      `synchronous_commit is ${server.synchronous}: a committed call could be lost. Set it to on for the database, with ALTER DATABASE ... SET synchronous_commit = on.`,
    );
  }
  if (server.fsync !== "on") throw unusable("fsync is off: a power failure could destroy the database. Set it to on.");
  if ("processID" in client && client.processID !== server.backend) {
    throw unusable("hooks.store.url leads to a pooler: give the address of PostgreSQL itself.");
  }
  await checkSchema(session, isRunning);
}

/** Throws when this version does not know the tables. */
async function checkSchema(session: Session, isRunning: boolean): Promise<void> {
  if ((await session.first(hasSchema))?.found !== 1) throw unusable(`The database has no tables yet. ${MIGRATE}`);
  const rights = await session.first(readRights);
  if (rights?.schema !== 1 || rights.tables !== 1) {
    throw unusable("The user of hooks.store.url may not use the tables in the schema reveille: make it their owner.");
  }
  const present = (await session.rows(readMigrations)).map(({ name }) => name);
  const known = Object.keys(MIGRATIONS);
  const unknown = present.find((name) => !known.includes(name));
  if (unknown !== undefined && !isRunning) {
    throw unusable(`The tables are those of a later version (${unknown}): install that version.`);
  }
  const missing = known.find((name) => !present.includes(name));
  if (missing !== undefined)
    throw unusable(`The tables are those of an earlier version (without ${missing}). ${MIGRATE}`);
}

function unusable(message: string): StoreError {
  return new StoreError("UNAVAILABLE", message);
}
