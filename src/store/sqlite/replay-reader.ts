import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { DeliverySummary } from "../../delivery.ts";
import type { Replayable, ReplayableRun } from "../delivery-store.ts";
import { type DeliveryRow, deliveryState } from "./delivery-summary.ts";
import { deliveryId, type DeliveryKey, runId } from "./public-id.ts";
import { ENDED_COALESCED, RUNS_PER_DELIVERY, runStateOf, SKIPPED } from "./sqlite-codes.ts";
import { dictionaryOf } from "./stored-rows.ts";
import { restoreSpec } from "./stored-spec.ts";

const MAX_MEMBERS = 10_000;
const MAX_REPLAYS = 10;

/** Reads what a replay of a delivery needs, and which ones there are. */
export class ReplayReader {
  readonly #delivery: StatementSync;
  readonly #runs: StatementSync;
  readonly #joined: StatementSync;
  readonly #members: StatementSync;
  readonly #tag: StatementSync;
  readonly #replays: StatementSync;
  readonly #states: StatementSync;

  constructor(reader: DatabaseSync) {
    const runsOfDelivery = `runs.id >= ?1 * ${RUNS_PER_DELIVERY} AND runs.id < (?1 + 1) * ${RUNS_PER_DELIVERY}`;
    this.#delivery = reader.prepare(`
      SELECT deliveries.*, spec, text, headers, query, body
      FROM deliveries LEFT JOIN contents ON id = seq * ${RUNS_PER_DELIVERY} WHERE seq = ? AND tag = ?`);
    this.#runs = reader.prepare(`
      SELECT runs.id, state, lane, spec, text FROM runs JOIN contents ON contents.id = runs.id
      WHERE ${runsOfDelivery} ORDER BY runs.id`);
    this.#joined = reader.prepare(`SELECT lane, state FROM runs WHERE id = ?`);
    this.#members = reader.prepare(`
      SELECT seq, tag FROM deliveries WHERE related = ? AND ended = ${ENDED_COALESCED}
      ORDER BY seq LIMIT ${MAX_MEMBERS}`);
    this.#tag = reader.prepare("SELECT tag FROM deliveries WHERE seq = ?");
    this.#replays = reader.prepare(`
      SELECT seq, tag, ended FROM deliveries WHERE replayed = ?1 AND (related <> ?1 OR related_tag = ?2)
      ORDER BY seq DESC LIMIT ${MAX_REPLAYS}`);
    this.#states = reader.prepare(`SELECT state FROM runs WHERE ${runsOfDelivery}`);
  }

  read(key: DeliveryKey): Replayable | undefined {
    const row = this.#delivery.get(key.seq, key.tag) as unknown as ReplayRow | undefined;
    if (row === undefined) return undefined;
    const members = this.#members.all(key.seq) as unknown as DeliveryKey[];
    return {
      route: row.route,
      mappingId: row.mapping_id,
      name: row.name,
      receivedAt: row.received_at,
      event: row.event,
      sender: row.sender,
      headers: dictionaryOf(row.headers),
      query: dictionaryOf(row.query),
      body: row.body,
      runs: row.ended === ENDED_COALESCED ? this.#coalescedRun(row) : this.#runsOf(key),
      members: members.map(({ seq, tag }) => deliveryId(seq, tag)),
    };
  }

  /** The latest ones first; also of a delivery that was removed. */
  replaysOf(key: DeliveryKey): Pick<DeliverySummary, "id" | "state">[] {
    // Where it is gone its replays have its tag, unless they became a part of something else.
    const stored = this.#tag.get(key.seq)?.["tag"];
    if (stored !== undefined && stored !== key.tag) return [];
    const rows = this.#replays.all(key.seq, key.tag) as unknown as Pick<DeliveryRow, "seq" | "tag" | "ended">[];
    return rows.map(({ seq, tag, ended }) => {
      const runs = this.#states.all(seq) as unknown as { state: number }[];
      return { id: deliveryId(seq, tag), state: deliveryState(ended, runs) };
    });
  }

  #runsOf({ seq, tag }: DeliveryKey): ReplayableRun[] {
    const rows = this.#runs.all(seq) as unknown as StoredRunRow[];
    return rows.map(({ id, state, lane, spec, text }) => ({
      runId: runId(id, tag),
      state: runStateOf(state),
      lane,
      spec: restoreSpec({ json: spec, text }),
    }));
  }

  /** It would have been in the lane of the run that it became a part of, since the key names the session too. */
  #coalescedRun({ related, related_tag: tag, spec: json, text }: ReplayRow): ReplayableRun[] {
    if (json === null) return [];
    const spec = restoreSpec({ json, text });
    const id = Number(related) * RUNS_PER_DELIVERY;
    const joined = this.#joined.get(id) as unknown as Pick<StoredRunRow, "lane" | "state"> | undefined;
    const { lane, state } = joined ?? { lane: spec.sessionKey, state: SKIPPED };
    return [{ runId: runId(id, tag ?? ""), state: runStateOf(state), lane, spec }];
  }
}

interface StoredRunRow {
  readonly id: number;
  readonly state: number;
  readonly lane: string;
  readonly spec: string;
  readonly text: string | null;
}

interface ReplayRow extends DeliveryRow {
  readonly spec: string | null;
  readonly text: string | null;
  readonly headers: string | null;
  readonly query: string | null;
  readonly body: Uint8Array | null;
}
