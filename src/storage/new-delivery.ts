/** The accepting side of the store contract: the delivery that a store receives and the outcome it returns. */
import type { Chain } from "../core/chain.ts";
import type { Headers, Level, Query } from "../core/delivery.ts";
import type { EventWrite } from "../core/host.ts";
import type { State, RunSpec } from "../core/run.ts";
import type { NoRoom, WaitClaim } from "./wait-store.ts";

/** A delivery on its way into the store. */
export interface NewDelivery {
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  readonly route: string;
  readonly mappingId: string | null;
  readonly name: string;
  /** Without any header that carries a credential. */
  readonly headers: Headers;
  readonly query: Query;
  readonly body: Uint8Array;
  /** The event's name and who caused it, where the preset knows. */
  readonly event?: string | null;
  readonly actor?: string | null;
  readonly level?: Level | null;
  /** Of an event that a run of the gateway caused. */
  readonly chain?: Chain | undefined;
  /** {@link "../core/delivery".Credential.id} of the sender; `null` for a replay, unless a release made it. */
  readonly credentialId?: string | null;
  /** The HTTP status that its caller gets; `null` for a replay, and for a caller that waits for the result. */
  readonly answered?: number | null;
  /** In order; empty for a delivery that ends at once, whose `ended` then says how. */
  readonly runs: readonly NewRun[];
  readonly ended?: EndAtOnce;
  /** Why its runs wait for a person: they are stored as `held`. Only with runs, and with neither `coalesce` nor `overlap`. */
  readonly held?: string | undefined;
  /** The delivery that it is a replay of. */
  readonly replayOf?: string;
  /** Only with exactly one run. */
  readonly coalesce?: CoalesceClaim;
  /** Only without `coalesce`. */
  readonly overlap?: OverlapClaim;
  /** Only without `coalesce` and `overlap`. */
  readonly waits?: WaitClaim | undefined;
  readonly idempotency?: IdempotencyClaim;
  /** By each of them a copy of the request is recognized, whatever it says of itself; at most 8. */
  readonly replayKeys?: readonly ReplayKeyClaim[];
}

/**
 * The immediate end of a delivery, and its reason. One that is `failed` claims nothing, so that its sender's next try is a
 * new call: its `idempotency` and replay keys are only looked up, and when another delivery holds one of them it is
 * a repeat or a conflict like any other. It has neither `coalesce` nor `overlap`.
 */
interface EndAtOnce {
  readonly state: Extract<State, "filtered" | "skipped" | "failed">;
  /**
   * Of a `failed` one, what may show the payload follows the first colon; it goes when retention removes
   * the request.
   */
  readonly reason: string;
}

/** Identifies the copies of a request: by its signed content or its sender's id for it. */
export interface ReplayKeyClaim {
  /** 32 bytes. */
  readonly key: Uint8Array;
  /** Milliseconds since the epoch; the replay key lapses then. */
  readonly expiresAt: number;
}

export interface NewRun {
  /** Runs of one lane are carried out one after the other, in order of acceptance; empty: it waits for no other run. */
  readonly lane: string;
  readonly spec: RunSpec;
  /** Milliseconds since the epoch; a run that has not begun by then is dropped. */
  readonly expiresAt?: number | null;
}

/**
 * A call that may be one of many. While a run with that key coalesces calls the delivery becomes a part of
 * it, in the state `coalesced`; its own run is stored with it, for the coalescing run to read, and never
 * carried out. Otherwise its run begins to coalesce.
 */
export interface CoalesceClaim {
  /** 32 bytes that identify mapping, session and the mapping's key together. */
  readonly key: Uint8Array;
  /** The run is due so long after the latest call ... */
  readonly windowMs: number;
  /** ... and no later than so long after the first. */
  readonly maxWaitMs: number;
}

/** Decides about a call while runs with the same key are open. */
export interface OverlapClaim {
  /** 32 bytes that identify mapping and session together. */
  readonly key: Uint8Array;
  /**
   * `skip`: while one is queued or running, the delivery ends as `skipped`. `latest`: those that are queued
   * and have not begun end as `skipped`, and this one takes their place.
   */
  readonly mode: "skip" | "latest";
}

/** How the one run of a delivery is carried out by the commit that accepts it, for a store on the host's database. */
export interface CarriedOutAtOnce {
  /** The time of its end, in milliseconds since the epoch. */
  readonly at: number;
  /** The host's write; the run is done when it returns nothing. `undefined`: the run waits for its turn. */
  write(runId: string): Pick<EventWrite, "operation" | "args"> | undefined;
}

/** A caller's claim that this request is made once. */
export interface IdempotencyClaim {
  /** 32 bytes that identify route, credential and key together. */
  readonly key: Uint8Array;
  /** 32 bytes that identify the request's content. */
  readonly fingerprint: Uint8Array;
  /** Milliseconds since the epoch; the claim lapses then. */
  readonly expiresAt: number;
}

/** The message of the error for a delivery that both changes waits and joins or replaces others. */
export const GROUPED_WAITS = "A delivery that changes waits neither coalesces nor overlaps.";

/** Why a call was dropped; a part of the contract, since it is answered and listed. */
export const OVERLAP_SKIP_REASON = 'An earlier run was still open when the call came (overlap: "skip").';
/** Why a run was dropped. */
export const OVERLAP_LATEST_REASON = 'A newer call took its place before it began (overlap: "latest").';

/** What became a delivery; `isLeft`: another gateway carries out its runs. */
export type AcceptOutcome = Acceptance & { readonly isLeft?: boolean };

type Acceptance =
  | {
      readonly kind: "accepted";
      readonly deliveryId: string;
      readonly runIds: readonly string[];
      /** Due time of a run that has begun to coalesce calls; absent: at once. */
      readonly dueAt?: number;
      /** Runs that gave way to this one; they are settled as `skipped`, with this reason. */
      readonly superseded?: { readonly runIds: readonly string[]; readonly reason: string };
      /** The wait that it was to make was left out. */
      readonly noRoom?: NoRoom;
      /** Its run was carried out by the same commit. */
      readonly isDone?: boolean;
    }
  /** It became a part of a run that coalesces calls, which is now due at `dueAt`. */
  | { readonly kind: "coalesced"; readonly deliveryId: string; readonly runId: string; readonly dueAt: number }
  /** It was dropped since a run with its overlap key is open; the delivery is stored as `skipped`. */
  | { readonly kind: "skipped"; readonly deliveryId: string; readonly reason: string }
  /** The same request, or one with the same replay key, was accepted before; the first answer's ids. */
  | { readonly kind: "repeat"; readonly deliveryId: string; readonly runIds: readonly string[] }
  /** The same key was claimed by a different request. */
  | { readonly kind: "conflict"; readonly deliveryId: string };
