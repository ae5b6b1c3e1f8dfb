/** The OpenClaw adapter's part of the shared database file. */
import type { DatabaseSync } from "node:sqlite";
import {
  type BeginRunOutcome,
  type EnqueueEvent,
  type EnqueueOutcome,
  type RequestTurn,
  SESSION_LIMITS,
} from "../shared/state-operations.ts";
import type { Migration, SqliteModule } from "../../storage/sqlite/engine/module.ts";

/** The bounds of the adapter's state besides those of every host. */
export const OPENCLAW_LIMITS = Object.freeze({
  /** Time for which the host's session of a run is kept after its end; shorter, so that it is known until then. */
  sessionTtlMs: 3 * 24 * 60 * 60 * 1_000,
});

/** The URL of this module, for the database that loads it. */
export const OPENCLAW_MODULE_URL: URL = new URL(import.meta.url);

/** Rows that are too old are removed a few at a time, whenever one is added. */
const FORGET_STEP = 64;

/**
 * - An event whose text is NULL was consumed; its row stays for a while, for its key.
 * - What waits of a session is counted, so that no one has to count it.
 * - A run without an end was in progress when it was last heard of; one without a session left none behind.
 */
const createTables: Migration = [
  `CREATE TABLE openclaw_event (
        id INTEGER PRIMARY KEY,
        session TEXT NOT NULL,
        key TEXT NOT NULL UNIQUE,
        at INTEGER NOT NULL,
        text TEXT
      ) STRICT`,
  `CREATE INDEX openclaw_event_pending ON openclaw_event (session, id) WHERE text IS NOT NULL`,
  `CREATE INDEX openclaw_event_consumed ON openclaw_event (at) WHERE text IS NULL`,
  `CREATE TABLE openclaw_waiting (
        session TEXT PRIMARY KEY,
        events INTEGER NOT NULL,
        bytes INTEGER NOT NULL
      ) STRICT`,
  `CREATE TABLE openclaw_turn (session TEXT PRIMARY KEY, agent TEXT NOT NULL, reason TEXT NOT NULL) STRICT`,
  `CREATE TABLE openclaw_run (
        id TEXT PRIMARY KEY,
        session TEXT NOT NULL,
        at INTEGER NOT NULL,
        ended_at INTEGER
      ) STRICT`,
  `CREATE INDEX openclaw_run_ended ON openclaw_run (ended_at)`,
  `CREATE TABLE openclaw_sent (
        channel TEXT NOT NULL,
        key TEXT NOT NULL,
        parts INTEGER NOT NULL,
        at INTEGER NOT NULL,
        PRIMARY KEY (channel, key)
      ) STRICT`,
  `CREATE INDEX openclaw_sent_at ON openclaw_sent (at)`,
];

/** System events, turns that were asked for, runs and messages; each operation is one write in one commit. */
export const sqliteModule: SqliteModule = {
  name: "openclaw",
  migrations: {
    "0001-tables": createTables,
    "0002-run-session": ["CREATE INDEX openclaw_run_session ON openclaw_run (session, ended_at)"],
  },
  operations: (database) => ({ ...eventWrites(database), ...runWrites(database), ...sentWrites(database) }),
};

function eventWrites(database: DatabaseSync) {
  const insert = database.prepare(
    "INSERT INTO openclaw_event (session, key, at, text) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
  );
  const known = database.prepare("SELECT 1 FROM openclaw_event WHERE key = ?");
  const waiting = database.prepare("SELECT events, bytes FROM openclaw_waiting WHERE session = ?");
  const count = database.prepare(
    `INSERT INTO openclaw_waiting VALUES (?, ?, ?)
     ON CONFLICT (session) DO UPDATE SET events = events + excluded.events, bytes = bytes + excluded.bytes`,
  );
  const uncount = database.prepare("DELETE FROM openclaw_waiting WHERE session = ? AND events = 0");
  const measure = database.prepare(
    "SELECT octet_length(text) AS bytes FROM openclaw_event WHERE id = ? AND session = ? AND text IS NOT NULL",
  );
  const consume = database.prepare("UPDATE openclaw_event SET text = NULL WHERE id = ?");
  const forget = database.prepare(
    `DELETE FROM openclaw_event WHERE id IN
     (SELECT id FROM openclaw_event WHERE text IS NULL AND at < ? ORDER BY at LIMIT ${FORGET_STEP})`,
  );
  const setTurn = database.prepare(
    `INSERT INTO openclaw_turn VALUES (?, ?, ?)
     ON CONFLICT (session) DO UPDATE SET agent = excluded.agent, reason = excluded.reason`,
  );
  const clearTurn = database.prepare("DELETE FROM openclaw_turn WHERE session = ?");

  return {
    enqueue({ sessionKey: session, key, at, text }: EnqueueEvent): EnqueueOutcome {
      forget.run(at - SESSION_LIMITS.keyTtlMs);
      if (known.get(key) !== undefined) return "duplicate";
      const bytes = Buffer.byteLength(text);
      const before = waiting.get(session) as { events: number; bytes: number } | undefined;
      const isFull =
        before !== undefined &&
        (before.events >= SESSION_LIMITS.maxPendingEvents || before.bytes + bytes > SESSION_LIMITS.maxPendingBytes);
      if (isFull) return "full";
      insert.run(session, key, at, text);
      count.run(session, 1, bytes);
      return "stored";
    },

    /** Ids that do not wait in the session are passed over. */
    consume({ session, ids }: ConsumeEvents): void {
      for (const id of ids) {
        const found = measure.get(id, session) as { bytes: number } | undefined;
        if (found === undefined) continue;
        consume.run(id);
        count.run(session, -1, -found.bytes);
      }
      uncount.run(session);
      if (waiting.get(session) === undefined) clearTurn.run(session);
    },

    requestTurn({ sessionKey, agentId, reason }: RequestTurn): void {
      setTurn.run(sessionKey, agentId, reason);
    },
  };
}

function runWrites(database: DatabaseSync) {
  const insert = database.prepare("INSERT INTO openclaw_run (id, session, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING");
  const undo = database.prepare("DELETE FROM openclaw_run WHERE id = ? AND ended_at IS NULL");
  const forgetSession = database.prepare("UPDATE openclaw_run SET session = '' WHERE id = ?");
  const end = database.prepare("UPDATE openclaw_run SET ended_at = ? WHERE id = ?");
  const forget = database.prepare(
    `DELETE FROM openclaw_run WHERE id IN
     (SELECT id FROM openclaw_run WHERE ended_at < ? ORDER BY ended_at LIMIT ${FORGET_STEP})`,
  );

  return {
    beginRun({ id, session, at }: BeginHostRun): BeginRunOutcome {
      forget.run(at - SESSION_LIMITS.keyTtlMs);
      return insert.run(id, session, at).changes === 0 ? "repeated" : "begun";
    },

    /** The host did not begin it: its id is free again. */
    undoRun({ id }: { id: string }): void {
      undo.run(id);
    },

    endRun({ id, at }: EndHostRun): void {
      end.run(at, id);
    },

    forgetSession({ id }: { id: string }): void {
      forgetSession.run(id);
    },
  };
}

function sentWrites(database: DatabaseSync) {
  const record = database.prepare(
    "INSERT INTO openclaw_sent VALUES (?, ?, ?, ?) ON CONFLICT (channel, key) DO UPDATE SET parts = excluded.parts",
  );
  const forget = database.prepare(
    `DELETE FROM openclaw_sent WHERE (channel, key) IN
     (SELECT channel, key FROM openclaw_sent WHERE at < ? ORDER BY at LIMIT ${FORGET_STEP})`,
  );

  return {
    recordSent({ channel, key, parts, at }: RecordSent): void {
      forget.run(at - SESSION_LIMITS.keyTtlMs);
      record.run(channel, key, parts, at);
    },
  };
}

/** Events that a turn has taken; with the last one, the session's request of a turn is done. */
interface ConsumeEvents {
  readonly session: string;
  readonly ids: readonly number[];
}

interface BeginHostRun {
  readonly id: string;
  readonly session: string;
  readonly at: number;
}

interface EndHostRun {
  readonly id: string;
  readonly at: number;
}

/** The number of parts of a message that the channel took. */
interface RecordSent {
  readonly channel: string;
  readonly key: string;
  readonly parts: number;
  readonly at: number;
}
