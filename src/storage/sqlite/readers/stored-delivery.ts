import type { DatabaseSync } from "node:sqlite";
import type { DeliveryDetail, DeliverySummary } from "../../../core/delivery.ts";
import { type DeliveryState, MAX_COALESCED_TEXTS, type StoredRun } from "../../delivery-store.ts";
import { CALL_ROW, deliveryStateOf, REQUEST_ROW, requestOf, runDetailOf, storedRunOf } from "../../stored-values.ts";
import { ENDED_COALESCED, ENDED_DUPLICATE, RUNS_PER_DELIVERY } from "../codes.ts";
import { type RowOf, rowQuery, type RowQuery } from "../engine/row-query.ts";
import { deliveryId, type DeliveryKey, type RunKey } from "../public-id.ts";
import {
  ATTEMPT_ROW,
  type AttemptRow,
  DELIVERY_ROW,
  deliveryColumns,
  type DeliveryRow,
  deliverySummary,
  isoTime,
  mayHaveAttempts,
  RUN_COLUMNS,
  RUN_ROW,
  type RunRow,
} from "./stored-rows.ts";

/** Repeats that one delivery is shown with. */
const MAX_DUPLICATES = 10;

/** Reads single deliveries and runs; every method is synchronous and touches a bounded number of rows. */
export class StoredDeliveryReader {
  readonly #run: RowQuery<RunRow>;
  readonly #runs: RowQuery<RunRow>;
  readonly #attempts: RowQuery<AttemptRow>;
  readonly #delivery: RowQuery<DeliveryRow>;
  readonly #request: RowQuery<RowOf<typeof REQUEST_ROW>>;
  readonly #body: RowQuery<{ readonly body: Uint8Array | null }>;
  readonly #duplicates: RowQuery<Pick<DeliveryRow, "seq" | "tag" | "received_at">>;
  readonly #credential: RowQuery<Pick<DeliveryRow, "ended">>;
  readonly #states: RowQuery<Pick<RunRow, "id" | "state">>;
  readonly #lastSeq: RowQuery<{ readonly seq: number | null }>;
  readonly #calls: RowQuery<RowOf<typeof CALL_ROW>>;

  constructor(reader: DatabaseSync) {
    const runsOfDelivery = `runs.id >= ?1 * ${RUNS_PER_DELIVERY} AND runs.id < (?1 + 1) * ${RUNS_PER_DELIVERY}`;
    const ofRuns = `SELECT ${RUN_COLUMNS} FROM runs JOIN whole_contents AS contents ON contents.id = runs.id`;
    this.#run = rowQuery(reader, RUN_ROW, `${ofRuns} WHERE runs.id = ? AND tag = ?`);
    this.#runs = rowQuery(reader, RUN_ROW, `${ofRuns} WHERE ${runsOfDelivery} ORDER BY runs.id`);
    this.#attempts = rowQuery(
      reader,
      ATTEMPT_ROW,
      "SELECT number, started_at, ended_at, status, error, reply, usage, activity FROM attempts WHERE run = ? ORDER BY number",
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
    this.#duplicates = rowQuery(
      reader,
      { seq: "integer", tag: "text", received_at: "integer" },
      `SELECT seq, tag, received_at FROM deliveries WHERE related = ? AND related_tag = ?
        AND ended = ${ENDED_DUPLICATE} ORDER BY seq DESC LIMIT ${MAX_DUPLICATES}`,
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
    this.#calls = rowQuery(
      reader,
      CALL_ROW,
      `SELECT spec, text FROM deliveries CROSS JOIN whole_contents ON id = seq * ${RUNS_PER_DELIVERY}
      WHERE related = ? AND ended = ${ENDED_COALESCED} AND spec IS NOT NULL
      ORDER BY seq DESC LIMIT ${MAX_COALESCED_TEXTS}`,
    );
    this.#lastSeq = rowQuery(reader, { seq: "integer?" }, "SELECT max(seq) AS seq FROM deliveries");
  }

  /** 0 for a store that has nothing yet. */
  lastSeq(): number {
    return this.#lastSeq.get()?.seq ?? 0;
  }

  run(key: RunKey): StoredRun | undefined {
    const row = this.#run.get(key.run, key.tag);
    if (row === undefined) return undefined;
    const calls = row.calls === null || row.calls < 2 ? [] : this.#calls.iterate(key.seq);
    return storedRunOf(row, key, { attempts: this.#attemptsOf(row), calls });
  }

  delivery(key: DeliveryKey): DeliveryDetail | undefined {
    const row = this.#delivery.get(key.seq, key.tag);
    if (row === undefined) return undefined;
    const request = this.#request.get(key.seq * RUNS_PER_DELIVERY);
    const runs = this.#runs.all(key.seq);
    return {
      ...deliverySummary(row, runs),
      ...requestOf(request),
      runs: runs.map((run) => runDetailOf(run, key.tag, this.#attemptsOf(run))),
    };
  }

  body(key: DeliveryKey): Uint8Array | undefined {
    return this.#body.get(key.seq, key.tag)?.body ?? undefined;
  }

  duplicatesOf({ seq, tag }: DeliveryKey): Pick<DeliverySummary, "id" | "receivedAt">[] {
    return this.#duplicates
      .all(seq, tag)
      .map((row) => ({ id: deliveryId(row.seq, row.tag), receivedAt: isoTime(row.received_at) }));
  }

  /** `undefined` for a delivery that is not there and for one that came with another credential, alike. */
  stateFor(key: DeliveryKey, credentialId: string): DeliveryState | undefined {
    const row = this.#credential.get(key.seq, key.tag, credentialId);
    if (row === undefined) return undefined;
    return deliveryStateOf(key, row.ended, this.#states.all(key.seq));
  }

  #attemptsOf(row: RunRow): AttemptRow[] {
    return mayHaveAttempts(row) ? this.#attempts.all(row.id) : [];
  }
}
