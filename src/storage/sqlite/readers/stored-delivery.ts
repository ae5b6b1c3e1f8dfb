import type { DatabaseSync } from "node:sqlite";
import type { DeliveryDetail, RunDetail } from "../../../core/delivery.ts";
import { rowQuery, type RowOf, type RowQuery, type RowShape } from "../engine/row-query.ts";
import type { DeliveryState, StoredRun } from "../../delivery-store.ts";
import { DELIVERY_ROW, deliveryColumns, type DeliveryRow, deliveryState, deliverySummary } from "./delivery-summary.ts";
import { CoalescedCallsReader } from "./gathered-reader.ts";
import { deliveryId, type DeliveryKey, runId, type RunKey } from "../public-id.ts";
import { KEPT_REPLY_CHARS } from "../operations/run.ts";
import { RUNS_PER_DELIVERY, runStateOf } from "../codes.ts";
import {
  ATTEMPT_ROW,
  attemptOf,
  type AttemptRow,
  dictionaryOf,
  dueAtOf,
  isoTime,
  mayHaveAttempts,
  replyOutcomeOfRun,
  replyOf,
  RUN_COLUMNS,
  RUN_ROW,
  type RunRow,
  stepsOf,
} from "./stored-rows.ts";
import { restoreSpec } from "../stored-spec.ts";

/** Reads single deliveries and runs; every method is synchronous and touches a bounded number of rows. */
export class StoredDeliveryReader {
  readonly #run: RowQuery<RunRow>;
  readonly #runs: RowQuery<RunRow>;
  readonly #attempts: RowQuery<AttemptRow>;
  readonly #delivery: RowQuery<DeliveryRow>;
  readonly #request: RowQuery<RequestRow>;
  readonly #body: RowQuery<{ readonly body: Uint8Array | null }>;
  readonly #credential: RowQuery<Pick<DeliveryRow, "ended">>;
  readonly #states: RowQuery<Pick<RunRow, "id" | "state">>;
  readonly #lastSeq: RowQuery<{ readonly seq: number | null }>;
  readonly #coalesced: CoalescedCallsReader;

  constructor(reader: DatabaseSync) {
    const runsOfDelivery = `runs.id >= ?1 * ${RUNS_PER_DELIVERY} AND runs.id < (?1 + 1) * ${RUNS_PER_DELIVERY}`;
    const ofRuns = `SELECT ${RUN_COLUMNS} FROM runs JOIN contents ON contents.id = runs.id`;
    this.#run = rowQuery(reader, RUN_ROW, `${ofRuns} WHERE runs.id = ? AND tag = ?`);
    this.#runs = rowQuery(reader, RUN_ROW, `${ofRuns} WHERE ${runsOfDelivery} ORDER BY runs.id`);
    this.#attempts = rowQuery(
      reader,
      ATTEMPT_ROW,
      "SELECT number, started_at, ended_at, status, error, reply FROM attempts WHERE run = ? ORDER BY number",
    );
    this.#delivery = rowQuery(
      reader,
      DELIVERY_ROW,
      `SELECT ${deliveryColumns("deliveries")} FROM deliveries WHERE seq = ? AND tag = ?`,
    );
    this.#request = rowQuery(
      reader,
      REQUEST_ROW,
      "SELECT headers, query, length(body) AS bytes FROM contents WHERE id = ?",
    );
    this.#body = rowQuery(
      reader,
      { body: "blob?" },
      `SELECT body FROM deliveries JOIN contents ON contents.id = seq * ${RUNS_PER_DELIVERY} WHERE seq = ? AND tag = ?`,
    );
    this.#credential = rowQuery(
      reader,
      { ended: "integer?" },
      "SELECT ended FROM deliveries WHERE seq = ? AND tag = ? AND credential = ?",
    );
    this.#states = rowQuery(
      reader,
      { id: "integer", state: "integer" },
      `SELECT id, state FROM runs WHERE ${runsOfDelivery} ORDER BY id`,
    );
    this.#coalesced = new CoalescedCallsReader(reader);
    this.#lastSeq = rowQuery(reader, { seq: "integer?" }, "SELECT max(seq) AS seq FROM deliveries");
  }

  /** 0 for a store that has nothing yet. */
  lastSeq(): number {
    return this.#lastSeq.get()?.seq ?? 0;
  }

  run(key: RunKey): StoredRun | undefined {
    const row = this.#run.get(key.run, key.tag);
    if (row === undefined) return undefined;
    const spec = restoreSpec({ text: row.text, json: row.spec });
    const attempts = this.#attemptsOf(row);
    const gathered = row.calls === null ? undefined : this.#coalesced.read(key.seq, spec, row.calls);
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
      ...(gathered !== undefined && { coalesced: gathered }),
    };
  }

  delivery(key: DeliveryKey): DeliveryDetail | undefined {
    const row = this.#delivery.get(key.seq, key.tag);
    if (row === undefined) return undefined;
    const request = this.#request.get(key.seq * RUNS_PER_DELIVERY);
    const runs = this.#runs.all(key.seq);
    return {
      ...deliverySummary(row, runs),
      headers: dictionaryOf(request?.headers),
      query: dictionaryOf(request?.query),
      bodyBytes: request?.bytes ?? 0,
      runs: runs.map((run) => this.#runDetail(run, key.tag)),
    };
  }

  body(key: DeliveryKey): Uint8Array | undefined {
    return this.#body.get(key.seq, key.tag)?.body ?? undefined;
  }

  /** `undefined` for a delivery that is not there and for one that came with another credential, alike. */
  stateFor(key: DeliveryKey, credentialId: string): DeliveryState | undefined {
    const row = this.#credential.get(key.seq, key.tag, credentialId);
    if (row === undefined) return undefined;
    const runs = this.#states.all(key.seq);
    return {
      deliveryId: deliveryId(key.seq, key.tag),
      state: deliveryState(row.ended, runs),
      runs: runs.map(({ id, state }) => ({ runId: runId(id, key.tag), state: runStateOf(state) })),
    };
  }

  #runDetail(row: RunRow, tag: string): RunDetail {
    const spec = restoreSpec({ text: row.text, json: row.spec });
    const attempts = this.#attemptsOf(row);
    const dueAt = dueAtOf(row);
    return {
      id: runId(row.id, tag),
      state: runStateOf(row.state),
      reason: row.reason,
      spec,
      attempts: attempts.map(attemptOf),
      reply: cutText(replyOf(attempts), KEPT_REPLY_CHARS),
      delivery: replyOutcomeOfRun(row, spec),
      dueAt: dueAt === null ? null : isoTime(dueAt),
      calls: row.calls ?? 1,
    };
  }

  #attemptsOf(row: RunRow): AttemptRow[] {
    return mayHaveAttempts(row) ? this.#attempts.all(row.id) : [];
  }
}

const REQUEST_ROW = { headers: "text?", query: "text?", bytes: "integer?" } as const satisfies RowShape;
type RequestRow = RowOf<typeof REQUEST_ROW>;

/** Never leaves half of a surrogate pair. */
function cutText(text: string | null, maxChars: number): string | null {
  if (text === null || text.length <= maxChars) return text;
  const cut = text.slice(0, maxChars);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}
