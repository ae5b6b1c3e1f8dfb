import type { PruneLimits, PruneOutcome, RemoveOutcome } from "../../delivery-store.ts";
import type { DeliveryKey } from "../../sqlite/public-id.ts";
import type { RowOf } from "../../sqlite/engine/row-query.ts";
import { command, type Session, statement } from "../engine/statement.ts";
import type { WriteOperation } from "../engine/write-group.ts";
import { CLAIM_GRACE_MS, emptyBytes } from "./new-delivery-row.ts";
import { forgetReplies, isClosed, removeDeliveries, emptyDeliveries, isFilled, isRemovable } from "./removal.ts";

/** Deliveries that one step removes or empties, and bytes that it frees. */
const MAX_DELIVERIES = 64;
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
/** `$1`: copies that lapsed before can no longer arrive; `$2`: received before. */
const toRemove = statement(
  CANDIDATE,
  `${candidates(`received_at < $2 AND ${isClosed} AND (${isRemovable("$1")} OR ${isFilled})`)} ORDER BY seq LIMIT ${MAX_DELIVERIES}`,
);
const toEmpty = statement(
  CANDIDATE,
  `${candidates(`received_at < $2 AND ${isClosed} AND ${isFilled}`)} ORDER BY seq LIMIT ${MAX_DELIVERIES}`,
);
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

/**
 * One step: what is old enough is removed, then the requests of what is, then, while all deliveries count for more bytes
 * than allowed, the oldest whatever their age.
 */
export const prune: WriteOperation<PruneLimits, PruneOutcome> = {
  keysOf: () => ["retention"],
  async run(session, items) {
    const outcomes: PruneOutcome[] = [];
    for (const limits of items) {
      const counted = await new CountedBytes().load(session);
      outcomes.push(await step(session, limits, counted));
      await counted.store(session);
    }
    return outcomes;
  },
};

async function step(session: Session, limits: PruneLimits, counted: CountedBytes): Promise<PruneOutcome> {
  const { now, removeBefore, emptyBefore, maxBytes } = limits;
  const since = now - CLAIM_GRACE_MS;
  const areAllCounted = maxBytes === null || (await counted.addNew(session));
  const old = withinBytes(await session.rows(toRemove, since, removeBefore));
  if (old.length > 0) return { ...(await removeAll(session, old, counted)), more: true };
  const filled = withinBytes(await session.rows(toEmpty, since, emptyBefore));
  if (filled.length > 0) {
    await emptyAll(session, filled, counted);
    return { removed: 0, emptied: filled.length, more: true };
  }
  const more = !areAllCounted;
  if (maxBytes === null || counted.total <= maxBytes) return { removed: 0, emptied: 0, more };
  const oldest = await session.rows(toRemove, since, Number.MAX_SAFE_INTEGER);
  let excess = counted.total - maxBytes;
  const needed = withinBytes(oldest).filter(({ bytes, removable, runs }) => {
    const isNeeded = excess > 0;
    excess -= removable === 1 ? bytes : bytes - emptyBytes(runs);
    return isNeeded;
  });
  if (needed.length === 0) return { removed: 0, emptied: 0, more };
  return { ...(await removeAll(session, needed, counted)), more: counted.total > maxBytes || more };
}
