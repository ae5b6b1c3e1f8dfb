import type { DatabaseSync } from "node:sqlite";
import { rowQuery, type RowQuery } from "./engine/row-query.ts";
import type { Pause, Usage } from "../operational-state.ts";

/** Reads what is remembered of the gateway's own operation; every table is bounded. */
export class OperationalStateReader {
  readonly #pauses: RowQuery<Pause>;
  readonly #usage: RowQuery<Usage>;
  readonly #outages: RowQuery<{ readonly subject: string }>;

  constructor(reader: DatabaseSync) {
    this.#pauses = rowQuery(
      reader,
      { scope: "text", reason: "text", since: "integer" },
      "SELECT scope, reason, since FROM pauses ORDER BY scope",
    );
    this.#usage = rowQuery(
      reader,
      { scope: "text", minute: "integer", runs: "integer" },
      "SELECT scope, minute, runs FROM usage WHERE minute >= ? ORDER BY minute, scope",
    );
    this.#outages = rowQuery(reader, { subject: "text" }, "SELECT subject FROM outages ORDER BY subject");
  }

  pauses(): Pause[] {
    return this.#pauses.all().map(({ scope, reason, since }) => ({ scope, reason, since }));
  }

  usageSince(minute: number): Usage[] {
    return this.#usage.all(minute).map((row) => ({ scope: row.scope, minute: row.minute, runs: row.runs }));
  }

  outages(): string[] {
    return this.#outages.all().map(({ subject }) => subject);
  }
}
