/** The embedded gateway's part of the shared database file. */
import type { DatabaseSync } from "node:sqlite";
import type { Migration, SqliteModule, SqliteOperations } from "../../../storage/sqlite/engine/module.ts";
import { sqliteTasks } from "./sqlite-tasks.ts";
import type { StateTask } from "./state-task.ts";
import { stateWrites } from "./state-writes.ts";

/**
 * The first version. Ids are integers in order of arrival, so that rows and index entries are
 * appended and never inserted in between.
 *
 * - A session that is `kept` (it has events, turns or a route of its own) is never pruned.
 * - An event whose text is NULL was consumed; its row stays for a while, for its key.
 * - `isolated` marks the messages of runs, which no later turn of the session is shown.
 */
const createTables: Migration = [
  `CREATE TABLE embedded_session (
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
  `CREATE INDEX embedded_session_active ON embedded_session (active_at)`,
  `CREATE TABLE embedded_event (
        id INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        key TEXT NOT NULL UNIQUE,
        at INTEGER NOT NULL,
        text TEXT
      ) STRICT`,
  `CREATE INDEX embedded_event_pending ON embedded_event (session) WHERE text IS NOT NULL`,
  `CREATE TABLE embedded_message (
        id INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        run_id TEXT,
        isolated INTEGER NOT NULL,
        role TEXT NOT NULL,
        at INTEGER NOT NULL,
        text TEXT NOT NULL
      ) STRICT`,
  `CREATE INDEX embedded_message_session ON embedded_message (session)`,
  `CREATE UNIQUE INDEX embedded_message_run ON embedded_message (run_id)
        WHERE isolated = 1 AND role = 'user'`,
  `CREATE TABLE embedded_outbox (
        id INTEGER PRIMARY KEY,
        channel TEXT NOT NULL,
        key TEXT NOT NULL,
        recipient TEXT NOT NULL,
        at INTEGER NOT NULL,
        state TEXT NOT NULL,
        text TEXT NOT NULL,
        UNIQUE (channel, key)
      ) STRICT`,
  `CREATE INDEX embedded_outbox_unsent ON embedded_outbox (id) WHERE state = 'pending'`,
];

/** One row: what the messages of isolated runs up to an id count for together. */
const countTranscriptBytes: Migration = [
  `CREATE TABLE embedded_transcript_bytes (
      id INTEGER PRIMARY KEY CHECK (id = 1),
      through_id INTEGER NOT NULL,
      bytes INTEGER NOT NULL
    ) STRICT`,
  `INSERT INTO embedded_transcript_bytes VALUES (1, 0, 0)`,
];

const approvalTable: Migration = [
  `CREATE TABLE embedded_approval (
      seq INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      question TEXT NOT NULL,
      agent TEXT NOT NULL,
      session TEXT NOT NULL,
      run TEXT,
      title TEXT NOT NULL,
      input TEXT NOT NULL,
      asked_at INTEGER NOT NULL,
      state TEXT NOT NULL
    ) STRICT`,
  `CREATE INDEX embedded_approval_question ON embedded_approval (question)`,
  `CREATE INDEX embedded_approval_waiting ON embedded_approval (seq) WHERE state = 'waiting'`,
];

/** What an agent with a memory of its own calls the session. */
const agentSessions: Migration = ["ALTER TABLE embedded_session ADD COLUMN agent_session TEXT"];

/** Where the owner wrote a message, for its reply. */
const ownerMessages: Migration = [
  "ALTER TABLE embedded_event ADD COLUMN owner_channel TEXT",
  "ALTER TABLE embedded_event ADD COLUMN owner_to TEXT",
  `CREATE INDEX embedded_event_owner ON embedded_event (session)
     WHERE text IS NOT NULL AND owner_channel IS NOT NULL`,
];

/** What the texts that the session has read leave of its agent's rights: JSON, a line for each. */
const sessionRights: Migration = ["ALTER TABLE embedded_session ADD COLUMN rights TEXT"];

/** How far subscriptions to events have come, by their names. */
const subscriptions: Migration = [
  "CREATE TABLE embedded_subscription (name TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID",
];

/** The migrations of the module, in order of their names. */
export const STATE_MIGRATIONS: Readonly<Record<string, Migration>> = {
  "0001-tables": createTables,
  "0002-transcript-bytes": countTranscriptBytes,
  "0003-approvals": approvalTable,
  "0004-agent-sessions": agentSessions,
  "0005-owner-messages": ownerMessages,
  "0006-session-rights": sessionRights,
  "0007-subscriptions": subscriptions,
};

/** The URL of this module, for the database that loads it. */
export const STATE_MODULE_URL: URL = new URL(import.meta.url);

/** Sessions, transcripts, system events, approvals, the outbox and cursors of subscriptions. */
export const sqliteModule: SqliteModule = {
  name: "embedded",
  migrations: STATE_MIGRATIONS,
  operations(database) {
    const carryOut = sqliteTasks(database);
    const writes = Object.entries(stateWrites({ isShared: false })).map(([name, write]) => {
      const task = write as (args: never) => StateTask<unknown>;
      return [name, (args: never): unknown => carryOut(task(args))] as const;
    });
    return { ...(Object.fromEntries(writes) as SqliteOperations), tryWrite: prepareTrial(database) };
  },
};

/** Changes nothing and is committed all the same: SQLite does not write a page that stays as it is. */
function prepareTrial(database: DatabaseSync): () => void {
  const add = database.prepare(
    "INSERT INTO embedded_outbox (channel, key, recipient, at, state, text) VALUES ('', '', '', 0, 'trial', '')",
  );
  const drop = database.prepare("DELETE FROM embedded_outbox WHERE channel = '' AND key = ''");
  return () => {
    add.run();
    drop.run();
  };
}
