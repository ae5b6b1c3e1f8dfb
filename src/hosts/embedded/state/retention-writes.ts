/** The writes of retention: transcripts of isolated runs go after their time, or when they are too many. */
import type { DatabaseSync } from "node:sqlite";
import { rowQuery, type RowOf, type RowShape } from "../../../storage/sqlite/engine/row-query.ts";
import type { ForgetRuns, ForgetRunsOutcome } from "./state-operations.ts";
import { type CountedTranscripts, messageBytes, type TranscriptBytes } from "./transcript-bytes.ts";

/** What one step looks at and takes away at most, so that the writer is held for a few milliseconds. */
const LOOKED_AT = 256;
const REMOVED_MESSAGES = 32;
const REMOVED_BYTES = 524_288;
/** Runs under way that one step passes over: to know of one takes a look at its whole session. */
const UNDER_WAY = 8;

const MESSAGE_ROW = {
  id: "integer",
  session: "integer",
  runId: "text?",
  isolated: "integer",
  role: "text",
  at: "integer",
  bytes: "integer",
} as const satisfies RowShape;
type MessageRow = RowOf<typeof MESSAGE_ROW>;

interface Choice {
  readonly gone: readonly MessageRow[];
  /** What they have been counted for. */
  readonly lost: number;
  /** Where the next step goes on. */
  readonly looked: number;
  /** True when nothing after that is to go. */
  readonly isEnd: boolean;
}

/** Prepares the statements on one database and returns what uses them. */
export function prepareRetentionWrites(database: DatabaseSync, transcripts: TranscriptBytes) {
  const oldest = rowQuery(
    database,
    MESSAGE_ROW,
    `SELECT id, session, run_id AS runId, isolated, role, at, octet_length(text) AS bytes FROM embedded_message
     WHERE id > ? ORDER BY id LIMIT ${LOOKED_AT}`,
  );
  const end = database.prepare(
    `SELECT 1 FROM embedded_message WHERE session = ? AND id > ? AND run_id = ? AND isolated = 1 AND role <> 'user'
     LIMIT 1`,
  );
  const remove = database.prepare("DELETE FROM embedded_message WHERE id = ?");
  const count = database.prepare("UPDATE embedded_session SET messages = messages - ? WHERE id = ?");
  const removeEmpty = database.prepare(
    "DELETE FROM embedded_session WHERE id = ? AND kept = 0 AND messages <= 0 AND pending = 0",
  );
  const hasEnd = ({ session, id, runId }: MessageRow) => end.get(session, id, runId) !== undefined;

  return {
    /** One step through the transcripts, from the oldest message on. */
    forgetRuns(step: ForgetRuns): ForgetRunsOutcome {
      // Without a bound there is no need to know, but what is removed is to be taken away all the same.
      const counted = step.maxBytes === null ? transcripts.known() : transcripts.addNew();
      const rows = oldest.all(step.after);
      const { gone, lost, looked, isEnd } = chooseMessages(rows, { ...step, counted, hasEnd });
      const removed = new Map<number, number>();
      for (const { id, session } of gone) {
        remove.run(id);
        removed.set(session, (removed.get(session) ?? 0) + 1);
      }
      for (const [session, messages] of removed) {
        count.run(messages, session);
        removeEmpty.run(session);
      }
      if (gone.length > 0) transcripts.lost(lost);
      return { removed: gone.length, next: isEnd && counted.areAllCounted ? null : looked };
    },
  };
}

interface ChoiceOptions extends ForgetRuns {
  readonly counted: CountedTranscripts;
  /** Whether a run, of which this is the prompt, has ended. */
  readonly hasEnd: (prompt: MessageRow) => boolean;
}

/**
 * Those of isolated runs that are old, or too many, as many as one step takes; what a session itself said
 * stays. What is not counted yet could only make them more.
 */
function chooseMessages(rows: readonly MessageRow[], options: ChoiceOptions): Choice {
  const { after, before, maxBytes, endedBefore, now, counted, hasEnd } = options;
  const gone: MessageRow[] = [];
  const excess = maxBytes === null ? 0 : counted.bytes - maxBytes;
  let [looked, bytes, lost, underWay] = [after, 0, 0, 0];
  for (const row of rows) {
    const isOld = row.at < before;
    const isExcess = lost < excess && row.id <= counted.through;
    // What follows is younger; a message from the future alone was written while the clock was wrong.
    if (!isOld && !isExcess && row.at <= now) return { gone, lost, looked, isEnd: true };
    if (row.isolated === 1 && (isOld || isExcess)) {
      const isFull = gone.length === REMOVED_MESSAGES || (gone.length > 0 && bytes + row.bytes > REMOVED_BYTES);
      if (isFull || underWay === UNDER_WAY) return { gone, lost, looked, isEnd: false };
      if (isOld || row.role !== "user" || row.at < endedBefore || hasEnd(row)) {
        gone.push(row);
        bytes += row.bytes;
        if (row.id <= counted.through) lost += messageBytes(row.bytes);
      } else {
        underWay++;
      }
    }
    looked = row.id;
  }
  return { gone, lost, looked, isEnd: rows.length === 0 };
}
