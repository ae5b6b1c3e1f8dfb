import type { Findings } from "./errors.ts";
import type { RetentionConfig } from "./hooks-config.ts";
import { RetentionSchema } from "./operation-schema.ts";
import { readBodyBytes, readTtlMs } from "./schema-parts.ts";
import { RETENTION_SECONDS, STORE_BYTES } from "./schema-parts.ts";
import type { HooksInput } from "./hooks.ts";

const WHERE = "hooks.retention";
const defaults = RetentionSchema.properties;

/** Reads `hooks.retention`: requests are kept as long as what they belong to, when nobody says how long. */
export function readRetention(input: NonNullable<HooksInput["retention"]>, findings: Findings): RetentionConfig {
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
