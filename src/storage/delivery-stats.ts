/** Counts of deliveries: a part of the store contract. */
import type { State } from "../core/run.ts";

/** A period; times are milliseconds since the epoch. */
export interface StatsQuery {
  readonly from: number;
  readonly before: number;
  /** Counts are kept apart for each such span since the epoch. */
  readonly bucketMs: number;
  readonly cursor?: string;
}

/** The deliveries of one span, mapping and state. */
export interface StatsRow {
  /** Milliseconds since the epoch: the start of the span. */
  readonly at: number;
  /** The mapping's id; of a direct call, its route. */
  readonly name: string;
  readonly state: State;
  readonly deliveries: number;
  readonly runs: number;
  /** As `PruneLimits.maxBytes` of the store counts them. */
  readonly bytes: number;
  /** Input and output of their attempts together, as far as it is known. */
  readonly tokens: number;
  /** In US dollars, as far as it is known. */
  readonly costUsd: number;
}

export interface StatsPage {
  readonly rows: readonly StatsRow[];
  readonly nextCursor: string | null;
}
