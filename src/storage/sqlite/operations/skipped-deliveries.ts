import type { DatabaseSync } from "node:sqlite";
import { ENDED_SKIPPED, RUNS_PER_DELIVERY, SKIPPED } from "../codes.ts";

/**
 * Prepares what is recorded of a delivery when one of its runs was skipped: with the last one it has ended,
 * and is found among the skipped like one that never had a run.
 */
export function skippedDeliveries(database: DatabaseSync): (seq: number, reason: string | null) => void {
  const end = database.prepare(`
    UPDATE deliveries SET ended = ${ENDED_SKIPPED}, reason = ?2 WHERE seq = ?1 AND NOT EXISTS (
      SELECT 1 FROM runs
      WHERE id >= ?1 * ${RUNS_PER_DELIVERY} AND id < (?1 + 1) * ${RUNS_PER_DELIVERY} AND state <> ${SKIPPED})`);
  return (seq, reason) => {
    end.run(seq, reason);
  };
}
