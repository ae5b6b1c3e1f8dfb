import type { State } from "../delivery.ts";
import type { Refusal } from "../errors.ts";

/** What an operator can do to a delivery. */
export type Operation = "replay" | "cancel" | "purge";

/** What became of an operation on one delivery. */
export type OperationOutcome =
  /** The new delivery; without runs it has ended at once, in `state`. */
  | {
      readonly kind: "replayed";
      readonly deliveryId: string;
      readonly runIds: readonly string[];
      readonly state: State;
    }
  /** So many of its runs were queued, running or held and are now canceled. */
  | { readonly kind: "canceled"; readonly runs: number }
  | { readonly kind: "removed" }
  /** It lost its request and stays listed for now: it must be known while copies of the call could arrive. */
  | { readonly kind: "emptied" }
  /** In a dry run: it would be carried out. */
  | { readonly kind: "planned" }
  /** There is nothing to do, or its state does not allow it: why, in words for the operator. */
  | { readonly kind: "left"; readonly reason: string }
  /** The configuration of today does not take it, or not now. */
  | { readonly kind: "refused"; readonly refusal: Refusal }
  | { readonly kind: "unknown" };
