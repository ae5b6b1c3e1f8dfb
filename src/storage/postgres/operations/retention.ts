import type { RemoveOutcome } from "../../delivery-store.ts";
import type { DeliveryKey } from "../../sqlite/public-id.ts";
import type { RowOf } from "../../sqlite/engine/row-query.ts";
import { command, type Session, statement } from "../engine/statement.ts";
import type { WriteOperation } from "../engine/write-group.ts";
import { CLAIM_GRACE_MS, emptyBytes } from "./new-delivery-row.ts";
import { forgetReplies, isClosed, removeDeliveries, emptyDeliveries, isFilled, isRemovable } from "./removal.ts";

/** Bytes that one step frees. */
const MAX_FREED_BYTES = 8 * 1024 * 1024;
/** Deliveries that one step counts. */
const MAX_COUNTED = 5_000;

const CANDIDATE = {
  seq: "integer",
  runs: "integer",
  bytes: "integer",
  filled: "integer",
  removable: "integer",
} as const;
type Candidate = RowOf<typeof CANDIDATE>;

const candidates = (condition: string) => `
  SELECT seq, runs, bytes, (${isFilled})::int AS filled, (${isRemovable("$1")})::int AS removable
  FROM reveille.deliveries AS d WHERE ${condition}`;
/** `$1`: copies that lapsed before can no longer arrive. */
const chosen = statement(CANDIDATE, `${candidates(`seq = ANY ($2::bigint[]) AND ${isClosed}`)} ORDER BY seq`);
const named = statement(
  CANDIDATE,
  candidates(`(seq, tag) IN (SELECT * FROM unnest($2::bigint[], $3::text[])) AND ${isClosed}`),
);
const readCount = statement(
  { through_seq: "integer", bytes: "integer" },
  "SELECT through_seq, bytes FROM reveille.counted_bytes",
);
const writeCount = command("UPDATE reveille.counted_bytes SET through_seq = $1, bytes = $2");
const sumNew = statement(
  { rows: "integer", last: "integer?", bytes: "integer" },
  `SELECT count(*) AS rows, max(seq) AS last, coalesce(sum(bytes), 0)::bigint AS bytes
  FROM (SELECT seq, bytes FROM reveille.deliveries WHERE seq > $1 ORDER BY seq LIMIT ${MAX_COUNTED}) AS d`,
);

/** What all deliveries count for together; accepting has nothing to do with it, new ones are added when it is asked for. */
class CountedBytes {
  #through = 0;
  #bytes = 0;

  async load(session: Session): Promise<this> {
    const row = (await session.first(readCount))!;
    [this.#through, this.#bytes] = [row.through_seq, row.bytes];
    return this;
  }

  /** False when there are more. */
  async addNew(session: Session): Promise<boolean> {
    const { rows, last, bytes } = (await session.first(sumNew, this.#through))!;
    if (last === null) return true;
    this.#through = last;
    this.#bytes += bytes;
    return rows < MAX_COUNTED;
  }

  lose(seq: number, bytes: number): void {
    if (seq <= this.#through) this.#bytes -= bytes;
  }

  get total(): number {
    return this.#bytes;
  }

  async store(session: Session): Promise<void> {
    await session.run(writeCount, this.#through, this.#bytes);
  }
}

/** Removes the removable of these deliveries, and the requests of the others. */
async function removeAll(session: Session, rows: readonly Candidate[], counted: CountedBytes) {
  const removed = rows.filter(({ removable }) => removable === 1);
  const emptied = rows.filter(({ removable, filled }) => removable === 0 && filled === 1);
  await removeDeliveries(session, removed);
  for (const { seq, bytes } of removed) counted.lose(seq, bytes);
  await emptyAll(session, emptied, counted);
  return { removed: removed.length, emptied: emptied.length };
}

async function emptyAll(session: Session, rows: readonly Candidate[], counted: CountedBytes): Promise<void> {
  await emptyDeliveries(session, rows);
  for (const { seq, bytes, runs } of rows) counted.lose(seq, Math.max(0, bytes - emptyBytes(runs)));
}

/** As many of the first rows as a step may free. */
function withinBytes(rows: readonly Candidate[]): readonly Candidate[] {
  let bytes = 0;
  return rows.filter((row, index) => {
    bytes += row.bytes;
    return index === 0 || bytes <= MAX_FREED_BYTES;
  });
}

/** Removes deliveries whose runs are all closed, at a person's wish. */
export const remove: WriteOperation<{ keys: readonly DeliveryKey[]; now: number }, RemoveOutcome> = {
  keysOf: () => ["retention"],
  async run(session, items) {
    const outcomes: RemoveOutcome[] = [];
    for (const { keys, now } of items) {
      const counted = await new CountedBytes().load(session);
      const [seqs, tags] = [keys.map(({ seq }) => seq), keys.map(({ tag }) => tag)];
      const rows = await session.rows(named, now - CLAIM_GRACE_MS, seqs, tags);
      const { removed } = await removeAll(session, rows, counted);
      // A delivery that had lost its request before counts as emptied, too.
      const kept = rows.filter(({ removable }) => removable === 0);
      await forgetReplies(session, kept);
      await counted.store(session);
      outcomes.push({ removed, emptied: kept.length, kept: keys.length - rows.length });
    }
    return outcomes;
  },
};

/** Deliveries that were found to be due. */
export interface PruneStep {
  /** In order. */
  readonly seqs: readonly number[];
  readonly task: "remove" | "empty";
  readonly now: number;
  /** Bytes that all deliveries may count for; `null`: they are not counted. */
  readonly maxBytes: number | null;
  /** True: only as many as it takes until all of them fit. */
  readonly untilTheyFit: boolean;
}

export interface PruneStepOutcome {
  readonly removed: number;
  readonly emptied: number;
  /** The last one that was acted on; `undefined`: none. */
  readonly last: number | undefined;
  /** True: all of them that are still due were acted on. */
  readonly isDone: boolean;
  readonly areAllCounted: boolean;
  /** True: all deliveries count for more than they may. */
  readonly isOver: boolean;
}

/** Removes deliveries, or their requests, as far as they are still closed, and counts those that are new. */
export const prune: WriteOperation<PruneStep, PruneStepOutcome> = {
  keysOf: () => ["retention"],
  async run(session, items) {
    const outcomes: PruneStepOutcome[] = [];
    for (const step of items) {
      const counted = await new CountedBytes().load(session);
      outcomes.push(await act(session, step, counted));
      await counted.store(session);
    }
    return outcomes;
  },
};

async function act(session: Session, step: PruneStep, counted: CountedBytes): Promise<PruneStepOutcome> {
  const { seqs, task, now, maxBytes, untilTheyFit } = step;
  const areAllCounted = maxBytes === null || (await counted.addNew(session));
  const due = seqs.length === 0 ? [] : await session.rows(chosen, now - CLAIM_GRACE_MS, seqs);
  const rows = untilTheyFit ? neededOf(withinBytes(due), counted.total - (maxBytes ?? Infinity)) : withinBytes(due);
  const done = task === "remove" ? await removeAll(session, rows, counted) : await emptyRows(session, rows, counted);
  return {
    ...done,
    last: rows.at(-1)?.seq,
    isDone: rows.length === due.length,
    areAllCounted,
    isOver: maxBytes !== null && counted.total > maxBytes,
  };
}

/** The first of them, until so many bytes are gone. */
function neededOf(rows: readonly Candidate[], bytes: number): readonly Candidate[] {
  let excess = bytes;
  return rows.filter((row) => {
    const isNeeded = excess > 0;
    excess -= row.removable === 1 ? row.bytes : row.bytes - emptyBytes(row.runs);
    return isNeeded;
  });
}

async function emptyRows(session: Session, rows: readonly Candidate[], counted: CountedBytes) {
  const filled = rows.filter((row) => row.filled === 1);
  await emptyAll(session, filled, counted);
  return { removed: 0, emptied: filled.length };
}
