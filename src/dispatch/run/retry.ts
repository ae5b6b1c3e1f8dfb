import { setTimeout as sleep } from "node:timers/promises";
import { HostError } from "../../core/host.ts";
import { StoreError } from "../../storage/delivery-store.ts";
import type { DispatchContext, RetrySchedule } from "../context.ts";

/** For steps that the host cannot take yet and that had no effect: retried until it can. */
export const HOST_RETRY: RetrySchedule = { tries: Infinity, firstDelayMs: 500, maxDelayMs: 10_000 };

/** For failures that may pass within about 15 seconds; longer waits must not hold a slot. */
export const BRIEF_RETRY: RetrySchedule = { ...HOST_RETRY, tries: 6 };

/** For state that cannot be written (a full disk): retried before anything else happens. */
export const STORE_RETRY: RetrySchedule = { tries: Infinity, firstDelayMs: 200, maxDelayMs: 5_000 };

/**
 * Calls `step` until it succeeds, fails permanently, the tries are used up or the signal is aborted;
 * rejects with its last error. Delays double, with equal jitter: half of each is fixed, half is random.
 */
export async function retrying<Result>(
  step: () => Promise<Result>,
  policy: RetrySchedule,
  signal: AbortSignal,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await step();
    } catch (error) {
      if (!isRetryable(error) || attempt >= policy.tries || retryAfterOf(error) !== undefined) throw error;
      await sleep(retryDelayMs(policy, attempt), undefined, { signal }).catch(() => {});
      // An aborted step must not begin again, such as a run past its timeout.
      if (signal.aborted) throw error;
    }
  }
}

/** Milliseconds until the next try of what has failed so many times. */
export function retryDelayMs({ firstDelayMs, maxDelayMs }: RetrySchedule, failures: number): number {
  return Math.min(maxDelayMs, firstDelayMs * 2 ** (failures - 1)) * (0.5 + Math.random() / 2);
}

/** The time for which a host refuses the same call, if it knows: no slot is held meanwhile. */
export function retryAfterOf(error: unknown): number | undefined {
  return error instanceof HostError ? error.retryAfterMs : undefined;
}

/** True for an error that may pass when the step is repeated. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof HostError) return error.retryable;
  return error instanceof StoreError && error.code === "UNAVAILABLE";
}

/** Writes state of a run, as soon as the disk takes it; rejects when it never will, or at a shutdown's deadline. */
export function persist(context: Pick<DispatchContext, "abandon">, write: () => Promise<void>): Promise<void> {
  return retrying(write, STORE_RETRY, context.abandon);
}
