import type { RetryPolicy } from "../../config/retry.ts";

/**
 * Milliseconds until something is tried again that has failed so many times: any time from 0 up to a
 * bound that doubles with each failure, up to the policy's own. Many that failed together then do not
 * come back together.
 *
 * Source: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/, "Full Jitter".
 */
export function fullJitter(policy: Pick<RetryPolicy, "firstDelayMs" | "maxDelayMs">, failures: number): number {
  const boundMs = Math.min(policy.maxDelayMs, policy.firstDelayMs * 2 ** (failures - 1));
  return Math.floor(Math.random() * boundMs);
}
