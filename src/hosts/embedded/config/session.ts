/** The `session` section of the configuration, with every default filled in. */
import ms from "ms";
import type { StringValue } from "ms";
import type { Findings } from "../../../config/errors.ts";
import { readBodyBytes } from "../../../config/schema-parts.ts";
import { STORE_BYTES } from "../../../config/schema-parts.ts";
import { showValue } from "../../../config/show-value.ts";
import type { SessionConfig } from "./file.ts";
import type { GatewayFile } from "./schema.ts";

const defaultRetention = "30d";
const DAY_MS = 24 * 3_600_000;
/** A run takes at most a day: what is older belongs to none that is in progress. */
const minRetentionMs = DAY_MS;
const maxRetentionMs = 3_650 * DAY_MS;

export function readSession(written: GatewayFile["session"], findings: Findings): SessionConfig {
  const maxBytes = written?.isolatedMaxBytes;
  return {
    mainKey: written?.mainKey ?? "main",
    isolatedRetentionMs: readRetentionMs(written?.isolatedRetention ?? defaultRetention, findings),
    isolatedMaxBytes:
      maxBytes === undefined ? undefined : readBodyBytes(maxBytes, "session.isolatedMaxBytes", findings, STORE_BYTES),
  };
}

/** The schema bounds numbers; what a string comes to is known only here. */
function readRetentionMs(written: number | string, findings: Findings): number {
  const retentionMs = Math.round(typeof written === "number" ? written * 1_000 : ms(written as StringValue));
  // Not a number is neither.
  if (!(retentionMs >= minRetentionMs && retentionMs <= maxRetentionMs)) {
    findings.refuse("session.isolatedRetention", `${showValue(written)} is not between 1 and 3650 days`);
  }
  return retentionMs;
}
