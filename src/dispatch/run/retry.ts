import { setTimeout as sleep } from "node:timers/promises";
import { HostError } from "../../core/host.ts";
import { StoreError } from "../../storage/delivery-store.ts";
import type { DispatchContext } from "../context.ts";

/** How often and how long a step after the durable line is tried again. */
export interface RetrySchedule {
  /** Tries in all; `Infinity` until the signal says stop. */
  readonly tries: number;
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
}

/** What the host cannot begin or take for now, and nothing came of: it is asked until it can. */
export const HOST_RETRY: RetrySchedule = { tries: Infinity, firstDelayMs: 500, maxDelayMs: 10_000 };

/** What may work in a moment is worth about a quarter of a minute, and no more of somebody's slot. */
export const BRIEF_RETRY: RetrySchedule = { ...HOST_RETRY, tries: 6 };

/** State that cannot be written (a full disk) is written later: nothing else may happen before. */
export const STORE_RETRY: RetrySchedule = { tries: Infinity, firstDelayMs: 200, maxDelayMs: 5_000 };

/**
 * Calls `step` until it succeeds, fails for good, the tries are used up or the signal says stop;
 * rejects with its last error. Delays double, with full jitter over their upper half.
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
      if (!isRetryable(error) || attempt >= policy.tries) throw error;
      await sleep(retryDelayMs(policy, attempt), undefined, { signal }).catch(() => {});
      // What was told to stop must not begin anything more, such as a run past its timeout.
      if (signal.aborted) throw error;
    }
  }
}

/** Milliseconds until the next try of what has failed so many times. */
export function retryDelayMs({ firstDelayMs, maxDelayMs }: RetrySchedule, failures: number): number {
  return Math.min(maxDelayMs, firstDelayMs * 2 ** (failures - 1)) * (0.5 + Math.random() / 2);
}

/** True for what may succeed when it is simply done again. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof HostError) return error.retryable;
  return error instanceof StoreError && error.code === "UNAVAILABLE";
}

/** Writes state of a run, as soon as the disk takes it; rejects when it never will, or at a shutdown's deadline. */
export function persist(context: Pick<DispatchContext, "abandon">, write: () => Promise<void>): Promise<void> {
  return retrying(write, STORE_RETRY, context.abandon);
}
