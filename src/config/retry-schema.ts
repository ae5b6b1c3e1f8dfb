import Type from "typebox";
import { DAY_SECONDS, seconds, whole, withDefault } from "./schema-parts.ts";
import type { Bounds } from "./schema-parts.ts";

const TRIES: Bounds = { minimum: 1, maximum: 20 };
const DELAY_SECONDS: Bounds = { minimum: 0.001, maximum: 3_600 };
const MAX_DELAY_SECONDS: Bounds = { minimum: 0.001, maximum: DAY_SECONDS };

const attempts = (of: string) => whole(TRIES, `Tries ${of} in all; 1: it is not tried again.`);
const backoff = () =>
  seconds(
    DELAY_SECONDS,
    "Upper bound of the delay before the second try; it doubles with each further one. The delay itself is drawn at random from 0 up to that.",
  );
const maxBackoff = () => seconds(MAX_DELAY_SECONDS, "What the upper bound does not grow beyond.");

/** `hooks.retry`. */
export const RetrySchema = Type.Object(
  {
    attempts: withDefault(attempts("at a run"), 3),
    backoffSeconds: withDefault(backoff(), 30),
    maxBackoffSeconds: withDefault(maxBackoff(), 900),
    delivery: Type.Optional(
      Type.Object(
        {
          attempts: withDefault(attempts("at delivering a reply"), 6),
          backoffSeconds: withDefault(backoff(), 2),
          maxBackoffSeconds: withDefault(maxBackoff(), 60),
        },
        {
          additionalProperties: false,
          description: "The same for delivering a reply to a channel, and for telling the result to a callback URL.",
        },
      ),
    ),
  },
  {
    additionalProperties: false,
    description:
      "How a run is tried again whose failure the gateway marks as one that may pass. A run that has replied is never run again.",
  },
);

/** `retry` of a mapping. */
export const MappingRetrySchema = Type.Object(
  {
    attempts: Type.Optional(attempts("at a run")),
    backoffSeconds: Type.Optional(backoff()),
    maxBackoffSeconds: Type.Optional(maxBackoff()),
    delivery: Type.Optional(
      Type.Object(
        {
          attempts: Type.Optional(attempts("at delivering a reply")),
          backoffSeconds: Type.Optional(backoff()),
          maxBackoffSeconds: Type.Optional(maxBackoff()),
        },
        { additionalProperties: false, description: "The same for delivering a reply to a channel." },
      ),
    ),
  },
  { additionalProperties: false, description: "Like `hooks.retry`, for this mapping. A key that is absent: as there." },
);
