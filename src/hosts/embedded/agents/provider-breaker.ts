import type { AgentRunResult } from "../../../core/host.ts";
import type { ProviderConfig } from "../config/file.ts";
import type { TurnResult } from "./deadline.ts";

/** Turns of one provider that fail in a row before it is left alone. */
const FAILURES = 5;
const FIRST_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 60_000;
/** The wait of others while one turn tries whether the provider works. */
const PROBE_WAIT_MS = 1_000;
/**
 * `works`: it answered. `down`: it was not reached, or turned the request away for now. `unknown`: the turn was aborted,
 * or failed before.
 */
type TurnEnd = "works" | "down" | "unknown";

interface Provider {
  failures: number;
  pauseMs: number;
  /** Performance time until which no run asks it; `undefined` while it is not left alone. */
  openUntil: number | undefined;
  probing: boolean;
}

/** The answer to a turn that wants to begin: it waits, or begins, perhaps as the one that tries. */
type Entry = { readonly waitMs: number } | { readonly isProbe: boolean };

/**
 * Leaves a provider alone that is down: after five failed turns in a row no further one begins for 5 seconds,
 * then one tries, and each failure doubles the pause up to a minute. One success ends it. So eighty runs make
 * some thirty requests in an outage of a minute, and not hundreds, and use up no attempts while they wait.
 */
export class ProviderBreaker {
  readonly #now: () => number;
  /** By what the active configuration says of a provider: a reload forgets what was known. */
  readonly #providers = new WeakMap<ProviderConfig, Provider>();

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** A turn that begins is followed by {@link ended}. */
  enter(config: ProviderConfig): Entry {
    const provider = this.#providers.get(config);
    if (provider?.openUntil === undefined) return { isProbe: false };
    const waitMs = provider.openUntil - this.#now();
    if (waitMs > 0) return { waitMs };
    if (provider.probing) return { waitMs: PROBE_WAIT_MS };
    provider.probing = true;
    return { isProbe: true };
  }

  ended(config: ProviderConfig, { isProbe }: { readonly isProbe: boolean }, end: TurnEnd): void {
    if (end === "works") {
      this.#providers.delete(config);
      return;
    }
    const provider = this.#of(config);
    if (isProbe) provider.probing = false;
    if (end === "unknown") return;
    provider.failures++;
    const opens = provider.openUntil === undefined ? provider.failures >= FAILURES : isProbe;
    if (!opens) return;
    provider.openUntil = this.#now() + provider.pauseMs;
    provider.pauseMs = Math.min(MAX_PAUSE_MS, provider.pauseMs * 2);
  }

  #of(config: ProviderConfig): Provider {
    let provider = this.#providers.get(config);
    if (provider === undefined) {
      provider = { failures: 0, pauseMs: FIRST_PAUSE_MS, openUntil: undefined, probing: false };
      this.#providers.set(config, provider);
    }
    return provider;
  }
}

/** The end of a turn, by its result. */
export function turnEnd({
  status,
  retryable,
  isUnasked,
}: Pick<AgentRunResult, "status" | "retryable"> & Pick<TurnResult, "isUnasked">): TurnEnd {
  if (status === "ok") return "works";
  if (status !== "error" || isUnasked === true) return "unknown";
  return retryable === true ? "down" : "works";
}
