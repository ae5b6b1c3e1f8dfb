/** The writes of the outbox. */
import { type RecordMessage, STATE_LIMITS } from "./operations.ts";
import { command, run, type StateTask } from "./state-task.ts";

const settle = command(
  "UPDATE embedded_outbox SET state = $3, at = $4 WHERE channel = $1 AND key = $2 AND state = 'pending'",
);
const add = command(
  `INSERT INTO embedded_outbox (channel, key, recipient, at, state, text) VALUES ($1, $2, $3, $4, $5, $6)
   ON CONFLICT DO NOTHING`,
);
const trim = command(
  `DELETE FROM embedded_outbox WHERE id IN (
     SELECT id FROM embedded_outbox WHERE id <= (SELECT max(id) FROM embedded_outbox) - $1 ORDER BY id LIMIT 4)`,
);

/** Stores the message or moves one that was pending to its new state; a settled one stays. */
export function* recordMessage({ message, state, at }: RecordMessage): StateTask<void> {
  const { channel, idempotencyKey, to, text } = message;
  if ((yield* run(settle, channel, idempotencyKey, state, at)) > 0) return;
  yield* run(add, channel, idempotencyKey, to, at, state, text);
  yield* run(trim, STATE_LIMITS.maxOutboxMessages);
}
