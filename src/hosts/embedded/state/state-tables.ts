/** The tables of sessions, their transcripts and events, and of what channels were given. */
import { sql, type Kysely } from "kysely";
import type { Migration } from "kysely/migration";

/**
 * The first version. Ids are integers in order of arrival, so that rows and index entries are
 * appended and never inserted in between.
 *
 * - A session that is `kept` (it has events, turns or a route of its own) is never pruned.
 * - An event whose text is NULL was consumed; its row stays for a while, for its key.
 * - `isolated` marks the messages of runs, which no later turn of the session is shown.
 */
const createTables: Migration = {
  async up(database: Kysely<unknown>) {
    for (const statement of [
      sql`CREATE TABLE embedded_session (
        id INTEGER PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,
        kept INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        active_at INTEGER NOT NULL,
        messages INTEGER NOT NULL DEFAULT 0,
        pending INTEGER NOT NULL DEFAULT 0,
        pending_bytes INTEGER NOT NULL DEFAULT 0,
        wake_agent TEXT,
        wake_reason TEXT,
        route_channel TEXT,
        route_to TEXT
      ) STRICT`,
      sql`CREATE INDEX embedded_session_active ON embedded_session (active_at)`,
      sql`CREATE TABLE embedded_event (
        id INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        key TEXT NOT NULL UNIQUE,
        at INTEGER NOT NULL,
        text TEXT
      ) STRICT`,
      sql`CREATE INDEX embedded_event_pending ON embedded_event (session) WHERE text IS NOT NULL`,
      sql`CREATE TABLE embedded_message (
        id INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        run_id TEXT,
        isolated INTEGER NOT NULL,
        role TEXT NOT NULL,
        at INTEGER NOT NULL,
        text TEXT NOT NULL
      ) STRICT`,
      sql`CREATE INDEX embedded_message_session ON embedded_message (session)`,
      sql`CREATE UNIQUE INDEX embedded_message_run ON embedded_message (run_id)
        WHERE isolated = 1 AND role = 'user'`,
      sql`CREATE TABLE embedded_outbox (
        id INTEGER PRIMARY KEY,
        channel TEXT NOT NULL,
        key TEXT NOT NULL,
        recipient TEXT NOT NULL,
        at INTEGER NOT NULL,
        state TEXT NOT NULL,
        text TEXT NOT NULL,
        UNIQUE (channel, key)
      ) STRICT`,
      sql`CREATE INDEX embedded_outbox_unsent ON embedded_outbox (id) WHERE state = 'pending'`,
    ]) {
      await statement.execute(database);
    }
  },
};

/** One row: what the messages of isolated runs up to an id count for together. */
const countTranscriptBytes: Migration = {
  async up(database: Kysely<unknown>) {
    await sql`CREATE TABLE embedded_transcript_bytes (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      through_id INTEGER NOT NULL,
      bytes INTEGER NOT NULL
    ) STRICT`.execute(database);
    await sql`INSERT INTO embedded_transcript_bytes VALUES (1, 0, 0)`.execute(database);
  },
};

/** The migrations of the module, in order of their names. */
export const STATE_MIGRATIONS: Readonly<Record<string, Migration>> = {
  "0001-tables": createTables,
  "0002-transcript-bytes": countTranscriptBytes,
};
