/** A run that has not ended, as the dispatcher gets it from the store: a part of the store contract. */
import type { RunSpec, RunState } from "../core/run.ts";

/** The fields of an open run that the dispatcher needs to put it in its lane. */
export interface OpenRun {
  readonly runId: string;
  readonly mappingId: string | null;
  readonly lane: string;
  readonly kind: RunSpec["kind"];
  readonly state: Extract<RunState, "queued" | "running" | "held">;
  /** Milliseconds since the epoch before which it is not begun; `null`: at once. */
  readonly dueAt: number | null;
  /** Milliseconds since the epoch by which a host must have begun it; `null`: it can wait for ever, or one has. */
  readonly expiresAt: number | null;
  /** True when an attempt at it was made. */
  readonly begun: boolean;
  /** True when the agent has replied already and only what follows is left. */
  readonly replied: boolean;
}
