/**
 * The store contract: accepted deliveries, their runs, and what is remembered of callers' keys.
 *
 * Every method that writes resolves only when the write would survive a power failure, and
 * rejects with a {@link StoreError} when it did not take effect; nothing is half written.
 * An implementation passes `test/conformance/store`.
 */
import type {
  Attempt,
  DeliveryDetail,
  DeliveryOutcome,
  DeliverySummary,
  Headers,
  Query,
  RunSpec,
  RunState,
  SettledState,
  State,
} from "../delivery.ts";

export interface DeliveryStore {
  /**
   * Stores a delivery and its runs in one commit, claiming its idempotency key and its marks in the
   * same transaction: of two simultaneous copies exactly one is accepted. Calls that arrive together
   * share one commit and are committed in the order of the calls.
   */
  accept(delivery: NewDelivery): Promise<AcceptOutcome>;
  /** Runs that are queued, running or held, in order of acceptance. Read once, at start. */
  openRuns(): AsyncIterable<OpenRun>;
  /** The stored spec and progress of a run. Rejects with `NOT_FOUND` for an unknown id. */
  loadRun(runId: string): Promise<StoredRun>;
  /** Records that an attempt begins; its number counts from 1. */
  beginAttempt(runId: string, attempt: { number: number; startedAt: number }): Promise<void>;
  /** Records how the latest attempt ended, and the reply when there was one. */
  endAttempt(runId: string, end: AttemptEnd): Promise<void>;
  /** Remembers that a step after the run has been carried out, so that a restart skips it. */
  recordStep(runId: string, step: RunStep, outcome?: DeliveryOutcome): Promise<void>;
  /** Puts a run on hold, for a person to decide. */
  hold(runId: string, reason: string): Promise<void>;
  /** Ends a run for good. */
  settle(runId: string, settled: { state: SettledState; reason: string | null }): Promise<void>;
  /** Ends many runs in one commit; the dispatcher of wakes uses it. */
  settleAll(runIds: readonly string[], settled: { state: SettledState; reason: string | null }): Promise<void>;
  /** Newest first. A page may hold fewer rows than the limit and still have a `nextCursor`. */
  list(query: DeliveryQuery): Promise<DeliveryPage>;
  get(deliveryId: string): Promise<DeliveryDetail | undefined>;
  /** The stored body, exactly as received. */
  body(deliveryId: string): Promise<Uint8Array | undefined>;
  /** Finishes what was handed to it and releases its files. */
  close(): Promise<void>;
}

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
  /** In order; empty for a delivery that ends at once, whose `ended` then says how. */
  readonly runs: readonly NewRun[];
  readonly ended?: { readonly state: Extract<State, "filtered" | "skipped">; readonly reason: string };
  readonly idempotency?: IdempotencyClaim;
  /** By each of them a copy of the request is recognized, whatever it says of itself; at most 8. */
  readonly marks?: readonly DeliveryMark[];
}

/** What a copy of a request has in common with it: its signed content, its sender's id for it. */
export interface DeliveryMark {
  /** 32 bytes. */
  readonly key: Uint8Array;
  /** Milliseconds since the epoch; the mark lapses then. */
  readonly expiresAt: number;
}

export interface NewRun {
  /** Runs of one lane are carried out one after the other, in order of acceptance. */
  readonly lane: string;
  readonly spec: RunSpec;
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

export type AcceptOutcome =
  | { readonly kind: "accepted"; readonly deliveryId: string; readonly runIds: readonly string[] }
  /** The same request, or one with the same mark, was accepted before; the first answer's ids. */
  | { readonly kind: "repeat"; readonly deliveryId: string; readonly runIds: readonly string[] }
  /** The same key was claimed by a different request. */
  | { readonly kind: "conflict"; readonly deliveryId: string };

/** What the dispatcher must know of an open run to put it in its lane. */
export interface OpenRun {
  readonly runId: string;
  readonly lane: string;
  readonly kind: RunSpec["kind"];
  readonly state: Extract<RunState, "queued" | "running" | "held">;
}

export interface StoredRun extends OpenRunProgress {
  readonly runId: string;
  readonly deliveryId: string;
  readonly lane: string;
  readonly state: RunState;
  readonly spec: RunSpec;
}

/** How far a run has come. */
export interface OpenRunProgress {
  readonly attempts: readonly Attempt[];
  /** The full reply of the attempt that ended `ok`, until the run is settled. */
  readonly reply: string | null;
  readonly steps: readonly RunStep[];
  readonly delivery: DeliveryOutcome;
}

/** The steps after a run, in their order; each is carried out at most once per run. */
export const RUN_STEPS = ["summarized", "delivered", "heartbeat"] as const;
export type RunStep = (typeof RUN_STEPS)[number];

export interface AttemptEnd {
  readonly endedAt: number;
  readonly status: Exclude<Attempt["status"], "running">;
  readonly error: string | null;
  readonly reply: string | null;
}

export interface DeliveryQuery {
  readonly state?: State;
  readonly route?: string;
  /** 1 to 200. */
  readonly limit: number;
  readonly cursor?: string;
}

export interface DeliveryPage {
  readonly deliveries: readonly DeliverySummary[];
  readonly nextCursor: string | null;
}

/** What a store rejects with. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  /**
   * `UNAVAILABLE`: nothing was written, the same call may succeed later (full disk, locked file);
   * `CLOSED`: the store is closing; `NOT_FOUND`: no such run; `INVALID`: a cursor nobody gave out.
   */
  readonly code: "UNAVAILABLE" | "CLOSED" | "NOT_FOUND" | "INVALID";

  constructor(code: StoreError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
