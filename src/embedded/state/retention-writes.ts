/** The writes of retention: transcripts of isolated runs go after their time. */
import type { DatabaseSync } from "node:sqlite";
import type { ForgetRuns, ForgetRunsOutcome } from "./state-operations.ts";

/** What one step looks at and takes away at most, so that the writer is held for a few milliseconds. */
const LOOKED_AT = 256;
const REMOVED_MESSAGES = 32;
const REMOVED_BYTES = 524_288;

type MessageRow = {
  readonly id: number;
  readonly session: number;
  readonly isolated: number;
  readonly at: number;
  readonly bytes: number;
};

/** Prepares the statements on one database and returns what uses them. */
export function prepareRetentionWrites(database: DatabaseSync) {
  const oldest = database.prepare(
    `SELECT id, session, isolated, at, octet_length(text) AS bytes FROM embedded_message
     WHERE id > ? ORDER BY id LIMIT ${LOOKED_AT}`,
  );
  const remove = database.prepare("DELETE FROM embedded_message WHERE id = ?");
  const count = database.prepare("UPDATE embedded_session SET messages = messages - ? WHERE id = ?");
  const removeEmpty = database.prepare(
    "DELETE FROM embedded_session WHERE id = ? AND kept = 0 AND messages <= 0 AND pending = 0",
  );

  return {
    /** One step through the transcripts, from the oldest message on. */
    forgetRuns(step: ForgetRuns): ForgetRunsOutcome {
      const { gone, next } = chooseMessages(oldest.all(step.after) as MessageRow[], step);
      const removed = new Map<number, number>();
      for (const { id, session } of gone) {
        remove.run(id);
        removed.set(session, (removed.get(session) ?? 0) + 1);
      }
      for (const [session, messages] of removed) {
        count.run(messages, session);
        removeEmpty.run(session);
      }
      return { removed: gone.length, next };
    },
  };
}

/** Those of isolated runs that are old, as many as one step takes; what a session itself said stays. */
function chooseMessages(
  rows: readonly MessageRow[],
  { after, before, now }: ForgetRuns,
): { readonly gone: readonly MessageRow[]; readonly next: number | null } {
  const gone: MessageRow[] = [];
  let bytes = 0;
  let looked = after;
  for (const row of rows) {
    const isOld = row.at < before;
    // What follows is younger; a message from the future alone was written while the clock was wrong.
    if (!isOld && row.at <= now) return { gone, next: null };
    if (isOld && row.isolated === 1) {
      bytes += row.bytes;
      const isFull = gone.length === REMOVED_MESSAGES || (gone.length > 0 && bytes > REMOVED_BYTES);
      if (isFull) return { gone, next: looked };
      gone.push(row);
    }
    looked = row.id;
  }
  return { gone, next: rows.length === 0 ? null : looked };
}
