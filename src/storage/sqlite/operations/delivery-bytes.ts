import { type AcceptRow, AT, RUN_FIELDS } from "./accept-row.ts";

/** What a delivery, and each of its runs, counts for besides its texts: their rows and what is recorded later. */
export const ROW_BYTES = 500;

/** What a delivery counts for that has lost its request. */
export function emptyBytes(runs: number): number {
  return ROW_BYTES * (1 + runs);
}

/**
 * What a delivery counts for when it is accepted: its body, headers, query, and specs and texts of its runs.
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
