import type { Static } from "typebox";
import type { Findings } from "./findings.ts";
import type { RetryConfig, RetryPolicy } from "./hooks-config.ts";
import { milliseconds } from "./quantity.ts";
import { RetrySchema } from "./retry-schema.ts";
import type { MappingRetrySchema } from "./retry-schema.ts";

const { attempts, backoffSeconds, maxBackoffSeconds, delivery } = RetrySchema.properties;

/** As `hooks.retry` is when nothing is written. */
export const DEFAULT_RETRY: RetryConfig = {
  runs: {
    attempts: attempts.default,
    firstDelayMs: milliseconds(backoffSeconds.default),
    maxDelayMs: milliseconds(maxBackoffSeconds.default),
  },
  deliveries: {
    attempts: delivery.properties.attempts.default,
    firstDelayMs: milliseconds(delivery.properties.backoffSeconds.default),
    maxDelayMs: milliseconds(delivery.properties.maxBackoffSeconds.default),
  },
};

type RetryInput = Static<typeof MappingRetrySchema>;

/** Lays a `retry` over another, key by key; `where` is its key. */
export function readRetry(
  input: RetryInput | undefined,
  base: RetryConfig,
  where: string,
  findings: Findings,
): RetryConfig {
  if (input === undefined) return base;
  return {
    runs: readPolicy(input, base.runs, where, findings),
    deliveries: readPolicy(input.delivery ?? {}, base.deliveries, `${where}.delivery`, findings),
  };
}

/** A longer first delay alone raises the bound that was not written with it. */
function readPolicy(
  { attempts: tries, backoffSeconds: first, maxBackoffSeconds: longest }: Omit<RetryInput, "delivery">,
  base: RetryPolicy,
  where: string,
  findings: Findings,
): RetryPolicy {
  const firstDelayMs = first === undefined ? base.firstDelayMs : milliseconds(first);
  const maxDelayMs = longest === undefined ? Math.max(base.maxDelayMs, firstDelayMs) : milliseconds(longest);
  if (maxDelayMs < firstDelayMs) {
    findings.refuse(
      `${where}.maxBackoffSeconds`,
      `must not be less than backoffSeconds, which is ${firstDelayMs / 1_000}`,
    );
  }
  return { attempts: tries ?? base.attempts, firstDelayMs, maxDelayMs };
}
