import type { DatabaseSync } from "node:sqlite";
import { canShrinkInSteps } from "../engine/rewrite-file.ts";
import { rowQuery } from "../engine/row-query.ts";

/** Pages that one step gives back; each may have to be filled with the last page of the file that is used. */
const PAGES_AT_ONCE = 64;
/** Free pages that stay whatever the size of the file. */
const KEPT_PAGES = 2048;
/** The file shrinks when more than this share of its pages is free, until only the other share is. */
const SHRINK_ABOVE = 1 / 4;
const SHRINK_TO = 1 / 8;

/**
 * Prepares giving free pages back to the file system; use it inside a transaction. One step is true while there is
 * more to give back.
 *
 * What is removed leaves free pages, which later deliveries fill: a file is made shorter only when much of it is
 * free, since moving pages costs as much as writing them. A file that an earlier version made cannot shrink before it
 * was rewritten once.
 */
export function fileShrinker(database: DatabaseSync): () => boolean {
  const pageCount = rowQuery(database, { page_count: "integer" }, "PRAGMA page_count");
  const freePages = rowQuery(database, { freelist_count: "integer" }, "PRAGMA freelist_count");
  const giveBack = database.prepare(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`);
  const canShrink = canShrinkInSteps(database);
  let isShrinking = false;

  return () => {
    if (!canShrink) return false;
    const [pages, free] = [Number(pageCount.get()?.page_count), Number(freePages.get()?.freelist_count)];
    isShrinking = free > Math.max(KEPT_PAGES, pages * (isShrinking ? SHRINK_TO : SHRINK_ABOVE));
    if (isShrinking) giveBack.all();
    return isShrinking;
  };
}
