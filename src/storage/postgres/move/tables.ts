/** The tables of the deliveries, copied from SQLite row by row: their columns with the types in PostgreSQL. */

export interface MovedTable {
  readonly name: string;
  readonly types: Readonly<Record<string, string>>;
  /** Rows in SQLite, with the columns of `types`. */
  readonly rows: string;
  /** The column whose numbers the database gives out, where there is one. */
  readonly numbers?: string | undefined;
}

interface Source {
  /** Its name in SQLite, where that is another. */
  readonly from?: string;
  readonly order: string;
  /** What a column is in SQLite, where it may be missing there. */
  readonly values?: Readonly<Record<string, string>>;
  readonly numbers?: string;
}

export function table(name: string, types: Readonly<Record<string, string>>, source: Source): MovedTable {
  const { from = name, order, values = {}, numbers } = source;
  const columns = Object.keys(types).map((column) => `${values[column] ?? column} AS ${column}`);
  return { name, types, rows: `SELECT ${columns.join(", ")} FROM ${from} ORDER BY ${order}`, numbers };
}

/** Columns of one type. */
export function all(type: string, ...columns: readonly string[]): Record<string, string> {
  return Object.fromEntries(columns.map((column) => [column, type]));
}

export const MOVED_TABLES: readonly MovedTable[] = [
  table(
    "deliveries",
    {
      ...all("bigint", "seq", "received_at", "bytes", "related", "replayed", "resolved_at"),
      ...all("text", "tag", "route", "mapping_id", "name", "event", "sender", "chain", "credential"),
      ...all("text", "reason", "related_tag", "resolved_note"),
      ...all("int", "level", "answered", "runs", "ended", "repeats"),
      fingerprint: "bytea",
    },
    { order: "seq", values: { bytes: "coalesce(bytes, 0)", repeats: "coalesce(repeats, 0)" } },
  ),
  table(
    "runs",
    {
      ...all("bigint", "id", "due_at", "expires_at", "settled_at", "summarized_at", "delivered_at", "heartbeat_at"),
      ...all("bigint", "called_back_at", "released_at"),
      ...all("text", "tag", "lane", "reason"),
      ...all("int", "kind", "state", "steps", "outcome", "calls"),
      overlap: "bytea",
    },
    { order: "id" },
  ),
  table(
    "contents",
    { id: "bigint", ...all("text", "spec", "text", "headers", "query"), body: "bytea" },
    { from: "whole_contents", order: "id" },
  ),
  table(
    "attempts",
    {
      ...all("bigint", "run", "started_at", "ended_at"),
      number: "int",
      ...all("text", "status", "error", "reply", "usage", "activity"),
    },
    { order: "run, number" },
  ),
  table("coalescing", { key: "bytea", ...all("bigint", "run", "opened_at") }, { from: "gathering", order: "run" }),
  table("pauses", { ...all("text", "scope", "reason"), since: "bigint" }, { order: "scope" }),
  table(
    "usage",
    { scope: "text", ...all("bigint", "minute", "runs", "tokens", "micro_usd") },
    { order: "minute, scope" },
  ),
  // The mark of a gateway that has read nothing is 0, with which it reads all.
  table(
    "waits",
    { ...all("text", "id", "session", "content"), ...all("bigint", "version", "change") },
    { order: "id", values: { change: "0" } },
  ),
  table("outages", { subject: "text", since: "bigint" }, { order: "subject" }),
];
