/**
 * The writes that the state of every host has, and their bounds. The threads of SQLite load this file with the
 * state module of a host, so that it imports nothing.
 */

/** The bounds of system events, of messages and of runs in each host's state; documented in `docs/operate/gateway.md`. */
export const SESSION_LIMITS = Object.freeze({
  /** Events of one session that wait for a turn; one more is refused for now. */
  maxPendingEvents: 10_000,
  /** Their bytes together. */
  maxPendingBytes: 67_108_864,
  /** The longest text of one event, in UTF-16 units; a longer one is refused permanently. */
  maxEventChars: 1_048_576,
  /** Least time for which the keys of consumed events, of sent messages and of ended runs are remembered. */
  keyTtlMs: 7 * 24 * 60 * 60 * 1_000,
});

/** Times are milliseconds since the epoch, on the host's clock. */
export interface EnqueueEvent {
  readonly sessionKey: string;
  /** The idempotency key, as it is stored. */
  readonly key: string;
  readonly text: string;
  /** Where the owner wrote it; absent for all other events. */
  readonly owner?: { readonly channel: string; readonly to: string } | undefined;
  /** What is left of the agent's rights to whoever reads it, as JSON; absent: all of them. */
  readonly rights?: string | undefined;
  readonly at: number;
}

/**
 * `duplicate`: an event with this key was stored before. `full`: nothing was stored. `filling`: stored, and the session
 * needs a turn before it is full.
 */
export type EnqueueOutcome = "stored" | "filling" | "duplicate" | "full";

export interface RequestTurn {
  readonly sessionKey: string;
  readonly agentId: string;
  readonly reason: string;
  readonly at: number;
}

/** An event, and the turn that is asked for with it. */
export interface TakeEvent {
  readonly event: EnqueueEvent;
  readonly turn: RequestTurn | undefined;
}

/** `repeated`: a run with this id has begun before; nothing was stored. */
export type BeginRunOutcome = "begun" | "repeated";
