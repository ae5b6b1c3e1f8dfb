import type { AgentSpec } from "../../core/delivery.ts";
import type { StoredRun } from "../../storage/delivery-store.ts";

/** One agent run as the parts of its runner work on it. */
export interface RunUnderWay {
  readonly stored: StoredRun;
  readonly spec: AgentSpec;
  readonly mappingId: string | null;
  /** Aborted when a person cancels the run, and when a shutdown leaves it on disk. */
  readonly ending: AbortSignal;
}

/** A step that is tried again later. */
export interface Postponement {
  /** Milliseconds since the epoch. */
  readonly dueAt: number;
  readonly reason: string;
}

/** Tells a postponement from what a step results in otherwise. */
export function isPostponement(value: object): value is Postponement {
  return "dueAt" in value;
}
