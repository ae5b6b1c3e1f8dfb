import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Replayable } from "../delivery-store.ts";
import type { DeliveryRow } from "./delivery-summary.ts";
import type { DeliveryKey } from "./public-id.ts";
import { ENDED_COALESCED, RUNS_PER_DELIVERY } from "./sqlite-codes.ts";
import { dictionaryOf } from "./stored-rows.ts";
import { restoreSpec } from "./stored-spec.ts";

/** Reads what a replay of a delivery needs. */
export class ReplayReader {
  readonly #delivery: StatementSync;
  readonly #runs: StatementSync;
  readonly #lane: StatementSync;

  constructor(reader: DatabaseSync) {
    this.#delivery = reader.prepare(`
      SELECT deliveries.*, spec, text, headers, query, body
      FROM deliveries LEFT JOIN contents ON id = seq * ${RUNS_PER_DELIVERY} WHERE seq = ? AND tag = ?`);
    this.#runs = reader.prepare(`
      SELECT lane, spec, text FROM runs JOIN contents ON contents.id = runs.id
      WHERE runs.id >= ?1 * ${RUNS_PER_DELIVERY} AND runs.id < (?1 + 1) * ${RUNS_PER_DELIVERY} ORDER BY runs.id`);
    this.#lane = reader.prepare(`SELECT lane FROM runs WHERE id = ? * ${RUNS_PER_DELIVERY}`);
  }

  read(key: DeliveryKey): Replayable | undefined {
    const row = this.#delivery.get(key.seq, key.tag) as unknown as ReplayRow | undefined;
    if (row === undefined) return undefined;
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
      runs: row.ended === ENDED_COALESCED ? this.#coalescedRun(row) : this.#runsOf(key.seq),
    };
  }

  #runsOf(seq: number): Replayable["runs"] {
    const rows = this.#runs.all(seq) as unknown as { lane: string; spec: string; text: string | null }[];
    return rows.map(({ lane, spec, text }) => ({ lane, spec: restoreSpec({ json: spec, text }) }));
  }

  /** It would have been in the lane of the run that it became a part of, since the key names the session too. */
  #coalescedRun({ related, spec: json, text }: ReplayRow): Replayable["runs"] {
    if (json === null) return [];
    const spec = restoreSpec({ json, text });
    const lane = this.#lane.get(related)?.["lane"];
    return [{ lane: typeof lane === "string" ? lane : spec.sessionKey, spec }];
  }
}

interface ReplayRow extends DeliveryRow {
  readonly spec: string | null;
  readonly text: string | null;
  readonly headers: string | null;
  readonly query: string | null;
  readonly body: Uint8Array | null;
}
