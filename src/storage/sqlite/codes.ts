/** The codes of the domain's words in the tables; an index must never change its meaning. */
import type { Chain } from "../../core/chain.ts";
import { type Level, LEVELS } from "../../core/delivery.ts";
import type { EndedState, RunState, SettledState } from "../../core/run.ts";
import type { ReplyOutcome } from "../../core/run.ts";
import type { RunStep } from "../../core/run.ts";

/** Runs that one delivery can have; a run's key is `seq * RUNS_PER_DELIVERY + index`. */
export const RUNS_PER_DELIVERY = 4096;

/**
 * By rank: the state of a delivery is the highest of its runs. Done is 0 and left out of the index,
 * queued is near the end so that the index grows where the last insert was.
 */
const runStates = ["done", "canceled", "failed", "held", "queued", "running"] as const satisfies RunState[];

/** Codes of run states that SQL mentions. A skipped run is below all others: it decides nothing as long as there is one. */
export const SKIPPED = -1;
export const DONE = 0;
export const CANCELED = 1;
export const FAILED = 2;
export const HELD = 3;
export const QUEUED = 4;
export const RUNNING = 5;

export function runStateOf(code: number): RunState {
  return code === SKIPPED ? "skipped" : runStates[code]!;
}

/** -1 for a state that no delivery has by its runs; `skipped` is one, since a delivery is then ended. */
export function codeOfRunState(state: string): number {
  return (runStates as readonly string[]).indexOf(state);
}

export function codeOfSettled(state: SettledState): number {
  return state === "skipped" ? SKIPPED : runStates.indexOf(state);
}

const endedStates = ["filtered", "skipped", "duplicate", "coalesced", "failed"] as const satisfies EndedState[];

/** Codes of ends that SQL mentions. */
export const ENDED_FILTERED = 0;
export const ENDED_SKIPPED = 1;
export const ENDED_DUPLICATE = 2;
export const ENDED_COALESCED = 3;
export const ENDED_FAILED = 4;

export function endedStateOf(code: number): EndedState {
  return endedStates[code]!;
}

/** -1 for a state in which no delivery ends that has no run to carry out. */
export function codeOfEnded(state: string): number {
  return (endedStates as readonly string[]).indexOf(state);
}

/** A column that holds nothing and a filter that is not there are both `null`. */
export function codeOfLevel(level: Level | null | undefined): number | null {
  return level == null ? null : LEVELS.indexOf(level);
}

export function levelOf(code: number | null): Level | null {
  return code === null ? null : LEVELS[code]!;
}

export function chainText(chain: Chain | undefined): string | null {
  return chain === undefined ? null : `${chain.id} ${chain.depth}`;
}

export function chainOfText(text: string | null): { readonly chain?: Chain } {
  const [id = "", depth = ""] = text?.split(" ") ?? [];
  return text === null ? {} : { chain: { id, depth: Number(depth) } };
}

const replyOutcomes = [
  "none",
  "pending",
  "sent",
  "suppressed",
  "failed",
  "no-target",
  "fallback",
] as const satisfies ReplyOutcome[];

export function replyOutcomeOfCode(code: number): ReplyOutcome {
  return replyOutcomes[code]!;
}

export function codeOfReplyOutcome(outcome: ReplyOutcome): number {
  return replyOutcomes.indexOf(outcome);
}

/** The column of a run with the time of a step. */
export const STEP_COLUMNS = {
  summarized: "summarized_at",
  delivered: "delivered_at",
  heartbeat: "heartbeat_at",
  "called-back": "called_back_at",
  released: "released_at",
} as const satisfies Record<RunStep, string>;

export const WAKE = 0;
export const AGENT = 1;
