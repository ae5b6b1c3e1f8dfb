import type { SettledEvent } from "../core/events.ts";
import type { DispatchContext } from "./context.ts";

/** The facts of a run for its log line. */
export interface LoggedRun {
  readonly mappingId: string | null;
  readonly deliveryId?: string;
  /** Its last attempt, when it has begun. */
  readonly attempt?: StartedAttempt;
}

export interface StartedAttempt {
  readonly number: number;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
}

/** Ends a run for those who watch it: logs one line, counts it, then notifies observers. */
export function reportSettled(
  { logger, clock, events, measurements }: Pick<DispatchContext, "logger" | "clock" | "events" | "measurements">,
  event: SettledEvent,
  { mappingId, deliveryId, attempt }: LoggedRun,
): Promise<void> | undefined {
  const { runId, kind, state } = event;
  measurements.settled.add(kind, state);
  const mapping = mappingId ?? undefined;
  const ms = attempt && Math.max(0, clock.now() - attempt.startedAt);
  const reason = event.reason ?? undefined;
  const line = { runId, deliveryId, mapping, attempt: attempt?.number, state, ms, reason };
  if (state === "failed") logger.warn(line, "run");
  else logger.info(line, "run");
  return events.settled(event);
}
