/** Pages of the embedded gateway's lists. */
import { UNKNOWN_CURSOR } from "../../../api/request.ts";
import { StoreError } from "../../../storage/delivery-store.ts";

/** Which page of a list is asked for. */
export interface PageQuery {
  /** 1 to 200; anything else is brought into that range. */
  readonly limit: number;
  /** The `nextCursor` of the page before. */
  readonly cursor?: string | undefined;
}

/** Which end of a list a page is counted from. */
export type PageOrder = "oldest" | "newest";

const MAX_PAGE = 200;

/** Thrown for a cursor that no page gave out; of a store, so that no database takes it for a failure of its own. */
export class InvalidCursorError extends StoreError {
  constructor() {
    super("INVALID", UNKNOWN_CURSOR);
  }
}

/** The number of rows that a page holds. */
export function pageSize(query: PageQuery): number {
  return Number.isFinite(query.limit) ? Math.min(MAX_PAGE, Math.max(1, Math.trunc(query.limit))) : MAX_PAGE;
}

/** Reads a cursor of `parts` integers, or gives `undefined` for the first page. */
export function readCursor(query: PageQuery, parts: number): number[] | undefined {
  if (query.cursor === undefined) {
    return undefined;
  }
  const numbers = /^\d{1,15}(?:\.\d{1,15})*$/.test(query.cursor) ? query.cursor.split(".").map(Number) : [];
  if (numbers.length !== parts) {
    throw new InvalidCursorError();
  }
  return numbers;
}

/** Cuts the one row too many that was asked for, and makes the cursor of the last row that stays. */
export function cutPage<Row>(
  rows: readonly Row[],
  size: number,
  cursorOf: (row: Row) => readonly number[],
): { readonly page: readonly Row[]; readonly nextCursor: string | null } {
  if (rows.length <= size) {
    return { page: rows, nextCursor: null };
  }
  const page = rows.slice(0, size);
  return { page, nextCursor: cursorOf(page[size - 1]!).join(".") };
}
