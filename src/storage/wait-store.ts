/**
 * Waits of sessions for events, as they are kept: a part of the store contract. What a wait is for is a text that the
 * store does not read. An accepted delivery changes waits in its own transaction: {@link WaitChange}.
 */
export interface WaitStore {
  /**
   * The waits that were added or changed since a mark, at least; all of them since 0. `mark` is of what is given; it
   * grows only where other gateways can add waits.
   */
  waits(since: number): Promise<{ readonly waits: readonly StoredWait[]; readonly mark: number }>;
  /** Where a wait would exceed a bound, it is not stored. */
  addWait(wait: StoredWait, bounds: WaitBounds): Promise<WaitAddition>;
  /** False when there is no such wait. */
  removeWait(id: string): Promise<boolean>;
}

export interface StoredWait {
  /** `wait_` and 24 hexadecimal digits. */
  readonly id: string;
  /** The session key, with its agent. */
  readonly session: string;
  /** Grows with each change, from 1 on. */
  readonly version: number;
  readonly content: string;
}

/** The most waits there may be, with the one that is added. */
export interface WaitBounds {
  readonly total: number;
  readonly ofSession: number;
}

/** `full`: there are as many as there may be; `session-full`: of that session. */
export type WaitAddition = "added" | "full" | "session-full";

/** Why a wait was left out. */
export type NoRoom = Exclude<WaitAddition, "added">;

/** What an accepted delivery does to waits. */
export interface WaitClaim {
  /** The mark of the waits that the delivery was held against. */
  readonly mark: number;
  readonly changes: readonly WaitChange[];
  /** A wait that the delivery makes. Where it would exceed a bound, the delivery is stored without it. */
  readonly added?: { readonly wait: StoredWait; readonly bounds: WaitBounds } | undefined;
}

/** True where a delivery writes waits: then it neither coalesces nor overlaps. */
export function writesWaits(claim: WaitClaim | undefined): claim is WaitClaim {
  return claim !== undefined && (claim.changes.length > 0 || claim.added !== undefined);
}

export interface WaitChange {
  readonly id: string;
  /** That the wait must have: otherwise another call has changed it, and nothing is stored. */
  readonly version: number;
  /** Its content from now on, one version later; `null`: it ends. */
  readonly content: string | null;
}
