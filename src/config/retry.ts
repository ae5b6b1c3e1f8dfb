import Type, { type Static } from "typebox";
import type { Findings } from "./errors.ts";
import { type Bounds, DAY_SECONDS, milliseconds, seconds, whole, withDefault } from "./schema-parts.ts";

/** The number of attempts and the delays between them. */
export interface RetryPolicy {
  /** Tries in all, at least 1. */
  readonly attempts: number;
  /** Upper bound of the first delay; it doubles, and the delay is drawn from 0 up to it (full jitter). */
  readonly firstDelayMs: number;
  readonly maxDelayMs: number;
}

export interface RetryConfig {
  readonly runs: RetryPolicy;
  /** Of replies to a channel, and of callbacks. */
  readonly deliveries: RetryPolicy;
}

const TRIES: Bounds = { minimum: 1, maximum: 20 };
const DELAY_SECONDS: Bounds = { minimum: 0.001, maximum: 3_600 };
const MAX_DELAY_SECONDS: Bounds = { minimum: 0.001, maximum: DAY_SECONDS };

const attemptsKey = (of: string) => whole(TRIES, `Tries ${of} in all; 1: it is not tried again.`);
const backoff = () =>
  seconds(
    DELAY_SECONDS,
    "Upper bound of the delay before the second try; it doubles with each further one. The delay itself is drawn at random from 0 up to that.",
  );
const maxBackoff = () => seconds(MAX_DELAY_SECONDS, "The largest upper bound.");

/** `hooks.retry`. */
export const RetrySchema = Type.Object(
  {
    attempts: withDefault(attemptsKey("at a run"), 3),
    backoffSeconds: withDefault(backoff(), 30),
    maxBackoffSeconds: withDefault(maxBackoff(), 900),
    delivery: Type.Optional(
      Type.Object(
        {
          attempts: withDefault(attemptsKey("at delivering a reply"), 6),
          backoffSeconds: withDefault(backoff(), 2),
          maxBackoffSeconds: withDefault(maxBackoff(), 60),
        },
        {
          additionalProperties: false,
          description: "The same for delivering a reply to a channel and for sending the result to a callback URL.",
        },
      ),
    ),
  },
  {
    additionalProperties: false,
    description:
      "Retries of runs whose failure the gateway marks as temporary. A run that has replied is never run again.",
  },
);

/** `retry` of a mapping. */
export const MappingRetrySchema = Type.Object(
  {
    attempts: Type.Optional(attemptsKey("at a run")),
    backoffSeconds: Type.Optional(backoff()),
    maxBackoffSeconds: Type.Optional(maxBackoff()),
    delivery: Type.Optional(
      Type.Object(
        {
          attempts: Type.Optional(attemptsKey("at delivering a reply")),
          backoffSeconds: Type.Optional(backoff()),
          maxBackoffSeconds: Type.Optional(maxBackoff()),
        },
        { additionalProperties: false, description: "The same for delivering a reply to a channel." },
      ),
    ),
  },
  { additionalProperties: false, description: "Like `hooks.retry`, for this mapping. A key that is absent: as there." },
);

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
