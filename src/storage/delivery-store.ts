/**
 * The store contract: accepted deliveries, their runs, and what is remembered of callers' keys.
 *
 * Every method that writes resolves only when the write would survive a power failure, and
 * rejects with a {@link StoreError} when it did not take effect; nothing is half written.
 * An implementation passes `test/conformance/store`.
 */
import type { Chain } from "../core/chain.ts";
import type { DeliveryDetail, DeliverySummary, Headers, Level, Query } from "../core/delivery.ts";
import type { RunState, SettledState, State } from "../core/run.ts";
import type { Attempt, ReplyOutcome, RunSpec } from "../core/run.ts";
import type { RunStep } from "../core/run.ts";
import type { AgentActivity } from "../core/agent-rights.ts";
import type { TokenUsage } from "../core/token-usage.ts";
import type { CommitMeasurements } from "../core/measurements.ts";
import type { StatsPage, StatsQuery } from "./delivery-stats.ts";
import type { AcceptOutcome, CarriedOutAtOnce, NewDelivery, NewRun } from "./new-delivery.ts";
import type { OperationalState } from "./operational-state.ts";
import type { OpenRun } from "./open-run.ts";
import type { SharedStore } from "./shared-store.ts";
import type { WaitStore } from "./wait-store.ts";

export interface DeliveryStore extends OperationalState, WaitStore {
  /** What it counts of its commits. */
  readonly commits: CommitMeasurements;
  /** Absent where one gateway uses the store and none can take it over. */
  readonly shared?: SharedStore;
  /**
   * Stores a delivery and its runs in one commit, claiming its idempotency key and its replay keys in the
   * same transaction: of two simultaneous copies exactly one is accepted. Coalescing and overlap are
   * decided there as well. Calls that arrive together share one commit and are committed in the order
   * of the calls. A repeat is stored as a delivery of its own, in the state `duplicate` and without its
   * request; of one delivery at most {@link MAX_LISTED_REPEATS}. The waits that it changes are changed with it.
   *
   * `atOnce` is for a delivery of one run that has nothing to do with others; a store may leave the run to its turn.
   */
  accept(delivery: NewDelivery, atOnce?: CarriedOutAtOnce): Promise<AcceptOutcome>;
  /** Runs that are queued, running or held, in order of acceptance. Read once, at start. */
  openRuns(): AsyncIterable<OpenRun>;
  /** The stored spec and progress of a run. Rejects with `NOT_FOUND` for an unknown id. */
  loadRun(runId: string): Promise<StoredRun>;
  /** Records that an attempt begins; its number counts from 1. */
  beginAttempt(runId: string, attempt: { number: number; startedAt: number }): Promise<void>;
  /** Records how the latest attempt ended, and the reply when there was one. */
  endAttempt(runId: string, end: AttemptEnd): Promise<void>;
  /** Remembers that a step after the run has been carried out, so that a restart skips it. */
  recordStep(runId: string, step: RunStep, done?: StepDone): Promise<void>;
  /** Puts a run that is not settled back into the queue, not to be taken before `dueAt`. */
  postpone(runId: string, until: { dueAt: number; reason: string }): Promise<void>;
  /**
   * Ends the coalescing of calls into a run: later calls begin a run of their own. Call it before the run's
   * calls are read; it does nothing for a run that coalesces none.
   */
  stopCoalescing(runId: string): Promise<void>;
  /** Puts a run on hold, for a person to decide. */
  hold(runId: string, reason: string): Promise<void>;
  /**
   * Ends a run permanently. An attempt of a canceled or skipped run that is under way ends as `aborted`, for the run's
   * reason: no one may wait for it any more. Its own end takes the place of that when it is recorded later.
   */
  settle(runId: string, settled: Settled): Promise<void>;
  /** Ends many runs in one commit; the dispatcher of wakes uses it. */
  settleAll(runIds: readonly string[], settled: Settled): Promise<void>;
  /** Newest first. A page may hold fewer rows than the limit and still have a `nextCursor`. */
  list(query: DeliveryQuery): Promise<DeliveryPage>;
  /**
   * Counts of the deliveries of a period, those of a bounded number at a time: rows of several pages with the same
   * key are to be added up. A page may be empty and still have a `nextCursor`.
   */
  stats(query: StatsQuery): Promise<StatsPage>;
  get(deliveryId: string): Promise<DeliveryDetail | undefined>;
  /** The stored body, exactly as received. */
  body(deliveryId: string): Promise<Uint8Array | undefined>;
  /** The stored parts that a replay needs; `undefined` for an unknown id. */
  replayable(deliveryId: string): Promise<Replayable | undefined>;
  /**
   * The latest replays of a delivery, newest first, at most 10; also when it was removed. One that became a
   * part of another run, or was dropped, is among them, with the state that says so.
   */
  replaysOf(deliveryId: string): Promise<readonly Pick<DeliverySummary, "id" | "state">[]>;
  /** The latest repeats of a delivery, newest first, at most 10. */
  duplicatesOf(deliveryId: string): Promise<readonly Pick<DeliverySummary, "id" | "receivedAt">[]>;
  /** The caller's view of its own delivery; `undefined` unless it was sent with the same credential. */
  stateFor(deliveryId: string, credentialId: string): Promise<DeliveryState | undefined>;
  /**
   * Marks a failed delivery as resolved at `at` (milliseconds since the epoch), with the person's note. False when it
   * is not failed, or was resolved before: the first note stays. Rejects with `NOT_FOUND` for an unknown id.
   */
  resolve(deliveryId: string, resolution: { at: number; note: string | null }): Promise<boolean>;
  /**
   * Removes deliveries at a person's wish, in one short transaction; at most 64 at a time. An open one is
   * left alone, and one whose copies could still arrive loses its request and its replies, and stays listed.
   */
  remove(deliveryIds: readonly string[], now: number): Promise<RemoveOutcome>;
  /**
   * One short step of retention, from the oldest on; to be called again while there is `more`. What stays listed
   * without its request shows nothing of it either: its name is the mapping's or the route's, the reason of one
   * that was filtered is cut before the first value and that of one that failed at once before the first colon, and
   * a reply that was the text itself is gone.
   */
  prune(limits: PruneLimits): Promise<PruneOutcome>;
  /** How much waits. */
  backlog(): Promise<Backlog>;
  /** Finishes what was handed to it and releases its files. */
  close(): Promise<void>;
}

/** The open runs by state. */
export interface Backlog {
  readonly queued: number;
  readonly running: number;
  readonly held: number;
  /** Milliseconds since the epoch at which the oldest queued run was accepted; `null`: none is queued. */
  readonly oldestQueuedAt: number | null;
}

export interface StoredRun extends RunProgress {
  readonly runId: string;
  readonly deliveryId: string;
  readonly lane: string;
  readonly state: RunState;
  readonly spec: RunSpec;
  /** The calls that were coalesced into it. */
  readonly coalesced?: CoalescedCalls;
}

/** The other calls of a coalesced run. */
export interface CoalescedCalls {
  /** Calls in all, its own among them. */
  readonly count: number;
  /** The spec of the latest one. */
  readonly latest: RunSpec;
  /**
   * Texts of all in order, the run's own first; at most {@link MAX_COALESCED_TEXTS} with
   * {@link MAX_COALESCED_CHARS} in all, the latest of them. The very latest is always there.
   */
  readonly texts: readonly string[];
}

/** Texts of coalesced calls that a run is given. */
export const MAX_COALESCED_TEXTS = 500;
/** Characters of these texts together. */
export const MAX_COALESCED_CHARS = 1_000_000;
/** Repeats of one delivery that are listed; the rest is answered and leaves no row. */
export const MAX_LISTED_REPEATS = 100;

/** A delivery as it is needed for a replay. */
export interface Replayable {
  readonly route: string;
  readonly mappingId: string | null;
  readonly name: string;
  readonly receivedAt: number;
  readonly event: string | null;
  readonly actor: string | null;
  readonly level: Level | null;
  readonly chain?: Chain | undefined;
  readonly headers: Headers;
  readonly query: Query;
  /** `null` when it is not kept, or not any more. */
  readonly body: Uint8Array | null;
  /** Its runs as they were accepted; of a coalesced delivery, the one that was never carried out. */
  readonly runs: readonly ReplayableRun[];
  /** Deliveries whose calls are a part of its run, oldest first; at most 10,000. */
  readonly members: readonly string[];
}

/**
 * A run as it was accepted, and its outcome. Of a coalesced delivery, `runId` and `state` are those of
 * the run that its call became a part of; the state is `skipped` when that one is no longer there.
 */
export interface ReplayableRun extends Pick<NewRun, "lane" | "spec"> {
  readonly runId: string;
  readonly state: RunState;
}

/** The caller's view of its delivery. */
export interface DeliveryState {
  readonly deliveryId: string;
  readonly state: State;
  readonly runs: readonly { readonly runId: string; readonly state: RunState }[];
}

export interface RemoveOutcome {
  readonly removed: number;
  /** Lost their request and stay listed. */
  readonly emptied: number;
  /** Open ones, and unknown ids. */
  readonly kept: number;
}

/** Bounds of retention; times are milliseconds since the epoch. */
export interface PruneLimits {
  readonly now: number;
  /** Settled deliveries that were received before are removed. */
  readonly removeBefore: number;
  /** Of settled deliveries that were received before, the request and the runs' texts are removed. */
  readonly emptyBefore: number;
  /**
   * Bytes of deliveries above which the oldest settled ones are removed; `null`: no bound. A delivery counts
   * for its body, headers and query, and the specs and texts of its runs (by their length), and 500 bytes for
   * itself and for each run. One that was accepted before this was recorded counts for nothing.
   */
  readonly maxBytes: number | null;
  /** Deliveries that the step acts on at most; absent: 64. A store may act on fewer. */
  readonly most?: number;
}

export interface PruneOutcome {
  readonly removed: number;
  readonly emptied: number;
  /** True when there may be more to do. */
  readonly more: boolean;
}

/** The progress of a run. */
export interface RunProgress {
  readonly attempts: readonly Attempt[];
  /** The full reply of the attempt that ended `ok`, until the run is settled. */
  readonly reply: string | null;
  readonly steps: readonly RunStep[];
  readonly replyOutcome: ReplyOutcome;
}

/** The end of a run. */
export interface Settled {
  readonly state: SettledState;
  readonly reason: string | null;
  /** Milliseconds since the epoch; absent: it is not known. */
  readonly at?: number;
}

/** A step that was carried out. */
export interface StepDone {
  /** Milliseconds since the epoch; absent: it is not known. */
  readonly at?: number;
  /** Of the step `delivered`. */
  readonly outcome?: ReplyOutcome;
}

export interface AttemptEnd {
  readonly endedAt: number;
  readonly status: Exclude<Attempt["status"], "running">;
  readonly error: string | null;
  readonly reply: string | null;
  readonly usage?: TokenUsage | undefined;
  readonly activity?: readonly AgentActivity[] | undefined;
}

export interface DeliveryQuery {
  readonly state?: State;
  readonly route?: string;
  /** The actor of the event, without regard to case. */
  readonly actor?: string;
  /** Of the actor. */
  readonly level?: Level;
  /** The first delivery of a chain: the others of it are listed. */
  readonly chain?: string;
  /** Milliseconds since the epoch: from this time on, and before that one. */
  readonly receivedFrom?: number;
  readonly receivedBefore?: number;
  /** Found, without regard to the case of ASCII letters, in name, event, reason or the runs' texts. */
  readonly text?: string;
  /** 1 to 200. */
  readonly limit: number;
  readonly cursor?: string;
}

export interface DeliveryPage {
  readonly deliveries: readonly DeliverySummary[];
  readonly nextCursor: string | null;
}

/** The error of a delivery that is to be held against the waits again. */
export function staleWaits(): StoreError {
  return new StoreError("STALE", "The waits are not as they were when the delivery was held against them.");
}

/** The error that a store rejects with. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  /**
   * `UNAVAILABLE`: nothing was written, the same call may succeed later (full disk, locked file);
   * `CLOSED`: the store is closing; `NOT_FOUND`: no such run; `INVALID`: a cursor that the store did not issue;
   * `STALE`: a wait is not as it was when the delivery was held against it, or there are new ones.
   */
  readonly code: "UNAVAILABLE" | "CLOSED" | "NOT_FOUND" | "INVALID" | "STALE";

  constructor(code: StoreError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
