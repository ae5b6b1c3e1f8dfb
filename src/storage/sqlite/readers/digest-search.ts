import type { DatabaseSync } from "node:sqlite";
import { rowQuery, type RowOf, type RowQuery, type RowShape } from "../engine/row-query.ts";
import { shareCore } from "../engine/share-core.ts";
import { BLOCK, BYTES_WITH_BIT, type DigestQuery, mayFind } from "./delivery-digest.ts";

/** Blocks that are read together. */
const BLOCKS_AT_ONCE = 16;

/** Bits that SQLite looks for itself, since giving a digest to JavaScript takes it three times as long. */
const PROBES = 3;
/** `bits` is `null` where SQLite sees that nothing can be found. */
const DIGEST_ROW = { block: "integer", bits: "blob?" } as const satisfies RowShape;

/** Seqs of deliveries: those below `before`, from `lowest` on. */
export interface SeqRange {
  readonly before: number;
  readonly lowest: number;
}

/** Finds the blocks in which a filter may find something; one without a digest is among them. */
export class DigestSearch {
  readonly #downwards: RowQuery<RowOf<typeof DIGEST_ROW>>;

  constructor(reader: DatabaseSync) {
    // A place beyond the end of a shorter digest is its lower bits, as in `mayFind`.
    const isSet = Array.from({ length: PROBES }, (_, nth) => {
      const [place, bytes] = [`?${4 + 2 * nth}`, `?${5 + 2 * nth}`];
      return `(${place} IS NULL OR instr(${bytes}, substr(bits, 1 + (${place} & (length(bits) - 1)), 1)) > 0)`;
    });
    this.#downwards = rowQuery(
      reader,
      DIGEST_ROW,
      `SELECT block, iif(latest >= ?2 AND earliest < ?3 AND ${isSet.join(" AND ")}, bits, NULL) AS bits
      FROM digests WHERE block <= ?1 ORDER BY block DESC`,
    );
  }

  /** The next neighbors below a seq; `undefined` when there are none. */
  next(before: number, query: DigestQuery): SeqRange | undefined {
    if (before <= 0) return undefined;
    let at = Math.floor((before - 1) / BLOCK);
    let first: number | undefined;
    const probes: (number | Uint8Array | null)[] = query.all
      .slice(0, PROBES)
      .flatMap((bit) => [bit >> 3, BYTES_WITH_BIT[bit & 7]!]);
    while (probes.length < 2 * PROBES) probes.push(null);
    const rows = this.#downwards.iterate(at, query.receivedFrom, query.receivedBefore, ...probes);
    for (const { block, bits } of rows) {
      shareCore();
      // Between two digests, or above the newest, are blocks that have none yet.
      if (block < at) first ??= at;
      at = block;
      if (first !== undefined && first - at >= BLOCKS_AT_ONCE) return rangeOf(first, at + 1, before);
      if (bits !== null && mayFind(query, bits)) first ??= at;
      else if (first !== undefined) return rangeOf(first, at + 1, before);
      at--;
    }
    if (at >= 0) first ??= at;
    return first === undefined ? undefined : rangeOf(first, 0, before);
  }
}

function rangeOf(first: number, last: number, before: number): SeqRange {
  return { before: Math.min(before, (first + 1) * BLOCK), lowest: last * BLOCK };
}
