import type { SettledState, RunSpec } from "./run.ts";

/** A delivery is on disk. */
export interface AcceptedEvent {
  readonly deliveryId: string;
  /** Of a call that was coalesced, the run that it became a part of; empty when it was filtered or skipped. */
  readonly runIds: readonly string[];
  readonly route: string;
  readonly name: string;
}

/** An attempt at a run begins. */
export interface DispatchedEvent {
  readonly runId: string;
  readonly kind: RunSpec["kind"];
  readonly attempt: number;
}

/** A run has reached its final state. */
export interface SettledEvent {
  readonly runId: string;
  readonly kind: RunSpec["kind"];
  readonly state: SettledState;
  readonly reason: string | null;
  /** The agent's whole reply, as far as there is one and this process has it. */
  readonly reply?: string;
}
