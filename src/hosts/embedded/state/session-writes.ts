/** Statements on sessions and their transcripts that several operations share. */
import { STATE_LIMITS } from "./operations.ts";
import type { MessageRole } from "./operations.ts";
import { command, first, locked, query, rows, run, type StateTask } from "./state-task.ts";
import type { TranscriptBytes } from "./transcript-bytes.ts";

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

const SESSION_ROW = { id: "integer", kept: "integer", pending: "integer", pendingBytes: "integer" } as const;
const COLUMNS = `id, kept, pending, pending_bytes AS "pendingBytes"`;
const find = query(SESSION_ROW, locked(`SELECT ${COLUMNS} FROM embedded_session WHERE key = $1`));
/** Another gateway may have made the session meanwhile. */
const insert = query(
  SESSION_ROW,
  `INSERT INTO embedded_session AS s (key, kept, created_at, active_at) VALUES ($1, $2, $3, $3)
   ON CONFLICT (key) DO UPDATE SET kept = CASE WHEN s.kept = 1 THEN 1 ELSE excluded.kept END RETURNING ${COLUMNS}`,
);
const keep = command("UPDATE embedded_session SET kept = 1 WHERE id = $1");
const countRunSessions = query({ count: "integer" }, "SELECT count(*) AS count FROM embedded_session WHERE kept = 0");
const idleRunSessions = query(
  { id: "integer" },
  "SELECT id FROM embedded_session WHERE kept = 0 ORDER BY active_at LIMIT $1",
);
const removeMessages = command("DELETE FROM embedded_message WHERE session = $1");
const removeSession = command("DELETE FROM embedded_session WHERE id = $1");
const insertMessage = command(
  `INSERT INTO embedded_message (session, run_id, isolated, role, at, text)
   VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
);
const countMessage = query(
  { messages: "integer", kept: "integer" },
  `UPDATE embedded_session SET messages = messages + $1, active_at = CASE WHEN active_at < $2 THEN $2 ELSE active_at END
   WHERE id = $3 RETURNING messages, kept`,
);
const trimMessages = command(
  `DELETE FROM embedded_message WHERE id IN (
     SELECT id FROM embedded_message WHERE session = $1 ORDER BY id LIMIT $2)`,
);
const rights = query({ rights: "text?" }, "SELECT rights FROM embedded_session WHERE id = $1");
const setRights = command("UPDATE embedded_session SET rights = $1 WHERE id = $2");
const setRoute = command("UPDATE embedded_session SET route_channel = $1, route_to = $2 WHERE id = $3");

/** The tasks on one database, for as long as it is open. */
export function sessionWrites(transcripts: TranscriptBytes) {
  let sincePruned = PRUNE_EVERY;

  function* pruneRunSessions(): StateTask<void> {
    sincePruned += 1;
    if (sincePruned <= PRUNE_EVERY) return;
    sincePruned = 1;
    const { count = 0 } = (yield* first(countRunSessions)) ?? {};
    const surplus = Math.min(count - STATE_LIMITS.maxRunSessions, 2 * PRUNE_EVERY);
    if (surplus <= 0) return;
    for (const { id } of yield* rows(idleRunSessions, surplus)) {
      yield* transcripts.loseSession(id);
      yield* run(removeMessages, id);
      yield* run(removeSession, id);
    }
    yield* transcripts.lost(0);
  }

  return {
    /** Finds or makes the session; `kept` saves it from pruning permanently. */
    *session(key: string, options: { kept: boolean; at: number }): StateTask<SessionCounts> {
      const found = yield* first(find, key);
      if (found !== undefined) {
        if (options.kept && found.kept === 0) yield* run(keep, found.id);
        return found;
      }
      if (!options.kept) yield* pruneRunSessions();
      return (yield* first(insert, key, options.kept ? 1 : 0, options.at))!;
    },

    *setRoute(session: number, { channel, to }: { channel: string; to: string }): StateTask<void> {
      yield* run(setRoute, channel, to, session);
    },

    /** Adds what a text that the session reads leaves of its agent's rights. It stays: every later turn reads what came of it. */
    *lowerRights(session: number, added: string): StateTask<void> {
      const lines = (yield* first(rights, session))?.rights?.split("\n") ?? [];
      if (lines.includes(added)) return;
      yield* run(setRights, lines.length < MAX_RIGHTS ? [...lines, added].join("\n") : NO_RIGHTS, session);
    },

    /** Adds a message and drops what is too old; false when this run's prompt was there before. */
    *addMessage(session: number, message: NewMessage): StateTask<boolean> {
      const { runId, isolated, role, at, text } = message;
      if ((yield* run(insertMessage, session, runId, isolated ? 1 : 0, role, at, text)) === 0) return false;
      const { messages = 0, kept = 0 } = (yield* first(countMessage, 1, at, session)) ?? {};
      const most = kept === 1 ? STATE_LIMITS.maxSessionMessages : STATE_LIMITS.maxRunSessionMessages;
      const surplus = Math.min(messages - most, TRIM_STEP);
      if (surplus > 0) {
        yield* transcripts.loseOldest(session, surplus);
        yield* run(trimMessages, session, surplus);
        yield* first(countMessage, -surplus, at, session);
      }
      return true;
    },
  };
}

export type SessionWrites = ReturnType<typeof sessionWrites>;
