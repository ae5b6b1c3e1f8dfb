import { ConfigError } from "./config-error.ts";

/** The configuration error that an error is or was caused by: hooks wrap what their taps throw. */
export function findConfigError(error: unknown): ConfigError | undefined {
  let cause = error;
  for (let depth = 0; depth < maxDepth && cause instanceof Error; depth++) {
    if (cause instanceof ConfigError) return cause;
    ({ cause } = cause);
  }
  return undefined;
}

const maxDepth = 10;
