/** The writes of retention: transcripts of isolated runs go after their time, or when they are too many. */
import type { DatabaseSync } from "node:sqlite";
import { type RowOf, rowQuery, type RowShape } from "../../../storage/sqlite/engine/row-query.ts";
import type { ForgetRuns, ForgetRunsOutcome } from "./operations.ts";

/**
 * Bytes that a message counts for besides its text: its row and its indexes. The sum in the database is made
 * with it, so that a change takes a migration that sets the sum back.
 */
const ROW_BYTES = 200;
/** New messages that are counted at once. */
const MAX_COUNTED = 256;

/** The sum as it is in this transaction. */
interface CountedTranscripts {
  /** The id of the last message that is in it; 0: there is none. */
  readonly through: number;
  readonly bytes: number;
  /** False when there are messages after that one. */
  readonly areAllCounted: boolean;
}

/** Bytes that one message of an isolated run counts for, when its text has that many bytes. */
function messageBytes(textBytes: number): number {
  return ROW_BYTES + textBytes;
}

/**
 * Prepares the sum, to be used inside a transaction.
 *
 * It is in the database, with the id up to which messages are in it: storing one has nothing to do with it,
 * and those that are new are added when they are asked for. Anyone who removes messages says so here.
 */
export function prepareTranscriptBytes(database: DatabaseSync) {
  const read = rowQuery(
    database,
    { through: "integer", bytes: "integer" },
    "SELECT through_id AS through, bytes FROM embedded_transcript_bytes WHERE id = 1",
  );
  const write = database.prepare("UPDATE embedded_transcript_bytes SET through_id = ?, bytes = ? WHERE id = 1");
  const sum = rowQuery(
    database,
    { messages: "integer", last: "integer", bytes: "integer" },
    `SELECT count(*) AS messages, max(id) AS last, total(isolated * (octet_length(text) + ${ROW_BYTES})) AS bytes
     FROM (SELECT id, isolated, text FROM embedded_message WHERE id > ? ORDER BY id LIMIT ${MAX_COUNTED})
     HAVING count(*) > 0`,
  );
  const loseOldest = database.prepare(
    `UPDATE embedded_transcript_bytes SET bytes = bytes - (
       SELECT total(isolated * (octet_length(text) + ${ROW_BYTES}))
       FROM (SELECT id, isolated, text FROM embedded_message WHERE session = ? ORDER BY id LIMIT ?)
       WHERE id <= through_id)
     WHERE id = 1 AND through_id > 0`,
  );
  // The id of the last message of all is given to the next one once it is gone.
  const lost = database.prepare(
    `UPDATE embedded_transcript_bytes SET bytes = bytes - ?,
       through_id = min(through_id, (SELECT coalesce(max(id), 0) FROM embedded_message))
     WHERE id = 1 AND through_id > 0`,
  );
  const load = () => read.get() ?? { through: 0, bytes: 0 };
  // Without a bound, nothing is ever counted, and removing messages must cost nothing more. It is not
  // taken back when the transaction is undone: the statements see for themselves that there is nothing to do.
  let isCounting = load().through > 0;

  return {
    /** The sum without what is new. */
    known: (): CountedTranscripts => ({ ...load(), areAllCounted: true }),

    /** Adds some of the messages that are new. */
    addNew(): CountedTranscripts {
      isCounting = true;
      const { through, bytes } = load();
      const added = sum.get(through);
      if (added === undefined) return { through, bytes, areAllCounted: true };
      const all = bytes + added.bytes;
      write.run(added.last, all);
      return { through: added.last, bytes: all, areAllCounted: added.messages < MAX_COUNTED };
    },

    /** To be called before the oldest messages of a session are removed, but not the last of all. */
    loseOldest(session: number, messages: number): void {
      if (isCounting) loseOldest.run(session, messages);
    },

    /** To be called before all messages of a session are removed; `lost` comes after it. */
    loseSession(session: number): void {
      if (isCounting) loseOldest.run(session, -1);
    },

    /** To be called when messages were removed, with what they counted for as far as that is not taken away. */
    lost(bytes: number): void {
      if (isCounting) lost.run(bytes);
    },
  };
}

export type TranscriptBytes = ReturnType<typeof prepareTranscriptBytes>;

/** The most that one step examines and removes, so that the writer is busy for a few milliseconds. */
const MAX_SCANNED = 256;
const REMOVED_MESSAGES = 32;
const REMOVED_BYTES = 524_288;
/** Runs in progress that one step passes over: to know of one takes a look at its whole session. */
const MAX_ACTIVE_RUNS = 8;

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
  readonly removed: readonly MessageRow[];
  /** Bytes that they have been counted for. */
  readonly removedBytes: number;
  /** The start of the next step. */
  readonly scannedThrough: number;
  /** True when nothing after that is to go. */
  readonly isEnd: boolean;
}

/** Prepares the statements on one database and returns what uses them. */
export function prepareRetentionWrites(database: DatabaseSync, transcripts: TranscriptBytes) {
  const oldest = rowQuery(
    database,
    MESSAGE_ROW,
    `SELECT id, session, run_id AS runId, isolated, role, at, octet_length(text) AS bytes FROM embedded_message
     WHERE id > ? ORDER BY id LIMIT ${MAX_SCANNED}`,
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
      const {
        removed: gone,
        removedBytes: lost,
        scannedThrough: looked,
        isEnd,
      } = chooseMessages(rows, { ...step, counted, hasEnd });
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
  /** True when a run, of which this is the prompt, has ended. */
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
    // The rest is younger; only a message from the future was written while the clock was wrong.
    if (!isOld && !isExcess && row.at <= now)
      return { removed: gone, removedBytes: lost, scannedThrough: looked, isEnd: true };
    if (row.isolated === 1 && (isOld || isExcess)) {
      const isFull = gone.length === REMOVED_MESSAGES || (gone.length > 0 && bytes + row.bytes > REMOVED_BYTES);
      if (isFull || underWay === MAX_ACTIVE_RUNS)
        return { removed: gone, removedBytes: lost, scannedThrough: looked, isEnd: false };
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
  return { removed: gone, removedBytes: lost, scannedThrough: looked, isEnd: rows.length === 0 };
}
