import { EarliestReceipts } from "../retention-round.ts";
import type { PostgresDatabase } from "./engine/database.ts";
import { type Session, type Statement, statement } from "./engine/statement.ts";
import { isClosed, isFilled, isRemovable } from "./operations/removal.ts";

/** Deliveries, in order of acceptance, that one query covers. */
const BLOCK = 4_096;
/** Blocks that one look covers. */
const MAX_BLOCKS = 4;
/** Deliveries of other gateways are committed late: their numbers are less than this behind the latest one. */
const LATE = 16 * BLOCK;

const SEQ = { seq: "integer" } as const;
const SEQ_OR_NONE = { seq: "integer?" } as const;
const TIME_OR_NONE = { time: "integer?" } as const;
const inBlock = "d.seq >= $1 AND d.seq < $2";

/** The statements of a task. `$3`: received before; `$4`: copies that lapsed before can no longer arrive. */
const tasks = {
  remove: statementsOf(`(${isRemovable("$4")} OR ${isFilled})`, ""),
  empty: statementsOf(`$4::bigint IS NOT NULL AND ${isFilled}`, `AND (received_at >= $3 OR ${isFilled})`),
};
const nextSeq = statement(SEQ_OR_NONE, "SELECT min(seq) AS seq FROM reveille.deliveries WHERE seq >= $1");
const lastSeq = statement(SEQ_OR_NONE, "SELECT max(seq) AS seq FROM reveille.deliveries");

function statementsOf(isDue: string, isLeft: string) {
  return {
    due: statement(
      SEQ,
      `SELECT seq FROM reveille.deliveries AS d WHERE ${inBlock} AND received_at < $3 AND ${isClosed} AND ${isDue}
      ORDER BY seq LIMIT $5`,
    ),
    earliest: statement(
      TIME_OR_NONE,
      `SELECT min(received_at) AS time FROM reveille.deliveries AS d
      WHERE ${inBlock} AND $3::bigint IS NOT NULL ${isLeft}`,
    ),
  } satisfies Readonly<Record<string, Statement<object>>>;
}

export interface PruneLook {
  /** Deliveries that were received before are due. */
  readonly before: number;
  /** Copies that lapsed before can no longer arrive. */
  readonly since: number;
  readonly limit: number;
}

/**
 * A pass over all deliveries, from the oldest on, in short looks.
 *
 * Times of receipt only nearly grow, since clocks are set, and open deliveries stay while they are open; so a pass does
 * not stop at the first delivery that is too young. It remembers of each block the earliest receipt that is left to act
 * on, and skips the block until that lies before the bound.
 */
export class PrunePass {
  readonly #database: PostgresDatabase;
  readonly #task: (typeof tasks)[keyof typeof tasks];
  readonly #receipts = new EarliestReceipts();
  #at = 0;

  constructor(database: PostgresDatabase, task: keyof typeof tasks) {
    this.#database = database;
    this.#task = tasks[task];
  }

  restart(): void {
    this.#at = 0;
  }

  /** Those before, and this one, were acted on. */
  continueAfter(seq: number): void {
    this.#at = seq + 1;
  }

  /** The next deliveries that are due, in order; none: it looks on with the next call; `undefined` at the end. */
  look(options: PruneLook): Promise<readonly number[] | undefined> {
    return this.#database.read(async (session) => {
      for (let looks = 0; looks < MAX_BLOCKS; looks++) {
        const seq = await this.#next(session, options.before);
        if (seq === undefined) return undefined;
        const found = await this.#lookIn(session, seq, options);
        if (found.length > 0) return found;
      }
      return [];
    });
  }

  async #lookIn(session: Session, seq: number, { before, since, limit }: PruneLook): Promise<readonly number[]> {
    const block = Math.floor(seq / BLOCK);
    const end = (block + 1) * BLOCK;
    const rows = await session.rows(this.#task.due, seq, end, before, since, limit);
    if (rows.length > 0) return rows.map((row) => row.seq);
    const last = (await session.first(lastSeq))?.seq ?? 0;
    if (end <= last - LATE) {
      const earliest = await session.first(this.#task.earliest, block * BLOCK, end, before);
      this.#receipts.remember(block, earliest?.time);
    }
    this.#at = end;
    return [];
  }

  /** The next delivery in a block that has something to act on; `undefined` at the end. */
  async #next(session: Session, before: number): Promise<number | undefined> {
    for (;;) {
      const seq = (await session.first(nextSeq, this.#at))?.seq;
      if (seq == null) return undefined;
      const first = Math.floor(seq / BLOCK);
      const block = this.#receipts.skip(first, before);
      if (block === first) return seq;
      this.#at = block * BLOCK;
    }
  }
}
