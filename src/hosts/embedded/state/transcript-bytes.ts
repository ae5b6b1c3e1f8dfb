/** What the messages of isolated runs count for together. */
import { command, first, query, run, type StateTask } from "./state-task.ts";

/**
 * Bytes that a message counts for besides its text: its row and its indexes. The sum in the database is made
 * with it, so that a change takes a migration that sets the sum back.
 */
const ROW_BYTES = 200;
/** New messages that are counted at once. */
const MAX_COUNTED = 256;
const ALL = Number.MAX_SAFE_INTEGER;

/** The sum as it is in this transaction. */
export interface CountedTranscripts {
  /** The id of the last message that is in it; 0: there is none. */
  readonly through: number;
  readonly bytes: number;
  /** False when there are messages after that one. */
  readonly areAllCounted: boolean;
}

/** Bytes that one message of an isolated run counts for, when its text has that many bytes. */
export function messageBytes(textBytes: number): number {
  return ROW_BYTES + textBytes;
}

const SUM = `CAST(coalesce(sum(isolated * (octet_length(text) + ${ROW_BYTES})), 0) AS bigint)`;
const read = query(
  { through: "integer", bytes: "integer" },
  "SELECT through_id AS through, bytes FROM embedded_transcript_bytes WHERE id = 1",
);
const write = command("UPDATE embedded_transcript_bytes SET through_id = $1, bytes = $2 WHERE id = 1");
const sum = query(
  { messages: "integer", last: "integer", bytes: "integer" },
  `SELECT count(*) AS messages, max(id) AS last, ${SUM} AS bytes
   FROM (SELECT id, isolated, text FROM embedded_message WHERE id > $1 ORDER BY id LIMIT ${MAX_COUNTED}) AS m
   HAVING count(*) > 0`,
);
const loseOldest = command(
  `UPDATE embedded_transcript_bytes SET bytes = bytes - (
     SELECT ${SUM} FROM (SELECT id, isolated, text FROM embedded_message WHERE session = $1 ORDER BY id LIMIT $2) AS m
     WHERE m.id <= through_id)
   WHERE id = 1 AND through_id > 0`,
);
const LAST = "(SELECT coalesce(max(id), 0) FROM embedded_message)";
/** SQLite gives the id of the last message of all to the next one once it is gone. */
const lost = command(
  `UPDATE embedded_transcript_bytes SET bytes = bytes - $1,
     through_id = CASE WHEN through_id < ${LAST} THEN through_id ELSE ${LAST} END
   WHERE id = 1 AND through_id > 0`,
);

/**
 * The sum, to be used inside a transaction.
 *
 * It is in the database, with the id up to which messages are in it: storing one has nothing to do with it,
 * and those that are new are added when they are asked for. Anyone who removes messages says so here. `isShared`:
 * another gateway may count as well.
 */
export function transcriptBytes({ isShared }: { readonly isShared: boolean }) {
  function* load(): StateTask<{ readonly through: number; readonly bytes: number }> {
    return (yield* first(read)) ?? { through: 0, bytes: 0 };
  }
  // Without a bound, nothing is ever counted, and removing messages must cost nothing more. It is not
  // taken back when the transaction is undone: the statements see for themselves that there is nothing to do.
  let known: boolean | undefined = isShared ? true : undefined;
  function* isCounting(): StateTask<boolean> {
    return (known ??= (yield* load()).through > 0);
  }

  return {
    /** The sum without what is new. */
    *known(): StateTask<CountedTranscripts> {
      return { ...(yield* load()), areAllCounted: true };
    },

    /** Adds some of the messages that are new. */
    *addNew(): StateTask<CountedTranscripts> {
      known = true;
      const { through, bytes } = yield* load();
      const added = yield* first(sum, through);
      if (added === undefined) return { through, bytes, areAllCounted: true };
      const all = bytes + added.bytes;
      yield* run(write, added.last, all);
      return { through: added.last, bytes: all, areAllCounted: added.messages < MAX_COUNTED };
    },

    /** To be called before the oldest messages of a session are removed, but not the last of all. */
    *loseOldest(session: number, messages: number): StateTask<void> {
      if (yield* isCounting()) yield* run(loseOldest, session, messages);
    },

    /** To be called before all messages of a session are removed; `lost` comes after it. */
    *loseSession(session: number): StateTask<void> {
      if (yield* isCounting()) yield* run(loseOldest, session, ALL);
    },

    /** To be called when messages were removed, with what they counted for as far as that is not taken away. */
    *lost(bytes: number): StateTask<void> {
      if (yield* isCounting()) yield* run(lost, bytes);
    },
  };
}

export type TranscriptBytes = ReturnType<typeof transcriptBytes>;
