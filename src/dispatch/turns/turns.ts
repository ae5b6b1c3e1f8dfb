/** The turn of an attempt at a run: who carries it out is decided here. */
import type { HandedTurn } from "../../storage/shared-store.ts";
import type { ActiveRun, DispatchContext } from "../context.ts";
import { type AttemptOutcome, type OpenAttempt, runAttempt } from "../run/attempt-turn.ts";
import { persist } from "../run/retry.ts";

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
  /**
   * Records that the attempt begins, calls `begun`, and carries the turn out. Rejects where this gateway leaves it to the
   * one that goes on with the runs.
   */
  carryOut(run: ActiveRun, attempt: OpenAttempt, begun: () => Promise<void>): Promise<TurnEnd>;
  /** A turn that was under way when this gateway began to lead; `undefined`: it ended with the gateway before. */
  resume(run: ActiveRun, attempt: number): Promise<TurnEnd | undefined>;
  /** True: another gateway has the channel. */
  hasChannelElsewhere(channel: string): boolean;
}

/** Where no other gateway is. */
export function ownTurns(context: DispatchContext): Turns {
  return {
    async carryOut(run, attempt, begun) {
      await recordBegin(context, run, attempt);
      await begun();
      return runAttempt(context, run, attempt);
    },
    resume: async () => undefined,
    hasChannelElsewhere: () => false,
  };
}

/** Records that an attempt begins. Its count against budgets and its begin share a commit. */
export async function recordBegin(
  context: DispatchContext,
  { stored: { runId } }: ActiveRun,
  { number, startedAt }: OpenAttempt,
): Promise<void> {
  const begun = persist(context, () => context.store.beginAttempt(runId, { number, startedAt }));
  await Promise.all([begun, context.counted()]);
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
