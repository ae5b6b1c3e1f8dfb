import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Pause, Usage } from "../operational-state.ts";

/** Reads what is remembered of the gateway's own operation; every table is bounded. */
export class OperationalReader {
  readonly #pauses: StatementSync;
  readonly #usage: StatementSync;
  readonly #outages: StatementSync;

  constructor(reader: DatabaseSync) {
    this.#pauses = reader.prepare("SELECT scope, reason, since FROM pauses ORDER BY scope");
    this.#usage = reader.prepare("SELECT scope, minute, runs FROM usage WHERE minute >= ? ORDER BY minute, scope");
    this.#outages = reader.prepare("SELECT subject FROM outages ORDER BY subject");
  }

  pauses(): Pause[] {
    const rows = this.#pauses.all() as unknown as Pause[];
    return rows.map(({ scope, reason, since }) => ({ scope, reason, since }));
  }

  usageSince(minute: number): Usage[] {
    const rows = this.#usage.all(minute) as unknown as Usage[];
    return rows.map((row) => ({ scope: row.scope, minute: row.minute, runs: row.runs }));
  }

  outages(): string[] {
    return this.#outages.all().map((row) => String(row["subject"]));
  }
}
