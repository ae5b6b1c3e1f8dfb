import { oneLine } from "./headline.ts";

/** Unix times above this are in milliseconds: it is the year 5138 in seconds. */
const MAX_SECONDS = 100_000_000_000;
const DATE_AND_TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/;

/**
 * A time as people read it, `2026-11-20 12:00 UTC`: from a Unix time in seconds or milliseconds, or from
 * ISO 8601. Another text stays as it is, on one line; empty when there is none.
 */
export function timeText(value: unknown): string {
  if (typeof value === "number")
    return value > 0 ? formatUtc(new Date(value < MAX_SECONDS ? value * 1_000 : value)) : "";
  if (typeof value !== "string") return "";
  return (DATE_AND_TIME.test(value) && formatUtc(new Date(value))) || oneLine(value);
}

function formatUtc(date: Date): string {
  if (Number.isNaN(date.getTime())) return "";
  return `${date.toISOString().slice(0, -8).replace("T", " ")} UTC`;
}
