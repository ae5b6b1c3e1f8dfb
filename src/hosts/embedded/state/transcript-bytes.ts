/** What the messages of isolated runs count for together. */
import type { DatabaseSync } from "node:sqlite";
import { rowQuery } from "../../../storage/sqlite/engine/row-query.ts";

/**
 * What a message counts for besides its text: its row and what finds it. The sum in the database is made
 * with it, so that a change takes a migration that sets the sum back.
 */
const ROW_BYTES = 200;
/** New messages that are counted at once. */
const MAX_COUNTED = 256;

/** The sum as it stands in this transaction. */
export interface CountedTranscripts {
  /** The id of the last message that is in it; 0: there is none. */
  readonly through: number;
  readonly bytes: number;
  /** False when there are messages after that one. */
  readonly areAllCounted: boolean;
}

/** What one message of an isolated run counts for, when its text has that many bytes. */
export function messageBytes(textBytes: number): number {
  return ROW_BYTES + textBytes;
}

/**
 * Prepares the sum, to be used inside a transaction.
 *
 * It is in the database, with the id up to which messages are in it: storing one has nothing to do with it,
 * and those that are new are added when they are asked for. Whoever removes messages says so here.
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
  // Where there is no bound, nothing is ever counted, and removing messages shall cost nothing more. It is not
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
