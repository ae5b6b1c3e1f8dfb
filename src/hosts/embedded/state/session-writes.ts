/** Statements on sessions and their transcripts that several operations share. */
import type { DatabaseSync } from "node:sqlite";
import { rowQuery } from "../../../storage/sqlite/engine/row-query.ts";
import { STATE_LIMITS } from "./operations.ts";
import type { MessageRole } from "./operations.ts";
import type { TranscriptBytes } from "./retention-writes.ts";

/** A session as an operation needs to know it. */
export interface SessionCounts {
  readonly id: number;
  readonly pending: number;
  readonly pendingBytes: number;
}

export interface NewMessage {
  readonly runId: string;
  readonly isolated: boolean;
  readonly role: MessageRole;
  readonly at: number;
  readonly text: string;
}

/** Old messages that one operation removes, so that none takes long. */
const TRIM_STEP = 4;
/** Different rights that a session keeps; with more of them, nothing is left. */
const MAX_RIGHTS = 32;
const NO_RIGHTS = '{"permissions":"deny","egress":[]}';
/** New sessions after which the surplus is counted and removed: counting reads every session. */
const PRUNE_EVERY = 16;

/** Prepares the statements on one database and returns what uses them. */
export function prepareSessionWrites(database: DatabaseSync, transcripts: TranscriptBytes) {
  const find = rowQuery(
    database,
    { id: "integer", kept: "integer", pending: "integer", pendingBytes: "integer" },
    "SELECT id, kept, pending, pending_bytes AS pendingBytes FROM embedded_session WHERE key = ?",
  );
  const insert = database.prepare(
    "INSERT INTO embedded_session (key, kept, created_at, active_at) VALUES (?, ?, ?, ?)",
  );
  const keep = database.prepare("UPDATE embedded_session SET kept = 1 WHERE id = ?");
  const countRunSessions = rowQuery(
    database,
    { count: "integer" },
    "SELECT count(*) AS count FROM embedded_session WHERE kept = 0",
  );
  const idleRunSessions = rowQuery(
    database,
    { id: "integer" },
    "SELECT id FROM embedded_session WHERE kept = 0 ORDER BY active_at LIMIT ?",
  );
  const removeMessages = database.prepare("DELETE FROM embedded_message WHERE session = ?");
  const removeSession = database.prepare("DELETE FROM embedded_session WHERE id = ?");
  const insertMessage = database.prepare(
    `INSERT INTO embedded_message (session, run_id, isolated, role, at, text)
     VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  const countMessage = rowQuery(
    database,
    { messages: "integer", kept: "integer" },
    `UPDATE embedded_session SET messages = messages + ?, active_at = max(active_at, ?) WHERE id = ?
     RETURNING messages, kept`,
  );
  const trimMessages = database.prepare(
    `DELETE FROM embedded_message WHERE id IN (
       SELECT id FROM embedded_message WHERE session = ? ORDER BY id LIMIT ?)`,
  );

  const rights = rowQuery(database, { rights: "text?" }, "SELECT rights FROM embedded_session WHERE id = ?");
  const setRights = database.prepare("UPDATE embedded_session SET rights = ? WHERE id = ?");
  const setRoute = database.prepare("UPDATE embedded_session SET route_channel = ?, route_to = ? WHERE id = ?");
  let sincePruned = PRUNE_EVERY;

  function pruneRunSessions(): void {
    sincePruned += 1;
    if (sincePruned <= PRUNE_EVERY) {
      return;
    }
    sincePruned = 1;
    const { count = 0 } = countRunSessions.get() ?? {};
    const surplus = Math.min(count - STATE_LIMITS.maxRunSessions, 2 * PRUNE_EVERY);
    if (surplus <= 0) return;
    for (const { id } of idleRunSessions.all(surplus)) {
      transcripts.loseSession(id);
      removeMessages.run(id);
      removeSession.run(id);
    }
    transcripts.lost(0);
  }

  return {
    /** Finds or makes the session; `kept` saves it from pruning permanently. */
    session(key: string, options: { kept: boolean; at: number }): SessionCounts {
      const found = find.get(key);
      if (found !== undefined) {
        if (options.kept && found.kept === 0) {
          keep.run(found.id);
        }
        return found;
      }
      if (!options.kept) {
        pruneRunSessions();
      }
      const { lastInsertRowid } = insert.run(key, options.kept ? 1 : 0, options.at, options.at);
      return { id: Number(lastInsertRowid), pending: 0, pendingBytes: 0 };
    },

    setRoute(session: number, { channel, to }: { channel: string; to: string }): void {
      setRoute.run(channel, to, session);
    },

    /** Adds what a text that the session reads leaves of its agent's rights. It stays: every later turn reads what came of it. */
    lowerRights(session: number, added: string): void {
      const lines = rights.get(session)?.rights?.split("\n") ?? [];
      if (lines.includes(added)) return;
      setRights.run(lines.length < MAX_RIGHTS ? [...lines, added].join("\n") : NO_RIGHTS, session);
    },

    /** Adds a message and drops what is too old; false when this run's prompt was there before. */
    addMessage(session: number, message: NewMessage): boolean {
      const { runId, isolated, role, at, text } = message;
      if (insertMessage.run(session, runId, isolated ? 1 : 0, role, at, text).changes === 0) {
        return false;
      }
      const { messages = 0, kept = 0 } = countMessage.get(1, at, session) ?? {};
      const most = kept === 1 ? STATE_LIMITS.maxSessionMessages : STATE_LIMITS.maxRunSessionMessages;
      const surplus = Math.min(messages - most, TRIM_STEP);
      if (surplus > 0) {
        transcripts.loseOldest(session, surplus);
        trimMessages.run(session, surplus);
        countMessage.get(-surplus, at, session);
      }
      return true;
    },
  };
}

export type SessionWrites = ReturnType<typeof prepareSessionWrites>;
