import type { DatabaseSync } from "node:sqlite";
import { type PackedMark, unpackMarks } from "./packed-marks.ts";

/** Deliveries that are read in one row. */
const BLOCK = 1_000;

/** Marks of one delivery. */
export interface MarkedDelivery {
  readonly seq: number;
  readonly marks: readonly PackedMark[];
}

/**
 * Marks of the newest deliveries that have some, oldest first; to be read when a file is opened.
 *
 * A thousand deliveries come as one row of text: a row each would take ten times as long, and hundreds of
 * thousands of them stand between the start of the process and its first call.
 */
export function* storedMarksOf(database: DatabaseSync, maxDeliveries: number): Generator<MarkedDelivery> {
  const first = database
    .prepare("SELECT seq FROM deliveries WHERE marks IS NOT NULL ORDER BY seq DESC LIMIT 1 OFFSET ?")
    .get(maxDeliveries - 1);
  const block = database.prepare(`
    SELECT max(seq) AS last, group_concat(seq) AS seqs, group_concat(length(marks)) AS lengths,
      group_concat(hex(marks), '') AS marks
    FROM (SELECT seq, marks FROM deliveries WHERE marks IS NOT NULL AND seq >= ? ORDER BY seq LIMIT ${BLOCK})`);
  for (let from = Number(first?.["seq"] ?? 0); ;) {
    const { last, seqs, lengths, marks } = block.get(from) as unknown as BlockRow;
    if (last === null) return;
    from = last + 1;
    const bytes = Buffer.from(marks, "hex");
    const sizes = lengths.split(",");
    let at = 0;
    for (const [index, seq] of seqs.split(",").entries()) {
      const end = at + Number(sizes[index]);
      yield { seq: Number(seq), marks: unpackMarks(bytes.subarray(at, end)) };
      at = end;
    }
  }
}

/** The three texts have one order; `last` is `null` when there is no delivery left. */
interface BlockRow {
  readonly last: number | null;
  readonly seqs: string;
  readonly lengths: string;
  readonly marks: string;
}
