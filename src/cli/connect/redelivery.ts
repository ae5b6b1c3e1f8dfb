/** How a sender is asked for the calls that it could not deliver. */
import type { Headers } from "../../core/delivery.ts";

/** A call that the sender could not deliver. */
export interface MissedCall {
  /** The sender's id of it, the same for every try. */
  readonly id: string;
  readonly event: string;
  /** ISO 8601: when it was first tried, or made. */
  readonly at: string;
  /** Why, as far as the sender says it. */
  readonly why: string;
}

export interface MissedCalls {
  /** The oldest first. */
  readonly calls: readonly MissedCall[];
  /** True when there are more than are read. */
  readonly isCut: boolean;
}

/** A delivery that is here, as far as it says which call it is. */
export interface StoredCall {
  readonly headers: Headers;
  /** Its body, parsed; `undefined` when it is gone or is no JSON. */
  payload(): Promise<unknown>;
}

export type TakeOutcome = "taken" | "pending" | `refused: ${string}`;

export interface Redelivery {
  readonly title: string;
  /** Rejects with a `CliError`. */
  missed(sinceMs: number): Promise<MissedCalls>;
  /** The sender's id of a call that is here. */
  idOf(stored: StoredCall): Promise<string | undefined>;
  /**
   * Has calls delivered, one after the other, through the route where the sender calls. Rejects with a `CliError` when
   * it cannot go on; `onOutcome` has then been called for those that were reached.
   */
  take(calls: readonly MissedCall[], onOutcome: (call: MissedCall, outcome: TakeOutcome) => void): Promise<void>;
}

/** Pages of a hundred that are read of a sender's list. */
export const MAX_LIST_PAGES = 50;
