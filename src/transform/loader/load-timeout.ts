import { setTimeout } from "node:timers/promises";
import { ModuleRefusedError } from "../errors.ts";

/** Waits for a module to be loaded; rejects with {@link ModuleRefusedError} when that takes longer. */
export async function withLoadTimeout<Value>(loading: Promise<Value>, timeoutMs: number): Promise<Value> {
  const patience = new AbortController();
  const expire = async (): Promise<never> => {
    await setTimeout(timeoutMs, undefined, { signal: patience.signal });
    throw new ModuleRefusedError(`has not finished loading after ${timeoutMs} ms; look at its top-level awaits`);
  };
  try {
    return await Promise.race([loading, expire()]);
  } finally {
    patience.abort();
  }
}
