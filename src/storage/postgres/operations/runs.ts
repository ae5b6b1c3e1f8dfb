/** The writes of a run after its acceptance. A settled run stays settled, and begins no attempt. */
import { RUN_STEPS } from "../../../core/run.ts";
import { CANCELED, FAILED, HELD, QUEUED, RUNNING, SKIPPED, STEP_COLUMNS } from "../../sqlite/codes.ts";
import type { RunKey } from "../../sqlite/public-id.ts";
import { KEPT_REPLY_CHARS } from "../../stored-values.ts";
import { type Session, type Statement, statement } from "../engine/statement.ts";
import type { WriteOperation } from "../engine/write-group.ts";
import { leaveRuns } from "./arrivals.ts";
import { columnsOf } from "./insert.ts";
import { abortAttempts, endSkipped, releaseFailed } from "./run-ends.ts";

const CHANGED = { run: "integer" } as const;
type Changed = Statement<{ readonly run: number }>;
type Cell = string | number | null;

/** A run, and what is written of it. */
export interface RunChange {
  readonly key: RunKey;
  readonly values: readonly Cell[];
}

/** A write of many runs by one statement, which returns the runs that it has changed. */
function changes(statement: Changed): WriteOperation<RunChange, boolean> {
  return {
    keysOf: ({ key }) => [key.run],
    async run(session, items) {
      const cells = items.map(({ key, values }) => [key.run, key.tag, ...values]);
      const changed = new Set((await session.rows(statement, ...columnsOf(cells))).map(({ run }) => run));
      return items.map(({ key }) => changed.has(key.run));
    },
  };
}

/** Items of a statement: the run's id and tag, and `columns` with their types. */
function items(...columns: readonly (readonly [name: string, type: string])[]): string {
  const all = [["id", "bigint"], ["tag", "text"], ...columns] as const;
  const arrays = all.map(([, type], index) => `$${index + 1}::${type}[]`).join(", ");
  return `item AS (SELECT * FROM unnest(${arrays}) AS t (${all.map(([name]) => name).join(", ")}))`;
}

/** Ends the coalescing of calls into the runs that were changed. */
const stop = "stopped AS (DELETE FROM reveille.coalescing WHERE run IN (SELECT id FROM changed))";
const isItem = "r.id = item.id AND r.tag = item.tag";

export const beginAttempt = changes(
  statement(
    CHANGED,
    `WITH ${items(["number", "int"], ["started_at", "bigint"])},
    changed AS (UPDATE reveille.runs AS r SET state = ${RUNNING}, reason = NULL, due_at = NULL FROM item
      WHERE ${isItem} AND r.state >= ${HELD} RETURNING r.id),
    ${stop}
    INSERT INTO reveille.attempts (run, number, started_at, status)
    SELECT id, number, started_at, 'running' FROM item JOIN changed USING (id)
    ON CONFLICT (run, number) DO UPDATE SET started_at = excluded.started_at, ended_at = NULL, status = 'running',
      error = NULL, reply = NULL, usage = NULL, activity = NULL
    RETURNING run`,
  ),
);

export const endAttempt = changes(
  statement(
    CHANGED,
    `WITH ${items(["ended_at", "bigint"], ["status", "text"], ["error", "text"], ["reply", "text"], ["usage", "text"], ["activity", "text"])},
    ended AS (DELETE FROM reveille.turns AS t USING item WHERE t.run = item.id)
    UPDATE reveille.attempts AS a SET ended_at = item.ended_at, status = item.status, error = item.error,
      reply = item.reply, usage = item.usage, activity = item.activity
    FROM item JOIN reveille.runs AS r ON ${isItem}
    WHERE a.run = item.id AND a.number = (SELECT max(number) FROM reveille.attempts WHERE run = item.id)
    RETURNING a.run`,
  ),
);

const stepTimes = RUN_STEPS.map(
  (step, index) =>
    `${STEP_COLUMNS[step]} = CASE WHEN item.step = ${index} THEN item.at ELSE r.${STEP_COLUMNS[step]} END`,
);

export const recordStep = changes(
  statement(
    CHANGED,
    `WITH ${items(["step", "int"], ["outcome", "int"], ["at", "bigint"])}
    UPDATE reveille.runs AS r SET steps = r.steps | (1 << item.step), outcome = coalesce(item.outcome, r.outcome),
      ${stepTimes.join(", ")}
    FROM item WHERE ${isItem} RETURNING r.id AS run`,
  ),
);

const putBack = (set: string, ...columns: readonly (readonly [string, string])[]) =>
  changes(
    statement(
      CHANGED,
      `WITH ${items(...columns)},
      changed AS (UPDATE reveille.runs AS r SET ${set} FROM item WHERE ${isItem} AND r.state >= ${HELD} RETURNING r.id),
      ${stop}
      SELECT id AS run FROM changed`,
    ),
  );

export const postpone = putBack(
  `state = ${QUEUED}, due_at = item.due_at, reason = item.reason`,
  ["due_at", "bigint"],
  ["reason", "text"],
);
/** Of a run that was held: the gateway that carries it out finds it. */
export const postponeAndLeave: WriteOperation<RunChange, boolean> = {
  ...postpone,
  async run(session, items) {
    const changed = await postpone.run(session, items);
    await leaveRuns(
      session,
      items.filter((_, index) => changed[index]).map(({ key }) => key.run),
    );
    return changed;
  },
};
export const hold = putBack(`state = ${HELD}, reason = item.reason`, ["reason", "text"]);

/** After a restart the run keeps its place in the queue; a run with a due time would be postponed instead. */
export const stopCoalescing = changes(
  statement(
    CHANGED,
    `WITH ${items()},
    changed AS (SELECT r.id FROM reveille.runs AS r JOIN item ON ${isItem} FOR UPDATE OF r),
    ${stop},
    due AS (UPDATE reveille.runs AS r SET due_at = NULL FROM changed WHERE r.id = changed.id AND r.state = ${QUEUED}
      AND NOT EXISTS (SELECT 1 FROM reveille.attempts WHERE run = r.id))
    SELECT id AS run FROM changed`,
  ),
);

/** Runs that end alike. */
export interface RunEnds {
  readonly keys: readonly RunKey[];
  readonly state: number;
  readonly reason: string | null;
  readonly at: number | null;
}

const existing = statement(
  CHANGED,
  `WITH ${items()} SELECT r.id AS run FROM reveille.runs AS r JOIN item ON ${isItem}`,
);
const end = statement(
  CHANGED,
  `WITH ${items(["state", "int"], ["reason", "text"], ["settled_at", "bigint"])},
  changed AS (UPDATE reveille.runs AS r SET state = item.state, reason = item.reason, settled_at = item.settled_at,
    overlap = NULL FROM item WHERE ${isItem} AND r.state >= ${HELD} RETURNING r.id),
  ${stop},
  cut AS (UPDATE reveille.attempts SET reply = left(reply, ${KEPT_REPLY_CHARS})
    WHERE run IN (SELECT id FROM changed) AND length(reply) > ${KEPT_REPLY_CHARS})
  SELECT id AS run FROM changed`,
);

/** All runs of an item are settled or, if one is unknown, none; then its index is the result. */
export const settle: WriteOperation<RunEnds, number | undefined> = {
  keysOf: ({ keys }) => keys.map(({ run }) => run),
  run: settleAll,
};

/** By a gateway that does not carry them out: the one that does finds them. */
export const settleAndLeave: WriteOperation<RunEnds, number | undefined> = {
  ...settle,
  async run(session, ends) {
    const failed = await settleAll(session, ends);
    await leaveRuns(
      session,
      ends.flatMap(({ keys }, index) => (failed[index] === undefined ? keys : [])).map(({ run }) => run),
    );
    return failed;
  },
};

async function settleAll(session: Session, ends: readonly RunEnds[]): Promise<(number | undefined)[]> {
  const all = ends.flatMap(({ keys }) => keys);
  if (all.length === 0) return ends.map(() => undefined);
  const found = await session.rows(existing, ...columnsOf(all.map(({ run, tag }) => [run, tag])));
  const known = new Set(found.map(({ run }) => run));
  const failed = ends.map(({ keys }) => keys.findIndex(({ run }) => !known.has(run)));
  await endRuns(
    session,
    ends.filter((_, index) => failed[index] === -1),
  );
  return failed.map((index) => (index === -1 ? undefined : index));
}

async function endRuns(session: Session, ends: readonly RunEnds[]): Promise<void> {
  const rows = ends.flatMap(({ keys, state, reason, at }) => {
    // One that is named twice ends once.
    const unique = [...new Map(keys.map((key) => [key.run, key])).values()];
    return unique.map(({ run, tag }) => [run, tag, state, reason, at]);
  });
  if (rows.length === 0) return;
  const changed = new Set((await session.rows(end, ...columnsOf(rows))).map(({ run }) => run));
  const changedOf = ({ keys }: RunEnds) => keys.map(({ run }) => run).filter((run) => changed.has(run));
  await releaseFailed(session, ends.filter(({ state }) => state === FAILED).flatMap(changedOf));
  for (const undone of ends.filter(({ state }) => state === CANCELED || state === SKIPPED)) {
    await abortAttempts(session, changedOf(undone), undone);
    if (undone.state === SKIPPED) await endSkipped(session, changedOf(undone), undone.reason);
  }
}
