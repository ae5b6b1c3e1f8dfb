import type { DatabaseSync } from "node:sqlite";
import { rowQuery } from "../engine/row-query.ts";
import { type AcceptRow, AT, RUN_FIELDS } from "./accept-row.ts";

/** New deliveries that are counted at once. */
const MAX_COUNTED = 5000;

/**
 * The counted bytes of all deliveries; to be used inside a transaction, between `load` and `store`.
 *
 * The sum is in the database, with the seq up to which deliveries are in it: accepting has nothing to do
 * with it, and those that are new are added when they are asked for.
 */
interface CountedBytes {
  /** Reads the sum. */
  load(): void;
  /** Adds some of the deliveries that are new; false when there are more. */
  addNew(): boolean;
  /** Takes away what a delivery has lost. */
  lose(seq: number, bytes: number): void;
  /** The current sum. */
  total(): number;
  /** Writes the sum. */
  store(): void;
}

export function countedBytes(database: DatabaseSync): CountedBytes {
  const read = rowQuery(
    database,
    { through_seq: "integer", bytes: "integer" },
    "SELECT through_seq, bytes FROM counted_bytes WHERE id = 1",
  );
  const write = database.prepare("UPDATE counted_bytes SET through_seq = ?, bytes = ? WHERE id = 1");
  const nextSeq = rowQuery(database, { seq: "integer?" }, "SELECT min(seq) AS seq FROM deliveries WHERE seq > ?");
  const lastSeq = rowQuery(database, { seq: "integer?" }, "SELECT max(seq) AS seq FROM deliveries");
  const sum = rowQuery(
    database,
    { bytes: "integer" },
    "SELECT coalesce(sum(bytes), 0) AS bytes FROM deliveries WHERE seq >= ? AND seq <= ?",
  );
  let [through, bytes, isChanged] = [0, 0, false];

  return {
    load() {
      const row = read.get();
      [through, bytes, isChanged] = [Number(row?.through_seq), Number(row?.bytes), false];
    },
    addNew() {
      const from = nextSeq.get(through)?.seq ?? null;
      if (from === null) return true;
      const last = Number(lastSeq.get()?.seq);
      // A delivery after the last one is not counted before it exists.
      through = Math.min(from + MAX_COUNTED - 1, last);
      bytes += Number(sum.get(from, through)?.bytes);
      isChanged = true;
      return through === last;
    },
    lose(seq, lost) {
      if (seq > through || lost === 0) return;
      bytes -= lost;
      isChanged = true;
    },
    total: () => bytes,
    store() {
      if (isChanged) write.run(through, bytes);
    },
  };
}

/** Bytes that a delivery, and each of its runs, counts for besides its texts: their rows and later records. */
export const ROW_BYTES = 500;

/** The counted bytes of a delivery without its request. */
export function emptyBytes(runs: number): number {
  return ROW_BYTES * (1 + runs);
}

/**
 * The counted bytes of a delivery at its acceptance: its body, headers, query, and specs and texts of its runs.
 * Texts are counted by their length, which is known, and not by the bytes that they are written in.
 */
export function deliveryBytes(row: AcceptRow): number {
  let bytes = requestBytes(row);
  for (let at = AT.runs; at < row.length; at += RUN_FIELDS) {
    bytes += ROW_BYTES + lengthOf(row[at + 2]) + lengthOf(row[at + 3]);
  }
  return bytes;
}

/** Likewise, of one that is stored without its runs. */
export function requestBytes(row: AcceptRow): number {
  return ROW_BYTES + row[AT.headers].length + row[AT.query].length + row[AT.body].byteLength;
}

function lengthOf(text: AcceptRow[number] | undefined): number {
  return typeof text === "string" ? text.length : 0;
}
