import type { DatabaseSync } from "node:sqlite";
import { rowQuery, type RowOf, type RowQuery, type RowShape } from "../engine/row-query.ts";
import type { Backlog, OpenRun } from "../../delivery-store.ts";
import { runId } from "../public-id.ts";
import { HELD, QUEUED, RUNNING, RUNS_PER_DELIVERY, runStateOf, WAKE } from "../codes.ts";
import { dueAtOf, stepsOf } from "./stored-rows.ts";

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
    const byState = new Map(this.#backlog.all().map((row) => [runStateOf(row.state), row]));
    const count = (state: OpenRun["state"]): number => byState.get(state)?.runs ?? 0;
    return {
      queued: count("queued"),
      running: count("running"),
      held: count("held"),
      oldestQueuedAt: byState.get("queued")?.oldest_at ?? null,
    };
  }

  /** Those whose keys are above `after` and below `before`. */
  page(after: number, before: number): { readonly last: number; readonly runs: readonly OpenRun[] } | undefined {
    const rows = this.#page.all(after, before);
    if (rows.length === 0) return undefined;
    return { last: rows.at(-1)!.id, runs: rows.map(openRunOf) };
  }
}

const BACKLOG_ROW = { state: "integer", runs: "integer", oldest_at: "integer?" } as const satisfies RowShape;

const OPEN_RUN_ROW = {
  id: "integer",
  tag: "text",
  lane: "text",
  kind: "integer",
  state: "integer",
  due_at: "integer?",
  expires_at: "integer?",
  mapping_id: "text?",
  steps: "integer",
  /** `null`: no attempt was made; 0: no host has begun one; 1: none ended well; 2: one did. */
  begun: "integer?",
} as const satisfies RowShape;
type OpenRunRow = RowOf<typeof OPEN_RUN_ROW>;

function openRunOf(row: OpenRunRow): OpenRun {
  return {
    runId: runId(row.id, row.tag),
    mappingId: row.mapping_id,
    lane: row.lane,
    kind: row.kind === WAKE ? "wake" : "agent",
    state: runStateOf(row.state) as OpenRun["state"],
    dueAt: dueAtOf(row),
    expiresAt: row.begun === null || row.begun === 0 ? row.expires_at : null,
    begun: row.begun !== null,
    // Nothing follows a run before its summary, also when the agent has failed permanently.
    replied: row.begun === 2 || (row.begun !== null && stepsOf(row.steps).includes("summarized")),
  };
}
