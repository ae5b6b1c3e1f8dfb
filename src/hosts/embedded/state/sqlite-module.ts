/** The embedded gateway's part of the shared database file. */
import type { BeginRunOutcome, EnqueueEvent, EnqueueOutcome, RequestTurn } from "../../shared/state-operations.ts";
import type { DatabaseSync } from "node:sqlite";
import type { Migration, SqliteModule } from "../../../storage/sqlite/engine/module.ts";
import { approvalTable, prepareApprovalWrites, type SetApproval, type StoredApproval } from "./approval-writes.ts";
import { prepareEventWrites } from "./event-writes.ts";
import { prepareRetentionWrites, prepareTranscriptBytes } from "./retention-writes.ts";
import { prepareSessionWrites } from "./session-writes.ts";
import {
  type AppendTurn,
  type BeginRun,
  type EndRun,
  type ForgetRuns,
  type ForgetRunsOutcome,
  type RecordMessage,
  type SetAgentSession,
  type SetRoute,
  STATE_LIMITS,
} from "./operations.ts";

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

/** The migrations of the module, in order of their names. */
export const STATE_MIGRATIONS: Readonly<Record<string, Migration>> = {
  "0001-tables": createTables,
  "0002-transcript-bytes": countTranscriptBytes,
  "0003-approvals": approvalTable,
  "0004-agent-sessions": agentSessions,
  "0005-owner-messages": ownerMessages,
  "0006-session-rights": sessionRights,
};

/** The URL of this module, for the database that loads it. */
export const STATE_MODULE_URL: URL = new URL(import.meta.url);

/** Sessions, transcripts, system events and the outbox; each operation is one write in one commit. */
export const sqliteModule: SqliteModule = {
  name: "embedded",
  migrations: STATE_MIGRATIONS,
  operations(database) {
    const transcripts = prepareTranscriptBytes(database);
    const sessions = prepareSessionWrites(database, transcripts);
    const events = prepareEventWrites(database, sessions);
    const outbox = prepareOutboxWrites(database);
    const approvals = prepareApprovalWrites(database);
    const retention = prepareRetentionWrites(database, transcripts);
    const setWake = database.prepare("UPDATE embedded_session SET wake_agent = ?, wake_reason = ? WHERE id = ?");
    const clearWake = database.prepare(
      "UPDATE embedded_session SET wake_agent = NULL, wake_reason = NULL WHERE id = ? AND pending = 0",
    );
    const addTrial = database.prepare(
      "INSERT INTO embedded_outbox (channel, key, recipient, at, state, text) VALUES ('', '', '', 0, 'trial', '')",
    );
    const dropTrial = database.prepare("DELETE FROM embedded_outbox WHERE channel = '' AND key = ''");
    const setAgentSession = database.prepare("UPDATE embedded_session SET agent_session = ? WHERE id = ?");

    return {
      enqueue: (event: EnqueueEvent): EnqueueOutcome => events.enqueue(event),

      requestTurn({ sessionKey, agentId, reason, at }: RequestTurn): void {
        setWake.run(agentId, reason, sessions.session(sessionKey, { kept: true, at }).id);
      },

      beginRun({ sessionKey, runId, prompt, rights, at }: BeginRun): BeginRunOutcome {
        const { id } = sessions.session(sessionKey, { kept: false, at });
        if (rights !== undefined) sessions.lowerRights(id, rights);
        const added = sessions.addMessage(id, { runId, isolated: true, role: "user", at, text: prompt });
        return added ? "begun" : "repeated";
      },

      endRun({ sessionKey, runId, role, text, at }: EndRun): void {
        const { id } = sessions.session(sessionKey, { kept: false, at });
        sessions.addMessage(id, { runId, isolated: true, role, at, text });
      },

      appendTurn(turn: AppendTurn): void {
        const { at, turnId: runId } = turn;
        const { id } = sessions.session(turn.sessionKey, { kept: true, at });
        events.consume(id, turn.eventIds);
        clearWake.run(id);
        sessions.addMessage(id, { runId, isolated: false, role: "user", at, text: turn.user });
        sessions.addMessage(id, { runId, isolated: false, role: "assistant", at, text: turn.assistant });
        if (turn.outgoing !== undefined) {
          outbox.record({ message: turn.outgoing, state: "pending", at });
        }
        events.forgetOldKeys(at);
      },

      setRoute({ sessionKey, channel, to, at }: SetRoute): void {
        sessions.setRoute(sessions.session(sessionKey, { kept: true, at }).id, { channel, to });
      },

      setAgentSession({ sessionKey, id, at }: SetAgentSession): void {
        setAgentSession.run(id, sessions.session(sessionKey, { kept: false, at }).id);
      },

      forgetRuns: (step: ForgetRuns): ForgetRunsOutcome => retention.forgetRuns(step),

      addApproval: (approval: StoredApproval): void => approvals.add(approval),

      expireApprovals: ({ before }: { readonly before: number }): void => approvals.expire(before),

      setApproval: (change: SetApproval): boolean => approvals.set(change),

      recordMessage: (record: RecordMessage): void => outbox.record(record),

      /** Changes nothing and is committed all the same: SQLite does not write a page that stays as it is. */
      tryWrite(): void {
        addTrial.run();
        dropTrial.run();
      },
    };
  },
};

/** Prepares the statements on one database and returns what uses them. */
function prepareOutboxWrites(database: DatabaseSync) {
  const record = database.prepare(
    `INSERT INTO embedded_outbox (channel, key, recipient, at, state, text) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET state = excluded.state, at = excluded.at WHERE state = 'pending'`,
  );
  const trim = database.prepare(
    `DELETE FROM embedded_outbox WHERE id IN (
       SELECT id FROM embedded_outbox WHERE id <= (SELECT max(id) FROM embedded_outbox) - ?
       ORDER BY id LIMIT 4)`,
  );

  return {
    /** Stores the message or moves one that was pending to its new state; a settled one stays. */
    record({ message, state, at }: RecordMessage): void {
      const { channel, idempotencyKey, to, text } = message;
      record.run(channel, idempotencyKey, to, at, state, text);
      trim.run(STATE_LIMITS.maxOutboxMessages);
    },
  };
}
