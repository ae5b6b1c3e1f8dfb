import type { DatabaseSync } from "node:sqlite";
import type { AcceptRow } from "./accept-row.ts";
import type { Holder } from "./claims.ts";
import { MAX_LISTED_REPEATS } from "../../delivery-store.ts";
import type { InsertOperations } from "./insert.ts";

/**
 * Prepares what is recorded of a repeat: a row that says which delivery was sent again. Past
 * {@link MAX_LISTED_REPEATS} of one delivery it is nothing, so that a sender cannot fill the disk that way.
 */
export function repeatOperation(
  database: DatabaseSync,
  insert: InsertOperations,
): (repeat: AcceptRow, first: Holder) => void {
  const count = database.prepare(`
    UPDATE deliveries SET repeats = coalesce(repeats, 0) + 1
    WHERE seq = ? AND coalesce(repeats, 0) < ${MAX_LISTED_REPEATS}`);
  return (repeat, first) => {
    if (count.run(first.seq).changes !== 0) insert.duplicate(repeat, first);
  };
}
