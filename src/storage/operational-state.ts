/**
 * The operational state that a gateway keeps across restarts: paused mappings, used budgets, outages.
 *
 * Part of the store contract; writes are as durable as those of deliveries.
 */

/** A mapping, by its id, or everything. */
export type Scope = string;
/** The scope of all runs. */
export const SCOPE_ALL: Scope = "*";

export interface OperationalState {
  /** Every pause there is. */
  pauses(): Promise<readonly Pause[]>;
  /** False when the scope is paused already; the first pause stays. */
  pause(pause: Pause): Promise<boolean>;
  /** False when the scope was not paused. Its used budget is forgotten. */
  resume(scope: Scope): Promise<boolean>;
  /** Counts runs that begin in a minute, and what runs have used in it; a minute is a number of minutes since the epoch. */
  addUsage(usage: readonly Usage[]): Promise<void>;
  /** The counts from a minute on. */
  usageSince(minute: number): Promise<readonly Usage[]>;
  /** True when the outage is new; false when it is known and continues. At most 1,000 are remembered. */
  openOutage(outage: { readonly subject: string; readonly since: number }): Promise<boolean>;
  /** True when there was one. */
  closeOutage(subject: string): Promise<boolean>;
  /** Subjects of the outages that continue. */
  outages(): Promise<readonly string[]>;
}

export interface Pause {
  readonly scope: Scope;
  /** In words for the gateway's owner. */
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/** What a budget limits. */
export const MEASURES = ["runs", "tokens", "microUsd"] as const;
export type Measure = (typeof MEASURES)[number];

/** Amounts may be negative, for what is given back. Costs are in millionths of a US dollar. */
export interface Usage extends Readonly<Record<Measure, number>> {
  readonly scope: Scope;
  readonly minute: number;
}
