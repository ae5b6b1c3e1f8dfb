import type { State } from "../../core/run.ts";
import { isRefusal, refuse } from "../../core/errors.ts";
import type { Refusal } from "../../core/errors.ts";
import { StoreError } from "../../storage/delivery-store.ts";
import type { Accepted } from "../commit.ts";
import { type Replayed, stopsReplays } from "../replay.ts";

/** An operator's action on a delivery. */
export type Operation = "replay" | "release" | "cancel" | "purge" | "resolve";

/** The outcome of an operation on one delivery. */
export type OperationOutcome =
  /** The new delivery; without runs it has ended at once, in `state`. */
  | {
      readonly kind: "replayed";
      readonly deliveryId: string;
      readonly runIds: readonly string[];
      readonly state: State;
      /** The replays of the other calls that were coalesced into the delivery's run. */
      readonly gathered?: GatheredReplays | undefined;
    }
  /** So many of its runs were queued, running or held and are now canceled. */
  | { readonly kind: "canceled"; readonly runs: number }
  /** So many of its runs had a reply that was held, and let it go. */
  | { readonly kind: "released"; readonly runs: number }
  /** It has left the list of open failures. */
  | { readonly kind: "resolved" }
  | { readonly kind: "removed" }
  /** It lost its request and stays listed for now: it is the newest delivery, or copies of the call could arrive. */
  | { readonly kind: "emptied" }
  /** In a dry run: it would be carried out; what that means for a replay. */
  | { readonly kind: "planned"; readonly replay?: ReplayFacts | undefined }
  /** There is nothing to do, or its state does not allow it: why, in words for the operator. */
  | { readonly kind: "left"; readonly reason: string }
  /** The configuration of today does not take it, or not now. */
  | { readonly kind: "refused"; readonly refusal: Refusal }
  | { readonly kind: "unknown" };

/** The other calls of a coalesced run, each replayed as a call of its own. */
export interface GatheredReplays {
  readonly deliveries: readonly {
    /** The delivery that was replayed. */
    readonly of: string;
    /** The new delivery, or why there is none. */
    readonly result: { readonly deliveryId: string; readonly state: State } | Refusal;
  }[];
  /** Ids of those that were not reached, and why they were not. */
  readonly left: readonly string[];
  readonly stopped: Refusal | undefined;
}

/** The runs of a planned replay. */
export interface ReplayFacts {
  /** Runs that the delivery has; 0 for one that ended without any. */
  readonly runs: number;
  /** The number of them that would be repeated; by today's configuration, there may be more or fewer of them then. */
  readonly repeated: number;
  /** The number of them that are done. */
  readonly done: number;
  /** The number of coalesced calls, its own included. */
  readonly calls: number;
}

/** The new deliveries that a replay has made. */
export function replayedOutcome({ own, members, left, stopped }: Replayed): OperationOutcome {
  const { deliveryId, runIds } = own;
  const replayed = { kind: "replayed", deliveryId, runIds, state: stateOf(own) } as const;
  if (members.length === 0 && left.length === 0) return replayed;
  const deliveries = members.map(({ deliveryId: of, result }) => ({
    of,
    result: isRefusal(result) ? result : { deliveryId: result.deliveryId, state: stateOf(result) },
  }));
  return { ...replayed, gathered: { deliveries, left, stopped } };
}

function stateOf({ ended }: Accepted): State {
  return ended ?? "queued";
}

/** Why no further delivery is to be treated after that outcome. */
export function stopOf(outcome: OperationOutcome): Refusal | undefined {
  if (outcome.kind === "replayed") return outcome.gathered?.stopped;
  return outcome.kind === "refused" && stopsReplays(outcome.refusal) ? outcome.refusal : undefined;
}

/** Of an operation that the store could not carry out. */
export function outcomeOf(error: unknown): OperationOutcome {
  if (!(error instanceof StoreError)) throw error;
  if (error.code === "NOT_FOUND") return { kind: "unknown" };
  return { kind: "refused", refusal: refuse(error.code === "CLOSED" ? "SHUTTING_DOWN" : "STORE_UNAVAILABLE") };
}
