/** The writes on system events: stored once by key, consumed once, forgotten in the end. */
import { type EnqueueEvent, type EnqueueOutcome, SESSION_LIMITS } from "../../shared/state-operations.ts";
import type { SessionWrites } from "./session-writes.ts";
import { command, first, integersOf, query, rows, run, type StateTask } from "./state-task.ts";

/** The part of a session's room from which on it needs a turn: what comes meanwhile still has room. */
const FILLING = 0.9;

/** Old rows that one turn examines: more than it consumes, so that forgetting keeps up. */
const FORGET_STEP = 256;

const insert = command(
  `INSERT INTO embedded_event (session, key, at, text, owner_channel, owner_to)
   VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
);
const known = query({ one: "integer" }, "SELECT 1 AS one FROM embedded_event WHERE key = $1");
const count = command(
  "UPDATE embedded_session SET pending = pending + $1, pending_bytes = pending_bytes + $2 WHERE id = $3",
);
const measure = query(
  { events: "integer", bytes: "integer" },
  integersOf(
    "$2",
    (ids) => `SELECT count(*) AS events, coalesce(sum(octet_length(text)), 0) AS bytes FROM embedded_event
      WHERE session = $1 AND text IS NOT NULL AND id IN ${ids}`,
  ),
);
const consume = command(
  integersOf("$2", (ids) => `UPDATE embedded_event SET text = NULL WHERE session = $1 AND id IN ${ids}`),
);
const oldest = query(
  { id: "integer", at: "integer", consumed: "integer" },
  `SELECT id, at, CASE WHEN text IS NULL THEN 1 ELSE 0 END AS consumed FROM embedded_event
   WHERE id > $1 ORDER BY id LIMIT $2`,
);
const forget = command(integersOf("$1", (ids) => `DELETE FROM embedded_event WHERE id IN ${ids}`));

/** The tasks on one database, for as long as it is open. */
export function eventWrites(sessions: SessionWrites) {
  // The end of the last examination, so that old events that still wait are not examined again and again.
  let looked = 0;

  return {
    /** With `leavesRoom`, a session that needs a turn counts as full: it is for callers that cannot ask for one. */
    *enqueue(event: EnqueueEvent, { leavesRoom = false } = {}): StateTask<EnqueueOutcome> {
      const session = yield* sessions.session(event.sessionKey, { kept: true, at: event.at });
      const bytes = Buffer.byteLength(event.text);
      const { maxPendingEvents, maxPendingBytes } = SESSION_LIMITS;
      const taken = Math.max(
        (session.pending + 1) / maxPendingEvents,
        (session.pendingBytes + bytes) / maxPendingBytes,
      );
      if (taken > (leavesRoom ? FILLING : 1)) {
        return (yield* first(known, event.key)) === undefined ? "full" : "duplicate";
      }
      const { owner, key, at, text } = event;
      const stored = yield* run(insert, session.id, key, at, text, owner?.channel ?? null, owner?.to ?? null);
      if (stored === 0) return "duplicate";
      if (owner !== undefined) yield* sessions.setRoute(session.id, owner);
      if (event.rights !== undefined) yield* sessions.lowerRights(session.id, event.rights);
      yield* run(count, 1, bytes, session.id);
      return taken > FILLING ? "filling" : "stored";
    },

    /** Takes events from a session; ids that are not pending there are passed over. */
    *consume(session: number, ids: readonly number[]): StateTask<void> {
      if (ids.length === 0) return;
      const list = JSON.stringify(ids);
      const { events, bytes } = (yield* first(measure, session, list))!;
      if (events === 0) return;
      yield* run(consume, session, list);
      yield* run(count, -events, -bytes, session);
    },

    /** Forgets some keys of events that were consumed and came before the time to live. */
    *forgetOldKeys(now: number): StateTask<void> {
      const before = now - SESSION_LIMITS.keyTtlMs;
      const old = yield* rows(oldest, looked, FORGET_STEP);
      const young = old.findIndex(({ at }) => at >= before);
      const examined = young === -1 ? old : old.slice(0, young);
      looked = young !== -1 || old.length < FORGET_STEP ? 0 : old.at(-1)!.id;
      const ids = examined.filter(({ consumed }) => consumed === 1).map(({ id }) => id);
      if (ids.length > 0) yield* run(forget, JSON.stringify(ids));
    },
  };
}
