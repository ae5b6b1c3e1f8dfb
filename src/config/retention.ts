import Type, { type Static } from "typebox";
import type { Findings } from "./errors.ts";
import {
  duration,
  readBodyBytes,
  readTtlMs,
  RETENTION_SECONDS,
  size,
  STORE_BYTES,
  withDefault,
} from "./schema-parts.ts";

/** `hooks.retention`. */
export const RetentionSchema = Type.Object(
  {
    deliveries: withDefault(
      duration(RETENTION_SECONDS, "Settled deliveries are removed after that long. An open one never is."),
      "30d",
    ),
    payloads: withDefault(
      duration(
        RETENTION_SECONDS,
        "Their requests (headers, query and body) are removed after that long, so that they can no longer be replayed from them; not more than `deliveries`.",
      ),
      "30d",
    ),
    maxBytes: Type.Optional(
      size(
        STORE_BYTES,
        "Bytes of deliveries above which the oldest settled ones are removed before their time: each counts for its request, the texts of its runs, and 500 bytes for itself and for each run. What else is in the database does not count. Absent: no bound.",
      ),
    ),
  },
  { additionalProperties: false, description: "How long deliveries are kept." },
);

export interface RetentionConfig {
  /** Settled deliveries are removed after that long. */
  readonly deliveriesMs: number;
  /** Their requests (headers, query, body) after that long. */
  readonly payloadsMs: number;
  /** Bytes of the database above which the oldest settled ones are removed; `undefined`: no bound. */
  readonly maxBytes: number | undefined;
}

const WHERE = "hooks.retention";
const defaults = RetentionSchema.properties;

/** Reads `hooks.retention`. Payloads are kept no longer than their deliveries. */
export function readRetention(input: Static<typeof RetentionSchema>, findings: Findings): RetentionConfig {
  const milliseconds = (value: number | string, key: string): number =>
    readTtlMs(value, `${WHERE}.${key}`, findings, RETENTION_SECONDS);
  const deliveriesMs = milliseconds(input.deliveries ?? defaults.deliveries.default, "deliveries");
  const payloadsMs =
    input.payloads === undefined
      ? Math.min(deliveriesMs, milliseconds(defaults.payloads.default, "payloads"))
      : milliseconds(input.payloads, "payloads");
  if (payloadsMs > deliveriesMs) findings.refuse(`${WHERE}.payloads`, "must not be more than deliveries");
  const { maxBytes } = input;
  return {
    deliveriesMs,
    payloadsMs,
    maxBytes: maxBytes === undefined ? undefined : readBodyBytes(maxBytes, `${WHERE}.maxBytes`, findings, STORE_BYTES),
  };
}
