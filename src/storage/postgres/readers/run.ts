/** Reads runs: one to be carried out, and those that are open. */
import { type Backlog, MAX_COALESCED_TEXTS, type StoredRun } from "../../delivery-store.ts";
import type { OpenRun } from "../../open-run.ts";
import { CANCELED, ENDED_COALESCED, HELD, QUEUED, RUNS_PER_DELIVERY } from "../../sqlite/codes.ts";
import type { RunKey } from "../../sqlite/public-id.ts";
import { ATTEMPT_ROW, mayHaveAttempts, RUN_COLUMNS, RUN_ROW } from "../../sqlite/readers/stored-rows.ts";
import { BACKLOG_ROW, backlogOf, CALL_ROW, OPEN_RUN_ROW, openRunOf, storedRunOf } from "../../stored-values.ts";
import { type Session, statement } from "../engine/statement.ts";

const RUNS_PER_PAGE = 500;

const readRun = statement(
  RUN_ROW,
  `SELECT ${RUN_COLUMNS} FROM reveille.runs JOIN reveille.contents ON contents.id = runs.id
  WHERE runs.id = $1 AND tag = $2`,
);
const readAttempts = statement(ATTEMPT_ROW, "SELECT * FROM reveille.attempts WHERE run = $1 ORDER BY number");
const readCalls = statement(
  CALL_ROW,
  `SELECT spec, text FROM reveille.deliveries JOIN reveille.contents ON id = seq * ${RUNS_PER_DELIVERY}
  WHERE related = $1 AND ended = ${ENDED_COALESCED} AND spec IS NOT NULL ORDER BY seq DESC LIMIT ${MAX_COALESCED_TEXTS}`,
);

export async function storedRun(session: Session, key: RunKey): Promise<StoredRun | undefined> {
  const row = await session.first(readRun, key.run, key.tag);
  if (row === undefined) return undefined;
  const attempts = mayHaveAttempts(row) ? await session.rows(readAttempts, key.run) : [];
  const calls = row.calls === null || row.calls < 2 ? [] : await session.rows(readCalls, key.seq);
  return storedRunOf(row, key, { attempts, calls });
}

/** The columns of an {@link OpenRunRow}, of {@link OPEN_RUN_TABLES}. A cancellation aborts attempts that have begun. */
export const OPEN_RUN_COLUMNS = `r.id, r.tag, lane, kind, state, due_at, expires_at, mapping_id, steps,
  CASE WHEN state = ${QUEUED} AND due_at IS NULL THEN NULL
    ELSE (SELECT max((status <> 'aborted' OR r.state = ${CANCELED})::int + (status = 'ok')::int) FROM reveille.attempts WHERE run = r.id) END AS begun`;
export const OPEN_RUN_TABLES = `reveille.runs AS r JOIN reveille.deliveries ON seq = r.id / ${RUNS_PER_DELIVERY}`;
const readOpen = statement(
  OPEN_RUN_ROW,
  `SELECT ${OPEN_RUN_COLUMNS} FROM ${OPEN_RUN_TABLES} WHERE state >= ${HELD} AND r.id > $1 AND r.id < $2 ORDER BY r.id LIMIT ${RUNS_PER_PAGE}`,
);
const readLast = statement({ seq: "integer" }, "SELECT coalesce(max(seq), 0) AS seq FROM reveille.deliveries");

/** The key below which the runs are that have been accepted so far. */
export async function endOfRuns(session: Session): Promise<number> {
  return ((await session.first(readLast))!.seq + 1) * RUNS_PER_DELIVERY;
}

/** Those whose keys are above `after` and below `end`; `undefined` when there are none. */
export async function openRunPage(
  session: Session,
  { after, end }: { readonly after: number; readonly end: number },
): Promise<{ readonly last: number; readonly runs: readonly OpenRun[] } | undefined> {
  const rows = await session.rows(readOpen, after, end);
  return rows.length === 0 ? undefined : { last: rows.at(-1)!.id, runs: rows.map(openRunOf) };
}

const readBacklog = statement(
  BACKLOG_ROW,
  `SELECT state, runs, (SELECT received_at FROM reveille.deliveries WHERE seq = oldest / ${RUNS_PER_DELIVERY}) AS oldest_at
  FROM (SELECT state, count(*) AS runs, min(id) AS oldest FROM reveille.runs WHERE state >= ${HELD} GROUP BY state) AS open`,
);

export async function backlog(session: Session): Promise<Backlog> {
  return backlogOf(await session.rows(readBacklog));
}
