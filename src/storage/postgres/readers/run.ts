/** Reads runs: one to be carried out, and those that are open. */
import type { RunSpec } from "../../../core/run.ts";
import {
  type Backlog,
  type CoalescedCalls,
  MAX_COALESCED_CHARS,
  MAX_COALESCED_TEXTS,
  type OpenRun,
  type StoredRun,
} from "../../delivery-store.ts";
import { ENDED_COALESCED, HELD, QUEUED, RUNS_PER_DELIVERY, runStateOf, WAKE } from "../../sqlite/codes.ts";
import type { RowOf, RowShape } from "../../sqlite/engine/row-query.ts";
import { deliveryId, runId, type RunKey } from "../../sqlite/public-id.ts";
import {
  ATTEMPT_ROW,
  attemptOf,
  dueAtOf,
  mayHaveAttempts,
  replyOf,
  replyOutcomeOfRun,
  RUN_COLUMNS,
  RUN_ROW,
  stepsOf,
} from "../../sqlite/readers/stored-rows.ts";
import { restoreSpec, textOf } from "../../sqlite/stored-spec.ts";
import { type Session, statement } from "../engine/statement.ts";

const RUNS_PER_PAGE = 500;

const readRun = statement(
  RUN_ROW,
  `SELECT ${RUN_COLUMNS} FROM reveille.runs JOIN reveille.contents ON contents.id = runs.id
  WHERE runs.id = $1 AND tag = $2`,
);
const readAttempts = statement(ATTEMPT_ROW, "SELECT * FROM reveille.attempts WHERE run = $1 ORDER BY number");
const CALL = { spec: "text", text: "text?" } as const satisfies RowShape;
const readCalls = statement(
  CALL,
  `SELECT spec, text FROM reveille.deliveries JOIN reveille.contents ON id = seq * ${RUNS_PER_DELIVERY}
  WHERE related = $1 AND ended = ${ENDED_COALESCED} AND spec IS NOT NULL ORDER BY seq DESC LIMIT ${MAX_COALESCED_TEXTS}`,
);

export async function storedRun(session: Session, key: RunKey): Promise<StoredRun | undefined> {
  const row = await session.first(readRun, key.run, key.tag);
  if (row === undefined) return undefined;
  const spec = restoreSpec({ text: row.text, json: row.spec });
  const attempts = mayHaveAttempts(row) ? await session.rows(readAttempts, key.run) : [];
  const isCoalesced = row.calls !== null && row.calls > 1;
  return {
    runId: runId(row.id, key.tag),
    deliveryId: deliveryId(key.seq, key.tag),
    lane: row.lane,
    state: runStateOf(row.state),
    spec,
    attempts: attempts.map(attemptOf),
    reply: replyOf(attempts),
    steps: stepsOf(row.steps),
    replyOutcome: replyOutcomeOfRun(row, spec),
    ...(isCoalesced && {
      coalesced: coalescedCalls(await session.rows(readCalls, key.seq), spec, row.calls),
    }),
  };
}

/** The latest calls first, as many as there is room for. */
function coalescedCalls(calls: readonly RowOf<typeof CALL>[], own: RunSpec, count: number): CoalescedCalls {
  const specs = calls.map(({ spec, text }) => restoreSpec({ json: spec, text }));
  const texts: string[] = [];
  let room = MAX_COALESCED_CHARS;
  for (const text of [...specs, own].map(textOf)) {
    room -= text.length;
    if (texts.length === MAX_COALESCED_TEXTS || (texts.length > 0 && room < 0)) break;
    texts.push(text);
  }
  return { count, latest: specs[0] ?? own, texts: texts.toReversed() };
}

const OPEN_RUN = {
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
const readOpen = statement(
  OPEN_RUN,
  `SELECT r.id, r.tag, lane, kind, state, due_at, expires_at, mapping_id, steps, CASE WHEN state = ${QUEUED} AND due_at IS NULL
    THEN NULL ELSE (SELECT max((status <> 'aborted')::int + (status = 'ok')::int) FROM reveille.attempts WHERE run = r.id) END AS begun
  FROM reveille.runs AS r JOIN reveille.deliveries ON seq = r.id / ${RUNS_PER_DELIVERY}
  WHERE state >= ${HELD} AND r.id > $1 AND r.id < $2 ORDER BY r.id LIMIT ${RUNS_PER_PAGE}`,
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

function openRunOf(row: RowOf<typeof OPEN_RUN>): OpenRun {
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

const readBacklog = statement(
  { state: "integer", runs: "integer", oldest_at: "integer?" },
  `SELECT state, runs, (SELECT received_at FROM reveille.deliveries WHERE seq = oldest / ${RUNS_PER_DELIVERY}) AS oldest_at
  FROM (SELECT state, count(*) AS runs, min(id) AS oldest FROM reveille.runs WHERE state >= ${HELD} GROUP BY state) AS open`,
);

export async function backlog(session: Session): Promise<Backlog> {
  const byState = new Map((await session.rows(readBacklog)).map((row) => [runStateOf(row.state), row]));
  const count = (state: OpenRun["state"]): number => byState.get(state)?.runs ?? 0;
  return {
    queued: count("queued"),
    running: count("running"),
    held: count("held"),
    oldestQueuedAt: byState.get("queued")?.oldest_at ?? null,
  };
}
