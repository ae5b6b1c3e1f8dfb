/** What a gateway leaves for the one that carries out the runs: which runs it has accepted, moved or ended. */
import type { ChangedRun } from "../../shared-store.ts";
import { runStateOf } from "../../sqlite/codes.ts";
import { OPEN_RUN_ROW, openRunOf } from "../../stored-values.ts";
import { command, type Session, statement } from "../engine/statement.ts";
import type { WriteOperation } from "../engine/write-group.ts";
import { OPEN_RUN_COLUMNS, OPEN_RUN_TABLES } from "../readers/run.ts";

/** The gateway that leads listens there. */
export const CHANNEL = "reveille_arrivals";

const insert = command(`
  WITH arrived AS (INSERT INTO reveille.arrivals (run) SELECT unnest($1::bigint[]))
  SELECT pg_notify('${CHANNEL}', '')`);
export const TAKE_ALL = "DELETE FROM reveille.arrivals RETURNING run";
const takeAll = statement({ run: "integer" }, TAKE_ALL);
/** By the time of their acceptance: of two calls of which one was answered before the other began, it is first. */
const readChanged = statement(
  { ...OPEN_RUN_ROW, reason: "text?" },
  `SELECT ${OPEN_RUN_COLUMNS}, r.reason FROM ${OPEN_RUN_TABLES} WHERE r.id = ANY ($1::bigint[]) ORDER BY r.id`,
);

/** Names runs to the gateway that leads, when the transaction is committed. */
export async function leaveRuns(session: Session, runs: readonly number[]): Promise<void> {
  if (runs.length > 0) await session.run(insert, runs);
}

/** Reads runs that were taken. */
export async function readTaken(session: Session, runs: readonly number[]): Promise<readonly ChangedRun[]> {
  if (runs.length === 0) return [];
  const rows = await session.rows(readChanged, [...new Set(runs)]);
  return rows.map(({ reason, ...row }) => ({ ...openRunOf(row), state: runStateOf(row.state), reason }));
}

/** Takes what others have left so far, and reads it. */
export const take: WriteOperation<undefined, readonly ChangedRun[]> = {
  // Those who look at the same time share one look.
  keysOf: () => [],
  async run(session, items) {
    const runs = (await session.rows(takeAll)).map(({ run }) => run);
    const taken = await readTaken(session, runs);
    return items.map((_, index) => (index === 0 ? taken : []));
  },
};
