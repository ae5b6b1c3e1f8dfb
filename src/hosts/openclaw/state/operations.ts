/** What is written of the adapter's state. Times are milliseconds since the epoch. */
export interface EnqueueEvent {
  readonly session: string;
  readonly key: string;
  readonly at: number;
  readonly text: string;
}

export type EnqueueOutcome = "stored" | "duplicate" | "full";

/** Events that a turn has taken; with the last one, the session's request of a turn is done. */
export interface ConsumeEvents {
  readonly session: string;
  readonly ids: readonly number[];
}

export interface RequestTurn {
  readonly session: string;
  readonly agentId: string;
  readonly reason: string;
}

export interface BeginRun {
  readonly id: string;
  readonly session: string;
  readonly at: number;
}

export type BeginRunOutcome = "begun" | "repeated";

export interface EndRun {
  readonly id: string;
  readonly at: number;
}

/** How many parts of a message the channel took. */
export interface RecordSent {
  readonly channel: string;
  readonly key: string;
  readonly parts: number;
  readonly at: number;
}
