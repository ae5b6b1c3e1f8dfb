import type { DatabaseSync } from "node:sqlite";
import { rowQuery } from "../engine/row-query.ts";
import { OVERLAP_LATEST_REASON } from "../../new-delivery.ts";
import { skippedDeliveries } from "./skipped-deliveries.ts";
import { QUEUED, RUNS_PER_DELIVERY, SKIPPED } from "../codes.ts";

/** What happens to calls while runs with the same key are open; to be used inside a transaction. */
export interface OverlapOperations {
  /** Whether a run with the key is queued or running. */
  isOpen(key: Uint8Array): boolean;
  /** Skips the runs with the key that are queued and that no host has begun; their ids and tags alternate. */
  giveWay(key: Uint8Array): readonly (number | string)[];
}

/** Prepares overlap. A run carries its key until it is settled, so that the index holds open runs only. */
export function overlapOperations(database: DatabaseSync): OverlapOperations {
  const open = database.prepare(`SELECT 1 FROM runs WHERE overlap = ? AND state >= ${QUEUED} LIMIT 1`);
  const waiting = rowQuery(
    database,
    { id: "integer", tag: "text" },
    `SELECT id, tag FROM runs WHERE overlap = ? AND state = ${QUEUED} AND steps = 0
      AND NOT EXISTS (SELECT 1 FROM attempts WHERE run = runs.id AND status <> 'aborted') ORDER BY id`,
  );
  const skip = database.prepare(`UPDATE runs SET state = ${SKIPPED}, reason = ?, overlap = NULL WHERE id = ?`);
  const endSkipped = skippedDeliveries(database);

  return {
    isOpen: (key) => open.get(key) !== undefined,
    giveWay(key) {
      const runs: (number | string)[] = [];
      const seqs = new Set<number>();
      for (const { id, tag } of waiting.all(key)) {
        skip.run(OVERLAP_LATEST_REASON, id);
        runs.push(id, tag);
        seqs.add(Math.floor(id / RUNS_PER_DELIVERY));
      }
      for (const seq of seqs) endSkipped(seq, OVERLAP_LATEST_REASON);
      return runs;
    },
  };
}
