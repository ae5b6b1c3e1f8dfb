import type { DatabaseSync } from "node:sqlite";
import type { DeliverySummary } from "../../../core/delivery.ts";
import { rowQuery, type RowOf, type RowQuery, type RowShape } from "../engine/row-query.ts";
import type { Replayable, ReplayableRun } from "../../delivery-store.ts";
import { acceptedRunOf, coalescedRunOf, joinedRun, replayableOf } from "../../stored-values.ts";
import { DELIVERY_ROW, deliveryColumns, deliveryState } from "./stored-rows.ts";
import { deliveryId, type DeliveryKey } from "../public-id.ts";
import { ENDED_COALESCED, RUNS_PER_DELIVERY } from "../codes.ts";

const MAX_MEMBERS = 10_000;
const MAX_REPLAYS = 10;

/** Reads what a replay of a delivery needs, and which ones there are. */
export class ReplayableReader {
  readonly #delivery: RowQuery<ReplayRow>;
  readonly #runs: RowQuery<StoredRunRow>;
  readonly #joined: RowQuery<Pick<StoredRunRow, "lane" | "state">>;
  readonly #members: RowQuery<DeliveryKey>;
  readonly #tag: RowQuery<Pick<DeliveryKey, "tag">>;
  readonly #replays: RowQuery<DeliveryKey & { readonly ended: number | null }>;
  readonly #states: RowQuery<Pick<StoredRunRow, "state">>;

  constructor(reader: DatabaseSync) {
    const runsOfDelivery = `runs.id >= ?1 * ${RUNS_PER_DELIVERY} AND runs.id < (?1 + 1) * ${RUNS_PER_DELIVERY}`;
    this.#delivery = rowQuery(
      reader,
      REPLAY_ROW,
      `SELECT ${deliveryColumns("deliveries")}, spec, text, headers, query, body
      FROM deliveries LEFT JOIN whole_contents ON id = seq * ${RUNS_PER_DELIVERY} WHERE seq = ? AND tag = ?`,
    );
    this.#runs = rowQuery(
      reader,
      STORED_RUN_ROW,
      `SELECT runs.id, state, lane, spec, text FROM runs JOIN whole_contents AS contents ON contents.id = runs.id
      WHERE ${runsOfDelivery} ORDER BY runs.id`,
    );
    this.#joined = rowQuery(reader, { lane: "text", state: "integer" }, "SELECT lane, state FROM runs WHERE id = ?");
    this.#members = rowQuery(
      reader,
      { seq: "integer", tag: "text" },
      `SELECT seq, tag FROM deliveries WHERE related = ? AND ended = ${ENDED_COALESCED}
      ORDER BY seq LIMIT ${MAX_MEMBERS}`,
    );
    this.#tag = rowQuery(reader, { tag: "text" }, "SELECT tag FROM deliveries WHERE seq = ?");
    this.#replays = rowQuery(
      reader,
      { seq: "integer", tag: "text", ended: "integer?" },
      `SELECT seq, tag, ended FROM deliveries WHERE replayed = ?1 AND (related <> ?1 OR related_tag = ?2)
      ORDER BY seq DESC LIMIT ${MAX_REPLAYS}`,
    );
    this.#states = rowQuery(reader, { state: "integer" }, `SELECT state FROM runs WHERE ${runsOfDelivery}`);
  }

  read(key: DeliveryKey): Replayable | undefined {
    const row = this.#delivery.get(key.seq, key.tag);
    if (row === undefined) return undefined;
    return replayableOf(row, {
      runs: row.ended === ENDED_COALESCED ? coalescedRunOf(row, this.#joined.get(joinedRun(row))) : this.#runsOf(key),
      members: this.#members.all(key.seq),
    });
  }

  /** The latest ones first; also of a delivery that was removed. */
  replaysOf(key: DeliveryKey): Pick<DeliverySummary, "id" | "state">[] {
    // Where it is gone its replays have its tag, unless they belong to something else now.
    const stored = this.#tag.get(key.seq)?.tag;
    if (stored !== undefined && stored !== key.tag) return [];
    return this.#replays.all(key.seq, key.tag).map(({ seq, tag, ended }) => ({
      id: deliveryId(seq, tag),
      state: deliveryState(ended, this.#states.all(seq)),
    }));
  }

  #runsOf({ seq, tag }: DeliveryKey): ReplayableRun[] {
    return this.#runs.all(seq).map((run) => acceptedRunOf(run, tag));
  }
}

const STORED_RUN_ROW = {
  id: "integer",
  state: "integer",
  lane: "text",
  spec: "text",
  text: "text?",
} as const satisfies RowShape;
type StoredRunRow = RowOf<typeof STORED_RUN_ROW>;

const REPLAY_ROW = {
  ...DELIVERY_ROW,
  spec: "text?",
  text: "text?",
  headers: "text?",
  query: "text?",
  body: "blob?",
} as const satisfies RowShape;
type ReplayRow = RowOf<typeof REPLAY_ROW>;
