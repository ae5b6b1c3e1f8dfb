import ms from "ms";
import type { StringValue } from "ms";
import { ApiQueryError } from "./query.ts";

const AGO = /^\d{1,6}(?:\.\d{1,3})? ?(?:ms|s|m|h|d|w)$/u;
const EPOCH_MS = /^\d{10,15}$/u;
/** A time of day needs an offset: nobody knows what time zone the gateway is in. */
const ISO = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/u;

/**
 * A point in time as people write it, in milliseconds since the epoch: ISO 8601 (`2026-02-27` begins in
 * UTC, a time of day needs `Z` or an offset), milliseconds since the epoch, or how long ago (`2h`).
 */
export function readTime(name: string, text: string, now: number): number {
  if (AGO.test(text)) return Math.round(now - ms(text as StringValue));
  const time = EPOCH_MS.test(text) ? Number(text) : ISO.test(text) ? Date.parse(text.replace(" ", "T")) : NaN;
  if (Number.isNaN(time)) {
    throw new ApiQueryError(
      `${name} must be a time such as 2026-02-27, 2026-02-27T10:00:00Z or milliseconds since 1970, or how long ago such as 30m, 2h, 7d.`,
    );
  }
  return time;
}
