import type { DatabaseSync } from "node:sqlite";
import { setImmediate as nextTurn } from "node:timers/promises";
import { rowQuery, type RowOf, type RowQuery } from "../engine/row-query.ts";
import type { Backlog } from "../../delivery-store.ts";
import type { OpenRun } from "../../open-run.ts";
import { BACKLOG_ROW, backlogOf, OPEN_RUN_ROW, openRunOf, type OpenRunRow } from "../../stored-values.ts";
import { HELD, QUEUED, RUNNING, RUNS_PER_DELIVERY } from "../codes.ts";
import { reading } from "../operational-state.ts";

const RUNS_PER_PAGE = 500;

/** Reads open runs in order of acceptance, a page at a time; settled ones cost nothing. */
export class OpenRunReader {
  readonly #page: RowQuery<OpenRunRow>;
  readonly #backlog: RowQuery<RowOf<typeof BACKLOG_ROW>>;

  constructor(reader: DatabaseSync) {
    const columns = "id, tag, lane, kind, state, due_at, expires_at, steps";
    const openIn = (state: number) => `
      SELECT * FROM (SELECT ${columns} FROM runs
        WHERE state = ${state} AND state > 0 AND id > ?1 AND id < ?2 ORDER BY id LIMIT ${RUNS_PER_PAGE})`;
    // Attempts are looked for only where there can be any: see mayHaveAttempts.
    this.#page = rowQuery(
      reader,
      OPEN_RUN_ROW,
      `SELECT open.*, mapping_id, CASE WHEN state = ${QUEUED} AND due_at IS NULL THEN NULL
        ELSE (SELECT max((status <> 'aborted') + (status = 'ok')) FROM attempts WHERE run = open.id) END AS begun
      FROM (${[QUEUED, RUNNING, HELD].map(openIn).join(" UNION ALL ")} ORDER BY id LIMIT ${RUNS_PER_PAGE}) AS open
      CROSS JOIN deliveries ON seq = open.id / ${RUNS_PER_DELIVERY}`,
    );
    this.#backlog = rowQuery(
      reader,
      BACKLOG_ROW,
      `SELECT state, runs, (SELECT received_at FROM deliveries WHERE seq = oldest / ${RUNS_PER_DELIVERY}) AS oldest_at
      FROM (SELECT state, count(*) AS runs, min(id) AS oldest FROM runs
        WHERE state > 0 AND state >= ${HELD} GROUP BY state)`,
    );
  }

  /** Reads an index over the open runs alone. */
  backlog(): Backlog {
    return backlogOf(this.#backlog.all());
  }

  /** Those whose keys are below `end`. `check` throws once the store is closed. */
  async *before(end: number, check: () => void): AsyncGenerator<OpenRun> {
    let after = 0;
    for (;;) {
      check();
      const rows = reading(() => this.#page.all(after, end));
      if (rows.length === 0) return;
      yield* rows.map(openRunOf);
      after = rows.at(-1)!.id;
      await nextTurn();
    }
  }
}
