import type { DatabaseSync } from "node:sqlite";
import type { UpdateStep } from "./migrate.ts";

/** Bytes of a file that a start rewrites unasked: about a second. */
const MAX_BYTES = 64 * 1024 * 1024;

/**
 * Rewrites a file that an earlier version made, so that it records where each of its pages is used and can shrink in
 * steps from then on. A large file is rewritten only when `compact` asks for it, and then whatever it records.
 *
 * `onStep` is called before it begins.
 * Throws when a rewriting that was asked for fails; the file is then as it was.
 */
export function rewriteToShrink(
  database: DatabaseSync,
  { compact = false }: { readonly compact?: boolean },
  onStep?: (step: UpdateStep) => void,
): void {
  if (!compact && (canShrinkInSteps(database) || bytesOf(database) > MAX_BYTES)) return;
  onStep?.({ done: 0, total: 1, what: "rewriting of the database" });
  try {
    // A copy is made first, and does not have to fit into memory.
    database.exec("PRAGMA temp_store = FILE");
    database.exec("PRAGMA auto_vacuum = INCREMENTAL");
    database.exec("VACUUM");
  } catch (error) {
    if (compact) throw error;
  } finally {
    database.exec("PRAGMA temp_store = MEMORY");
  }
}

/** True when the file records where each of its pages is used. */
export function canShrinkInSteps(database: DatabaseSync): boolean {
  const incremental = 2;
  return pragma(database, "auto_vacuum") === incremental;
}

function bytesOf(database: DatabaseSync): number {
  return pragma(database, "page_count") * pragma(database, "page_size");
}

function pragma(database: DatabaseSync, name: string): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
}
