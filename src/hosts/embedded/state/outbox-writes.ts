/** The writes on the outbox: one row for each message a channel was or is to be given. */
import type { DatabaseSync } from "node:sqlite";
import { STATE_LIMITS } from "./state-limits.ts";
import type { RecordMessage } from "./state-operations.ts";

/** Prepares the statements on one database and returns what uses them. */
export function prepareOutboxWrites(database: DatabaseSync) {
  const record = database.prepare(
    `INSERT INTO embedded_outbox (channel, key, recipient, at, state, text) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET state = excluded.state, at = excluded.at WHERE state = 'pending'`,
  );
  const trim = database.prepare(
    `DELETE FROM embedded_outbox WHERE id IN (
       SELECT id FROM embedded_outbox WHERE id <= (SELECT max(id) FROM embedded_outbox) - ?
       ORDER BY id LIMIT 4)`,
  );

  return {
    /** Stores the message or moves one that was pending to its new state; a settled one stays. */
    record({ message, state, at }: RecordMessage): void {
      const { channel, idempotencyKey, to, text } = message;
      record.run(channel, idempotencyKey, to, at, state, text);
      trim.run(STATE_LIMITS.maxOutboxMessages);
    },
  };
}
