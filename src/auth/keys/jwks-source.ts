import { createLocalJWKSet, errors, jwtVerify } from "jose";
import type { JSONWebKeySet, JWTPayload, LocalJWKSet } from "jose";
import type { Clock, Logger } from "../../core/host.ts";
import type { JwksKeys, JwtVerification } from "../verifier.ts";
import { FetchError, isSuccess } from "../../http/guarded-fetch.ts";
import type { FetchedAnswer, GuardedFetch } from "../../http/guarded-fetch.ts";
import { settledWithin } from "../../core/settled-within.ts";

/** Largest accepted difference between the clocks of an identity provider and of the gateway. */
export const CLOCK_TOLERANCE_SECONDS = 30;

/** In milliseconds. */
export interface JwksBounds {
  /** Between two fetches when the provider does not say how long its keys are good. */
  readonly refreshMs: number;
  /** The bounds of its `max-age`. */
  readonly minRefreshMs: number;
  readonly maxRefreshMs: number;
  /** Before the first retry after a failure, doubled each time up to the second. */
  readonly retryMs: number;
  readonly maxRetryMs: number;
  /** Between two fetches that tokens bring about. */
  readonly cooldownMs: number;
  /** Longest wait of a request for the very first fetch. */
  readonly waitMs: number;
  /** Time for which keys are used when no fetch succeeds. */
  readonly maxStaleMs: number;
}

export interface JwksSourceOptions extends JwksBounds {
  readonly url: URL;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly fetch: GuardedFetch;
  /** Stops fetching permanently. */
  readonly signal: AbortSignal;
}

const ALGORITHMS = ["RS256", "ES256", "EdDSA", "PS256"];
const MAX_KEYS = 100;
export const MAX_TOKEN_LENGTH = 16_384;
const RETRY_AFTER_SECONDS = 5;
export const JWKS_BOUNDS: JwksBounds = {
  refreshMs: 600_000,
  minRefreshMs: 60_000,
  maxRefreshMs: 3_600_000,
  retryMs: 1_000,
  maxRetryMs: 300_000,
  cooldownMs: 30_000,
  waitMs: 2_000,
  maxStaleMs: 86_400_000,
};

/**
 * The keys of one identity provider (a JWK set, RFC 7517): fetched at once and again by a timer, never by
 * a request. Tokens of an unknown key, or that come while there are no keys, make the next fetch come
 * sooner, at most once per cooldown.
 */
export class JwksSource implements JwksKeys {
  readonly #options: JwksSourceOptions;
  readonly #first: Promise<void>;
  #keys: LocalJWKSet | undefined;
  #loadedAt = 0;
  #startedAt = 0;
  #isFetching = false;
  #failures = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: JwksSourceOptions) {
    this.#options = options;
    options.signal.addEventListener("abort", () => clearTimeout(this.#timer));
    this.#first = this.#refresh();
  }

  async verify(
    token: string,
    expected: { issuer: readonly string[]; audience: string; now: number },
  ): Promise<JwtVerification> {
    if (token.length > MAX_TOKEN_LENGTH) return { ok: false, reason: "The token is too long." };
    if (this.#keys === undefined) await settledWithin(this.#first, this.#options.waitMs);
    const keys = this.#usableKeys();
    if (keys === undefined) {
      this.#refreshSooner();
      return {
        ok: false,
        reason: "The keys of the identity provider are not there yet.",
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      };
    }
    try {
      const { payload } = await jwtVerify(token, keys, {
        algorithms: ALGORITHMS,
        issuer: [...expected.issuer],
        audience: expected.audience,
        currentDate: new Date(expected.now),
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        requiredClaims: ["exp"],
      });
      return { ok: true, claims: withoutPrototype(payload) };
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) return { ok: false, reason: jwtRefusalReason(error) };
      this.#refreshSooner();
      const reason = "The token is signed with a key that the identity provider does not name.";
      return this.#isFetching ? { ok: false, reason, retryAfterSeconds: RETRY_AFTER_SECONDS } : { ok: false, reason };
    }
  }

  #usableKeys(): LocalJWKSet | undefined {
    return this.#options.clock.now() - this.#loadedAt <= this.#options.maxStaleMs ? this.#keys : undefined;
  }

  #refreshSooner(): void {
    const sinceMs = this.#options.clock.now() - this.#startedAt;
    // Below 0 the clock was set back.
    if (sinceMs >= this.#options.cooldownMs || sinceMs < 0) void this.#refresh();
  }

  /** Never rejects: what goes wrong is logged and tried again. */
  async #refresh(): Promise<void> {
    const { url, clock, logger, fetch, signal } = this.#options;
    if (this.#isFetching || signal.aborted) return;
    this.#isFetching = true;
    this.#startedAt = clock.now();
    clearTimeout(this.#timer);
    let delayMs: number;
    try {
      const answer = await fetch(url.href, { signal });
      this.#keys = keySetOf(answer);
      this.#loadedAt = clock.now();
      this.#failures = 0;
      delayMs = this.#refreshDelay(answer.headers["cache-control"]);
    } catch (error) {
      delayMs = Math.min(this.#options.retryMs * 2 ** this.#failures++, this.#options.maxRetryMs);
      const reason = error instanceof FetchError ? error.message : "its answer is no set of keys";
      if (!signal.aborted) {
        logger.warn({ host: url.host, reason, retryMs: delayMs }, "the keys of an identity provider were not fetched");
      }
    }
    this.#isFetching = false;
    if (!signal.aborted) this.#timer = setTimeout(() => void this.#refresh(), delayMs).unref();
  }

  #refreshDelay(cacheControl: string | undefined): number {
    const { refreshMs, minRefreshMs, maxRefreshMs } = this.#options;
    const seconds = /(?:^|[\s,])max-age="?(\d+)/i.exec(cacheControl ?? "")?.[1];
    if (seconds === undefined) return refreshMs;
    return Math.min(Math.max(Number(seconds) * 1000, minRefreshMs), maxRefreshMs);
  }
}

function keySetOf({ status, body }: FetchedAnswer): LocalJWKSet {
  if (!isSuccess(status)) throw new FetchError(`it answers with status ${status}`);
  const set = JSON.parse(body.toString("utf8")) as JSONWebKeySet;
  const keys = createLocalJWKSet(set);
  if (set.keys.length > MAX_KEYS) throw new FetchError(`it has more than ${MAX_KEYS} keys`);
  if (set.keys.length === 0) throw new FetchError("it has no keys");
  return keys;
}

/** So that a claim is there only when the token has it. */
export function withoutPrototype(payload: JWTPayload): Readonly<Record<string, unknown>> {
  return Object.assign(Object.create(null) as Record<string, unknown>, payload);
}

/** Names claims, never their values. */
export function jwtRefusalReason(error: unknown): string {
  if (error instanceof errors.JWTExpired) return "The token has expired.";
  if (error instanceof errors.JWTClaimValidationFailed)
    return `The token's claim "${error.claim}" is missing or wrong.`;
  if (error instanceof errors.JOSEAlgNotAllowed) return "The token is signed with an algorithm that is not allowed.";
  if (error instanceof errors.JWSSignatureVerificationFailed) return "The token's signature is wrong.";
  if (error instanceof errors.JWKSMultipleMatchingKeys) return "The token does not say which key signed it.";
  return "The token cannot be read.";
}
