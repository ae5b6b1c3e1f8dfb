import type { RetryPolicy } from "../../src/config/retry.ts";

/** In the place of `full-jitter.ts`: the upper bound, since what is drawn at random may be over while a test looks. */
export function fullJitter(policy: Pick<RetryPolicy, "firstDelayMs" | "maxDelayMs">, failures: number): number {
  return Math.min(policy.maxDelayMs, policy.firstDelayMs * 2 ** (failures - 1));
}
