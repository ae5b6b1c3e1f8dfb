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
const takeAll = statement({ run: "integer" }, "DELETE FROM reveille.arrivals RETURNING run");
/** By the time of their acceptance: of two calls of which one was answered before the other began, it is first. */
const readChanged = statement(
  { ...OPEN_RUN_ROW, reason: "text?" },
  `SELECT ${OPEN_RUN_COLUMNS}, r.reason FROM ${OPEN_RUN_TABLES} WHERE r.id = ANY ($1::bigint[]) ORDER BY r.id`,
);

/** Names runs to the gateway that leads, when the transaction is committed. */
export async function leaveRuns(session: Session, runs: readonly number[]): Promise<void> {
  if (runs.length > 0) await session.run(insert, runs);
}

/** Takes what others have left so far, and reads it. */
export async function takeRuns(session: Session): Promise<readonly ChangedRun[]> {
  const taken = await session.rows(takeAll);
  if (taken.length === 0) return [];
  const runs = [...new Set(taken.map(({ run }) => run))];
  const rows = await session.rows(readChanged, runs);
  return rows.map(({ reason, ...row }) => ({ ...openRunOf(row), state: runStateOf(row.state), reason }));
}

export const take: WriteOperation<undefined, readonly ChangedRun[]> = {
  keysOf: () => ["arrivals"],
  async run(session, items) {
    const taken = await takeRuns(session);
    return items.map((_, index) => (index === 0 ? taken : []));
  },
};
