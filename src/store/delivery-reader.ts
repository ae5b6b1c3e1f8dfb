import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { DeliveryDetail, RunDetail } from "../delivery.ts";
import type { OpenRun, StoredRun } from "./delivery-store.ts";
import { deliveryId, type DeliveryKey, runId, type RunKey } from "./public-id.ts";
import { KEPT_REPLY_CHARS } from "./run-operations.ts";
import { HELD, QUEUED, RUNNING, RUNS_PER_DELIVERY, runStateOf, WAKE } from "./sqlite-codes.ts";
import { deliverySummary, type DeliveryRow } from "./delivery-summary.ts";
import { restoreSpec } from "./stored-spec.ts";
import {
  attemptOf,
  type AttemptRow,
  dictionaryOf,
  outcomeOfRun,
  replyOf,
  type RunRow,
  stepsOf,
} from "./stored-rows.ts";

const OPEN_RUNS_PER_PAGE = 500;

/** Reads single deliveries and runs; every method is synchronous and touches a bounded number of rows. */
export class DeliveryReader {
  readonly #run: StatementSync;
  readonly #runs: StatementSync;
  readonly #attempts: StatementSync;
  readonly #delivery: StatementSync;
  readonly #request: StatementSync;
  readonly #body: StatementSync;
  readonly #openRuns: StatementSync;
  readonly #lastSeq: StatementSync;

  constructor(reader: DatabaseSync) {
    const runColumns = "runs.id, lane, state, steps, outcome, reason, spec, text";
    this.#run = reader.prepare(`
      SELECT ${runColumns} FROM runs JOIN contents ON contents.id = runs.id WHERE runs.id = ? AND tag = ?`);
    this.#runs = reader.prepare(`
      SELECT ${runColumns} FROM runs JOIN contents ON contents.id = runs.id
      WHERE runs.id >= ?1 * ${RUNS_PER_DELIVERY} AND runs.id < (?1 + 1) * ${RUNS_PER_DELIVERY} ORDER BY runs.id`);
    this.#attempts = reader.prepare(`
      SELECT number, started_at, ended_at, status, error, reply FROM attempts WHERE run = ? ORDER BY number`);
    this.#delivery = reader.prepare("SELECT * FROM deliveries WHERE seq = ? AND tag = ?");
    this.#request = reader.prepare("SELECT headers, query, length(body) AS bytes FROM contents WHERE id = ?");
    this.#body = reader.prepare(`
      SELECT body FROM deliveries JOIN contents ON contents.id = seq * ${RUNS_PER_DELIVERY} WHERE seq = ? AND tag = ?`);
    const openIn = (state: number) => `
      SELECT * FROM (SELECT id, tag, lane, kind, state FROM runs
        WHERE state = ${state} AND state > 0 AND id > ?1 AND id < ?2 ORDER BY id LIMIT ${OPEN_RUNS_PER_PAGE})`;
    this.#openRuns = reader.prepare(`
      ${[QUEUED, RUNNING, HELD].map(openIn).join(" UNION ALL ")} ORDER BY id LIMIT ${OPEN_RUNS_PER_PAGE}`);
    this.#lastSeq = reader.prepare("SELECT max(seq) AS seq FROM deliveries");
  }

  /** 0 for a store that has nothing yet. */
  lastSeq(): number {
    return Number(this.#lastSeq.get()?.["seq"] ?? 0);
  }

  run(key: RunKey): StoredRun | undefined {
    const row = this.#run.get(key.run, key.tag) as unknown as RunRow | undefined;
    if (row === undefined) return undefined;
    const spec = restoreSpec({ text: row.text, json: row.spec });
    // A queued run has made no attempt.
    const attempts = row.state === QUEUED ? [] : this.#attemptsOf(row.id);
    return {
      runId: runId(row.id, key.tag),
      deliveryId: deliveryId(key.seq, key.tag),
      lane: row.lane,
      state: runStateOf(row.state),
      spec,
      attempts: attempts.map(attemptOf),
      reply: replyOf(attempts),
      steps: stepsOf(row.steps),
      delivery: outcomeOfRun(row, spec),
    };
  }

  delivery(key: DeliveryKey): DeliveryDetail | undefined {
    const row = this.#delivery.get(key.seq, key.tag) as unknown as DeliveryRow | undefined;
    if (row === undefined) return undefined;
    const request = this.#request.get(key.seq * RUNS_PER_DELIVERY) as unknown as RequestRow;
    const runs = this.#runs.all(key.seq) as unknown as RunRow[];
    return {
      ...deliverySummary(row, runs),
      headers: dictionaryOf(request.headers),
      query: dictionaryOf(request.query),
      bodyBytes: request.bytes,
      runs: runs.map((run) => this.#runDetail(run, key.tag)),
    };
  }

  body(key: DeliveryKey): Uint8Array | undefined {
    const body = this.#body.get(key.seq, key.tag)?.["body"];
    return body instanceof Uint8Array ? body : undefined;
  }

  /** The next open runs in order of acceptance: keys above `after` and below `before`. */
  openRuns(after: number, before: number): { readonly last: number; readonly runs: readonly OpenRun[] } | undefined {
    const rows = this.#openRuns.all(after, before) as unknown as OpenRunRow[];
    if (rows.length === 0) return undefined;
    return { last: rows.at(-1)!.id, runs: rows.map(openRunOf) };
  }

  #runDetail(row: RunRow, tag: string): RunDetail {
    const spec = restoreSpec({ text: row.text, json: row.spec });
    const attempts = row.state === QUEUED ? [] : this.#attemptsOf(row.id);
    return {
      id: runId(row.id, tag),
      state: runStateOf(row.state),
      reason: row.reason,
      spec,
      attempts: attempts.map(attemptOf),
      reply: cutText(replyOf(attempts), KEPT_REPLY_CHARS),
      delivery: outcomeOfRun(row, spec),
    };
  }

  #attemptsOf(run: number): AttemptRow[] {
    return this.#attempts.all(run) as unknown as AttemptRow[];
  }
}

interface RequestRow {
  readonly headers: string;
  readonly query: string;
  readonly bytes: number;
}

interface OpenRunRow {
  readonly id: number;
  readonly tag: string;
  readonly lane: string;
  readonly kind: number;
  readonly state: number;
}

function openRunOf(row: OpenRunRow): OpenRun {
  return {
    runId: runId(row.id, row.tag),
    lane: row.lane,
    kind: row.kind === WAKE ? "wake" : "agent",
    state: runStateOf(row.state) as OpenRun["state"],
  };
}

/** Never leaves half of a surrogate pair. */
function cutText(text: string | null, maxChars: number): string | null {
  if (text === null || text.length <= maxChars) return text;
  const cut = text.slice(0, maxChars);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}
