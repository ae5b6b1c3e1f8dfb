import Type, { type Static } from "typebox";
import { DAY_SECONDS, milliseconds, seconds, whole, withDefault } from "./schema-parts.ts";

/** `hooks.lockout`. */
export const LockoutSchema = Type.Object(
  {
    failures: withDefault(
      whole({ minimum: 1, maximum: 100_000 }, "Failed attempts of one address within the window that lock it."),
      20,
    ),
    windowSeconds: withDefault(seconds({ minimum: 1, maximum: DAY_SECONDS }, "Length of the window."), 60),
    lockSeconds: withDefault(
      seconds({ minimum: 1, maximum: DAY_SECONDS }, "Length of a lock; further attempts do not extend it."),
      60,
    ),
    maxClients: withDefault(
      whole({ minimum: 1, maximum: 1_000_000 }, "Addresses remembered at once; the memory is bounded by it."),
      10_000,
    ),
  },
  {
    additionalProperties: false,
    description:
      "When an address that keeps sending wrong tokens is answered 429. The right token is never locked out.",
  },
);

export interface LockoutConfig {
  /** Failures within the window that lock an address. */
  readonly failures: number;
  readonly windowMs: number;
  readonly lockMs: number;
  /** Addresses remembered at once. */
  readonly maxClients: number;
}

/** Reads `hooks.lockout`. */
export function readLockout(input: Static<typeof LockoutSchema>): LockoutConfig {
  const { failures, windowSeconds, lockSeconds, maxClients } = LockoutSchema.properties;
  return {
    failures: input.failures ?? failures.default,
    windowMs: milliseconds(input.windowSeconds ?? windowSeconds.default),
    lockMs: milliseconds(input.lockSeconds ?? lockSeconds.default),
    maxClients: input.maxClients ?? maxClients.default,
  };
}
