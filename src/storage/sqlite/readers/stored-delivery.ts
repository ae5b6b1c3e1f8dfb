import type { DatabaseSync } from "node:sqlite";
import type { DeliveryDetail, DeliverySummary } from "../../../core/delivery.ts";
import type { RunDetail, RunSpec } from "../../../core/run.ts";
import {
  type CoalescedCalls,
  type DeliveryState,
  MAX_COALESCED_CHARS,
  MAX_COALESCED_TEXTS,
  type StoredRun,
} from "../../delivery-store.ts";
import { ENDED_COALESCED, ENDED_DUPLICATE, RUNS_PER_DELIVERY, runStateOf } from "../codes.ts";
import { type RowOf, rowQuery, type RowQuery, type RowShape } from "../engine/row-query.ts";
import { KEPT_REPLY_CHARS } from "../operations/run.ts";
import { deliveryId, type DeliveryKey, runId, type RunKey } from "../public-id.ts";
import { restoreSpec, textOf } from "../stored-spec.ts";
import {
  ATTEMPT_ROW,
  attemptOf,
  type AttemptRow,
  DELIVERY_ROW,
  deliveryColumns,
  type DeliveryRow,
  deliveryState,
  deliverySummary,
  dictionaryOf,
  dueAtOf,
  isoTime,
  mayHaveAttempts,
  replyOf,
  replyOutcomeOfRun,
  RUN_COLUMNS,
  RUN_ROW,
  type RunRow,
  stepsOf,
  stepTimesOf,
} from "./stored-rows.ts";

/** Repeats that one delivery is shown with. */
const MAX_DUPLICATES = 10;

const CALL_ROW = { spec: "text", text: "text?" } as const satisfies RowShape;
type CallRow = RowOf<typeof CALL_ROW>;

/** Reads the calls that were coalesced into a run; the latest of them, of which no more than a bound is read. */
class CoalescedCallsReader {
  readonly #latest: RowQuery<CallRow>;

  constructor(reader: DatabaseSync) {
    this.#latest = rowQuery(
      reader,
      CALL_ROW,
      `SELECT spec, text FROM deliveries CROSS JOIN contents ON id = seq * ${RUNS_PER_DELIVERY}
      WHERE related = ? AND ended = ${ENDED_COALESCED} AND spec IS NOT NULL
      ORDER BY seq DESC LIMIT ${MAX_COALESCED_TEXTS}`,
    );
  }

  /** `undefined` when none was coalesced into the run of delivery `seq`, whose own spec is `own`. */
  read(seq: number, own: RunSpec, count: number): CoalescedCalls | undefined {
    if (count < 2) return undefined;
    let latest = own;
    const texts: string[] = [];
    let room = MAX_COALESCED_CHARS;
    /** False when there is no room for it, and so for none before it. */
    const add = (text: string): boolean => {
      room -= text.length;
      if (texts.length > 0 && room < 0) return false;
      texts.push(text);
      return texts.length < MAX_COALESCED_TEXTS;
    };
    let isRoom = true;
    for (const stored of this.#latest.iterate(seq)) {
      const spec = texts.length === 0 || stored.text === null ? restoreCall(stored) : undefined;
      if (texts.length === 0) latest = spec!;
      isRoom = add(stored.text ?? textOf(spec!));
      if (!isRoom) break;
    }
    if (isRoom) add(textOf(own));
    return { count, latest, texts: texts.toReversed() };
  }
}

function restoreCall({ spec, text }: CallRow): RunSpec {
  return restoreSpec({ json: spec, text });
}

/** Reads single deliveries and runs; every method is synchronous and touches a bounded number of rows. */
export class StoredDeliveryReader {
  readonly #run: RowQuery<RunRow>;
  readonly #runs: RowQuery<RunRow>;
  readonly #attempts: RowQuery<AttemptRow>;
  readonly #delivery: RowQuery<DeliveryRow>;
  readonly #request: RowQuery<RequestRow>;
  readonly #body: RowQuery<{ readonly body: Uint8Array | null }>;
  readonly #duplicates: RowQuery<Pick<DeliveryRow, "seq" | "tag" | "received_at">>;
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

  duplicatesOf({ seq, tag }: DeliveryKey): Pick<DeliverySummary, "id" | "receivedAt">[] {
    return this.#duplicates
      .all(seq, tag)
      .map((row) => ({ id: deliveryId(row.seq, row.tag), receivedAt: isoTime(row.received_at) }));
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
      steps: stepTimesOf(row),
      settledAt: row.settled_at === null ? null : isoTime(row.settled_at),
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
