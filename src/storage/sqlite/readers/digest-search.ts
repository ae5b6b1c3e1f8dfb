import type { DatabaseSync } from "node:sqlite";
import { rowQuery, type RowQuery, type RowOf, type RowShape } from "../engine/row-query.ts";
import { BLOCK, type DigestQuery, mayFind } from "./delivery-digest.ts";

/** Blocks that are read together. */
const BLOCKS_AT_ONCE = 16;

const DIGEST_ROW = {
  block: "integer",
  earliest: "integer",
  latest: "integer",
  bits: "blob",
} as const satisfies RowShape;

/** Seqs of deliveries: those below `before`, from `lowest` on. */
export interface SeqRange {
  readonly before: number;
  readonly lowest: number;
}

/** Finds the blocks in which a filter may find something; one without a digest is among them. */
export class DigestSearch {
  readonly #downwards: RowQuery<RowOf<typeof DIGEST_ROW>>;

  constructor(reader: DatabaseSync) {
    this.#downwards = rowQuery(
      reader,
      DIGEST_ROW,
      "SELECT block, earliest, latest, bits FROM digests WHERE block <= ? ORDER BY block DESC",
    );
  }

  /** The next neighbors below a seq; `undefined` when there are none. */
  next(before: number, query: DigestQuery): SeqRange | undefined {
    if (before <= 0) return undefined;
    let at = Math.floor((before - 1) / BLOCK);
    let first: number | undefined;
    for (const row of this.#downwards.iterate(at)) {
      // Between two digests, or above the newest, are blocks that have none yet.
      if (row.block < at) first ??= at;
      at = row.block;
      if (first !== undefined && first - at >= BLOCKS_AT_ONCE) return rangeOf(first, at + 1, before);
      if (isCandidate(row, query)) first ??= at;
      else if (first !== undefined) return rangeOf(first, at + 1, before);
      at--;
    }
    if (at >= 0) first ??= at;
    return first === undefined ? undefined : rangeOf(first, 0, before);
  }
}

function isCandidate({ earliest, latest, bits }: RowOf<typeof DIGEST_ROW>, query: DigestQuery): boolean {
  return latest >= query.receivedFrom && earliest < query.receivedBefore && mayFind(query, bits);
}

function rangeOf(first: number, last: number, before: number): SeqRange {
  return { before: Math.min(before, (first + 1) * BLOCK), lowest: last * BLOCK };
}
