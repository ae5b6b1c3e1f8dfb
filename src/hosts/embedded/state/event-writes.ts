/** The writes on system events: stored once by key, consumed once, forgotten in the end. */
import { type EnqueueEvent, type EnqueueOutcome, SESSION_LIMITS } from "../../shared/state-operations.ts";
import type { DatabaseSync } from "node:sqlite";
import { rowQuery } from "../../../storage/sqlite/engine/row-query.ts";
import type { SessionWrites } from "./session-writes.ts";

/** Old rows that one turn examines: more than it consumes, so that forgetting keeps up. */
const FORGET_STEP = 256;

/** Prepares the statements on one database and returns what uses them. */
export function prepareEventWrites(database: DatabaseSync, sessions: SessionWrites) {
  const insert = database.prepare(
    `INSERT INTO embedded_event (session, key, at, text, owner_channel, owner_to)
     VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  );
  const known = database.prepare("SELECT 1 FROM embedded_event WHERE key = ?");
  const count = database.prepare(
    "UPDATE embedded_session SET pending = pending + ?, pending_bytes = pending_bytes + ? WHERE id = ?",
  );
  const measure = rowQuery(
    database,
    { bytes: "integer" },
    "SELECT octet_length(text) AS bytes FROM embedded_event WHERE id = ? AND session = ? AND text IS NOT NULL",
  );
  const consume = database.prepare("UPDATE embedded_event SET text = NULL WHERE id = ?");
  const oldest = rowQuery(
    database,
    { id: "integer", at: "integer", consumed: "integer" },
    "SELECT id, at, text IS NULL AS consumed FROM embedded_event WHERE id > ? ORDER BY id LIMIT ?",
  );
  const forget = database.prepare("DELETE FROM embedded_event WHERE id = ?");
  // The end of the last examination, so that old events that still wait are not examined again and again.
  let looked = 0;

  return {
    enqueue(event: EnqueueEvent): EnqueueOutcome {
      const session = sessions.session(event.sessionKey, { kept: true, at: event.at });
      const bytes = Buffer.byteLength(event.text);
      if (
        session.pending >= SESSION_LIMITS.maxPendingEvents ||
        session.pendingBytes + bytes > SESSION_LIMITS.maxPendingBytes
      ) {
        return known.get(event.key) === undefined ? "full" : "duplicate";
      }
      const { owner } = event;
      const stored = insert.run(session.id, event.key, event.at, event.text, owner?.channel ?? null, owner?.to ?? null);
      if (stored.changes === 0) {
        return "duplicate";
      }
      if (owner !== undefined) sessions.setRoute(session.id, owner);
      if (event.rights !== undefined) sessions.lowerRights(session.id, event.rights);
      count.run(1, bytes, session.id);
      return "stored";
    },

    /** Takes events from a session; ids that are not pending there are passed over. */
    consume(session: number, ids: readonly number[]): void {
      for (const id of ids) {
        const found = measure.get(id, session);
        if (found !== undefined) {
          consume.run(id);
          count.run(-1, -found.bytes, session);
        }
      }
    },

    /** Forgets some keys of events that were consumed and came before the time to live. */
    forgetOldKeys(now: number): void {
      const before = now - SESSION_LIMITS.keyTtlMs;
      const rows = oldest.all(looked, FORGET_STEP);
      looked = rows.length < FORGET_STEP ? 0 : rows[rows.length - 1]!.id;
      for (const { id, at, consumed } of rows) {
        if (at >= before) {
          looked = 0;
          return;
        }
        if (consumed === 1) {
          forget.run(id);
        }
      }
    },
  };
}
