/** The writes of retention: transcripts of isolated runs go after their time, or when they are too many. */
import type { RowOf, RowShape } from "../../../storage/sqlite/engine/row-query.ts";
import type { ForgetRuns, ForgetRunsOutcome } from "./operations.ts";
import { command, first, integersOf, query, rows, run, type StateTask } from "./state-task.ts";
import { type CountedTranscripts, messageBytes, type TranscriptBytes } from "./transcript-bytes.ts";

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

const oldest = query(
  MESSAGE_ROW,
  `SELECT id, session, run_id AS "runId", isolated, role, at, octet_length(text) AS bytes FROM embedded_message
   WHERE id > $1 ORDER BY id LIMIT ${MAX_SCANNED}`,
);
const end = query(
  { one: "integer" },
  `SELECT 1 AS one FROM embedded_message WHERE session = $1 AND id > $2 AND run_id = $3 AND isolated = 1
     AND role <> 'user' LIMIT 1`,
);
const remove = command(integersOf("$1", (ids) => `DELETE FROM embedded_message WHERE id IN ${ids}`));
const count = command("UPDATE embedded_session SET messages = messages - $1 WHERE id = $2");
const removeEmpty = command(
  "DELETE FROM embedded_session WHERE id = $1 AND kept = 0 AND messages <= 0 AND pending = 0",
);

/** One step through the transcripts, from the oldest message on. */
export function* forgetRuns(step: ForgetRuns, transcripts: TranscriptBytes): StateTask<ForgetRunsOutcome> {
  // Without a bound there is no need to know, but what is removed is to be taken away all the same.
  const counted = yield* step.maxBytes === null ? transcripts.known() : transcripts.addNew();
  const choice = yield* chooseMessages(yield* rows(oldest, step.after), { ...step, counted });
  const { removed: gone, removedBytes, scannedThrough, isEnd } = choice;
  if (gone.length > 0) {
    yield* run(remove, JSON.stringify(gone.map(({ id }) => id)));
    for (const [session, messages] of Map.groupBy(gone, (message) => message.session)) {
      yield* run(count, messages.length, session);
      yield* run(removeEmpty, session);
    }
    yield* transcripts.lost(removedBytes);
  }
  return { removed: gone.length, next: isEnd && counted.areAllCounted ? null : scannedThrough };
}

interface ChoiceOptions extends ForgetRuns {
  readonly counted: CountedTranscripts;
}

/** True when a run, of which this is the prompt, has ended. */
function* hasEnd({ session, id, runId }: MessageRow): StateTask<boolean> {
  return (yield* first(end, session, id, runId)) !== undefined;
}

/**
 * Those of isolated runs that are old, or too many, as many as one step takes; what a session itself said
 * stays. What is not counted yet could only make them more.
 */
function* chooseMessages(scanned: readonly MessageRow[], options: ChoiceOptions): StateTask<Choice> {
  const { after, before, maxBytes, endedBefore, now, counted } = options;
  const gone: MessageRow[] = [];
  const excess = maxBytes === null ? 0 : counted.bytes - maxBytes;
  let [looked, bytes, lost, underWay] = [after, 0, 0, 0];
  const choice = (isEnd: boolean): Choice => ({ removed: gone, removedBytes: lost, scannedThrough: looked, isEnd });
  for (const row of scanned) {
    const isOld = row.at < before;
    const isExcess = lost < excess && row.id <= counted.through;
    // The rest is younger; only a message from the future was written while the clock was wrong.
    if (!isOld && !isExcess && row.at <= now) return choice(true);
    if (row.isolated === 1 && (isOld || isExcess)) {
      const isFull = gone.length === REMOVED_MESSAGES || (gone.length > 0 && bytes + row.bytes > REMOVED_BYTES);
      if (isFull || underWay === MAX_ACTIVE_RUNS) return choice(false);
      if (isOld || row.role !== "user" || row.at < endedBefore || (yield* hasEnd(row))) {
        gone.push(row);
        bytes += row.bytes;
        if (row.id <= counted.through) lost += messageBytes(row.bytes);
      } else {
        underWay++;
      }
    }
    looked = row.id;
  }
  return choice(scanned.length === 0);
}
