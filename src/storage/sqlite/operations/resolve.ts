import type { DatabaseSync } from "node:sqlite";
import { ENDED_FAILED, FAILED, RUNS_PER_DELIVERY } from "../codes.ts";

/** 1: it is resolved now; 0: it is not failed, or was resolved before; -1: there is no such delivery. */
export type ResolveResult = 1 | 0 | -1;

/** Marks failed deliveries as resolved by a person. */
export function resolveOperations(database: DatabaseSync) {
  const exists = database.prepare("SELECT 1 FROM deliveries WHERE seq = ? AND tag = ?");
  const resolve = database.prepare(`
    UPDATE deliveries SET resolved_at = ?2, resolved_note = ?3 WHERE seq = ?1 AND resolved_at IS NULL
      AND (ended = ${ENDED_FAILED} OR (ended IS NULL AND ${FAILED} = (
        SELECT max(state) FROM runs WHERE id >= ?1 * ${RUNS_PER_DELIVERY} AND id < (?1 + 1) * ${RUNS_PER_DELIVERY})))`);
  return {
    resolve([seq, tag, at, note]: [number, string, number, string | null]): ResolveResult {
      if (exists.get(seq, tag) === undefined) return -1;
      return resolve.run(seq, at, note).changes === 0 ? 0 : 1;
    },
  };
}
