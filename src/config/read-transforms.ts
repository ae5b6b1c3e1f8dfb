import type { Static } from "typebox";
import type { Findings } from "./findings.ts";
import type { TransformsConfig } from "./hooks-config.ts";
import { readBodyBytes } from "./quantity.ts";
import { RESULT_BYTES, SANDBOX_BYTES, TransformsSchema } from "./transforms-schema.ts";

const keys = TransformsSchema.properties;

/** Reads `hooks.transforms`. */
export function readTransforms(input: Static<typeof TransformsSchema>, findings: Findings): TransformsConfig {
  const { maxMemory, maxResultBytes } = input;
  return {
    isolation: input.isolation ?? keys.isolation.default,
    timeoutMs: input.timeoutMs ?? keys.timeoutMs.default,
    workers: input.workers ?? keys.workers.default,
    maxMemoryBytes: readBodyBytes(
      maxMemory ?? keys.maxMemory.default,
      "hooks.transforms.maxMemory",
      findings,
      SANDBOX_BYTES,
    ),
    maxCalls: input.maxCalls ?? keys.maxCalls.default,
    maxWaiting: input.maxWaiting ?? keys.maxWaiting.default,
    maxResultBytes: readBodyBytes(
      maxResultBytes ?? keys.maxResultBytes.default,
      "hooks.transforms.maxResultBytes",
      findings,
      RESULT_BYTES,
    ),
  };
}
