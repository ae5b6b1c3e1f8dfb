import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { DeliveryDetail, RunDetail } from "../../delivery.ts";
import type { DeliveryState, StoredRun } from "../delivery-store.ts";
import { type DeliveryRow, deliveryState, deliverySummary } from "./delivery-summary.ts";
import { GatheredReader } from "./gathered-reader.ts";
import { deliveryId, type DeliveryKey, runId, type RunKey } from "./public-id.ts";
import { KEPT_REPLY_CHARS } from "./run-operations.ts";
import { RUNS_PER_DELIVERY, runStateOf } from "./sqlite-codes.ts";
import {
  attemptOf,
  type AttemptRow,
  dictionaryOf,
  dueAtOf,
  isoTime,
  mayHaveBegun,
  outcomeOfRun,
  replyOf,
  RUN_COLUMNS,
  type RunRow,
  stepsOf,
} from "./stored-rows.ts";
import { restoreSpec } from "./stored-spec.ts";

/** Reads single deliveries and runs; every method is synchronous and touches a bounded number of rows. */
export class DeliveryReader {
  readonly #run: StatementSync;
  readonly #runs: StatementSync;
  readonly #attempts: StatementSync;
  readonly #delivery: StatementSync;
  readonly #request: StatementSync;
  readonly #body: StatementSync;
  readonly #credential: StatementSync;
  readonly #states: StatementSync;
  readonly #lastSeq: StatementSync;
  readonly #gathered: GatheredReader;

  constructor(reader: DatabaseSync) {
    const runsOfDelivery = `runs.id >= ?1 * ${RUNS_PER_DELIVERY} AND runs.id < (?1 + 1) * ${RUNS_PER_DELIVERY}`;
    this.#run = reader.prepare(`
      SELECT ${RUN_COLUMNS} FROM runs JOIN contents ON contents.id = runs.id WHERE runs.id = ? AND tag = ?`);
    this.#runs = reader.prepare(`
      SELECT ${RUN_COLUMNS} FROM runs JOIN contents ON contents.id = runs.id
      WHERE ${runsOfDelivery} ORDER BY runs.id`);
    this.#attempts = reader.prepare(`
      SELECT number, started_at, ended_at, status, error, reply FROM attempts WHERE run = ? ORDER BY number`);
    this.#delivery = reader.prepare("SELECT * FROM deliveries WHERE seq = ? AND tag = ?");
    this.#request = reader.prepare("SELECT headers, query, length(body) AS bytes FROM contents WHERE id = ?");
    this.#body = reader.prepare(`
      SELECT body FROM deliveries JOIN contents ON contents.id = seq * ${RUNS_PER_DELIVERY} WHERE seq = ? AND tag = ?`);
    this.#credential = reader.prepare("SELECT ended FROM deliveries WHERE seq = ? AND tag = ? AND credential = ?");
    this.#states = reader.prepare(`SELECT id, state FROM runs WHERE ${runsOfDelivery} ORDER BY id`);
    this.#gathered = new GatheredReader(reader);
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
    const attempts = this.#attemptsOf(row);
    const gathered = row.calls === null ? undefined : this.#gathered.read(key.seq, spec, row.calls);
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
      ...(gathered !== undefined && { gathered }),
    };
  }

  delivery(key: DeliveryKey): DeliveryDetail | undefined {
    const row = this.#delivery.get(key.seq, key.tag) as unknown as DeliveryRow | undefined;
    if (row === undefined) return undefined;
    const request = this.#request.get(key.seq * RUNS_PER_DELIVERY) as unknown as RequestRow | undefined;
    const runs = this.#runs.all(key.seq) as unknown as RunRow[];
    return {
      ...deliverySummary(row, runs),
      headers: dictionaryOf(request?.headers),
      query: dictionaryOf(request?.query),
      bodyBytes: request?.bytes ?? 0,
      runs: runs.map((run) => this.#runDetail(run, key.tag)),
    };
  }

  body(key: DeliveryKey): Uint8Array | undefined {
    const body = this.#body.get(key.seq, key.tag)?.["body"];
    return body instanceof Uint8Array ? body : undefined;
  }

  /** `undefined` for a delivery that is not there and for one that came with another credential, alike. */
  stateFor(key: DeliveryKey, credentialId: string): DeliveryState | undefined {
    const row = this.#credential.get(key.seq, key.tag, credentialId);
    if (row === undefined) return undefined;
    const runs = this.#states.all(key.seq) as unknown as Pick<RunRow, "id" | "state">[];
    return {
      deliveryId: deliveryId(key.seq, key.tag),
      state: deliveryState(row["ended"] as number | null, runs),
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
      delivery: outcomeOfRun(row, spec),
      dueAt: dueAt === null ? null : isoTime(dueAt),
      calls: row.calls ?? 1,
    };
  }

  #attemptsOf(row: RunRow): AttemptRow[] {
    return mayHaveBegun(row) ? (this.#attempts.all(row.id) as unknown as AttemptRow[]) : [];
  }
}

interface RequestRow {
  readonly headers: string | null;
  readonly query: string | null;
  readonly bytes: number | null;
}

/** Never leaves half of a surrogate pair. */
function cutText(text: string | null, maxChars: number): string | null {
  if (text === null || text.length <= maxChars) return text;
  const cut = text.slice(0, maxChars);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}
