import type { DatabaseSync } from "node:sqlite";
import { rowQuery, type RowShape } from "./engine/row-query.ts";
import { type PackedReplayKey, unpackReplayKeys } from "./replay-keys.ts";

/** Deliveries that are read in one row. */
const BLOCK = 1_000;

/** Marks of one delivery. */
export interface DeliveryReplayKeys {
  readonly seq: number;
  readonly replayKeys: readonly PackedReplayKey[];
}

/**
 * Marks of the newest deliveries that have some, oldest first; to be read when a file is opened.
 *
 * A thousand deliveries come as one row of text: a row each would take ten times as long, and hundreds of
 * thousands of them stand between the start of the process and its first call.
 */
export function* readReplayKeys(database: DatabaseSync, maxDeliveries: number): Generator<DeliveryReplayKeys> {
  const nth = rowQuery(
    database,
    { seq: "integer" },
    "SELECT seq FROM deliveries WHERE marks IS NOT NULL ORDER BY seq DESC LIMIT 1 OFFSET ?",
  );
  const block = rowQuery(
    database,
    BLOCK_ROW,
    `SELECT max(seq) AS last, group_concat(seq) AS seqs, group_concat(length(marks)) AS lengths,
      group_concat(hex(marks), '') AS marks
    FROM (SELECT seq, marks FROM deliveries WHERE marks IS NOT NULL AND seq >= ? ORDER BY seq LIMIT ${BLOCK})
    HAVING count(*) > 0`,
  );
  for (let from = nth.get(maxDeliveries - 1)?.seq ?? 0; ;) {
    const row = block.get(from);
    if (row === undefined) return;
    from = row.last + 1;
    const bytes = Buffer.from(row.marks, "hex");
    const sizes = row.lengths.split(",");
    let at = 0;
    for (const [index, seq] of row.seqs.split(",").entries()) {
      const end = at + Number(sizes[index]);
      yield { seq: Number(seq), replayKeys: unpackReplayKeys(bytes.subarray(at, end)) };
      at = end;
    }
  }
}

/** The three texts have one order. */
const BLOCK_ROW = {
  last: "integer",
  seqs: "text",
  lengths: "text",
  marks: "text",
} as const satisfies RowShape;
