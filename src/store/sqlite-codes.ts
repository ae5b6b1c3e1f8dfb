/** How words of the domain are written in the tables; an index must never change its meaning. */
import type { DeliveryOutcome, RunState, SettledState } from "../delivery.ts";
import type { NewDelivery } from "./delivery-store.ts";

/** Runs that one delivery can have; a run's key is `seq * RUNS_PER_DELIVERY + index`. */
export const RUNS_PER_DELIVERY = 4096;

/**
 * By rank: the state of a delivery is the highest of its runs. Done is 0 and left out of the index,
 * queued is near the end so that the index grows where the last insert was.
 */
const runStates = ["done", "canceled", "failed", "held", "queued", "running"] as const satisfies RunState[];

/** Codes of run states that SQL mentions. */
export const DONE = 0;
export const FAILED = 2;
export const HELD = 3;
export const QUEUED = 4;
export const RUNNING = 5;

export function runStateOf(code: number): RunState {
  return runStates[code]!;
}

/** -1 for a state that a run cannot have. */
export function codeOfRunState(state: string): number {
  return (runStates as readonly string[]).indexOf(state);
}

export function codeOfSettled(state: SettledState): number {
  return runStates.indexOf(state);
}

type EndedState = NonNullable<NewDelivery["ended"]>["state"];
const endedStates = ["filtered", "skipped"] as const satisfies EndedState[];

export function endedStateOf(code: number): EndedState {
  return endedStates[code]!;
}

/** -1 for a state in which no delivery ends at once. */
export function codeOfEnded(state: string): number {
  return (endedStates as readonly string[]).indexOf(state);
}

const outcomes = ["none", "pending", "sent", "suppressed", "failed", "no-target"] as const satisfies DeliveryOutcome[];

export function outcomeOf(code: number): DeliveryOutcome {
  return outcomes[code]!;
}

export function codeOfOutcome(outcome: DeliveryOutcome): number {
  return outcomes.indexOf(outcome);
}

export const WAKE = 0;
export const AGENT = 1;
