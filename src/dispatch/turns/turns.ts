/** The turn of an attempt at a run: who carries it out is decided here. */
import type { HandedTurn } from "../../storage/shared-store.ts";
import type { ActiveRun, DispatchContext } from "../context.ts";
import { type AttemptOutcome, type OpenAttempt, runAttempt } from "../run/attempt-turn.ts";

/** The turn has no outcome: the gateway that carried it out is gone, or was cut off. It may have taken effect. */
export interface LostTurn {
  readonly lost: string;
}

export type TurnEnd = AttemptOutcome | LostTurn;

/** What the gateway that hands a turn out says of it; all else is in the store. */
export interface TurnRequest extends Omit<OpenAttempt, "number"> {
  readonly mappingId: string | null;
}

/** What the gateway that has carried a turn out leaves of it. */
export type LeftOutcome = LostTurn | (AttemptOutcome & { readonly extracted?: string | undefined });

export interface Turns {
  /** Rejects where this gateway leaves the turn to the one that goes on with the runs. */
  carryOut(run: ActiveRun, attempt: OpenAttempt): Promise<TurnEnd>;
  /** A turn that was under way when this gateway began to lead; `undefined`: it ended with the gateway before. */
  resume(run: ActiveRun, attempt: number): Promise<TurnEnd | undefined>;
  /** True: another gateway has the channel. */
  hasChannelElsewhere(channel: string): boolean;
}

/** Where no other gateway is. */
export function ownTurns(context: DispatchContext): Turns {
  return {
    carryOut: (run, attempt) => runAttempt(context, run, attempt),
    resume: async () => undefined,
    hasChannelElsewhere: () => false,
  };
}

/** Names a turn in a map. */
export function nameOf({ runId, attempt }: HandedTurn): string {
  return `${runId} ${attempt}`;
}

/** For the log and the metrics. */
export function statusOf(outcome: TurnEnd): string {
  if ("lost" in outcome) return "interrupted";
  return "notBegun" in outcome ? "not begun" : outcome.status;
}
