/** Sources of keys with the parts around them, and a provider in front of them. */
import { expect, onTestFinished } from "vitest";
import { createGuardedFetch, FetchError } from "../../../../src/http/guarded-fetch.ts";
import type { FetchedAnswer, GuardedFetch } from "../../../../src/http/guarded-fetch.ts";
import { JWKS_BOUNDS, JwksSource } from "../../../../src/auth/keys/jwks-source.ts";
import type { JwksBounds } from "../../../../src/auth/keys/jwks-source.ts";
import { eventually, json, keepingLogger, startKeyServer, testClock } from "./key-server.ts";
import { AUDIENCE, ISSUER, keySet } from "./make-token.ts";
import type { ProviderKey } from "./make-token.ts";

export const NOT_THERE = {
  ok: false,
  reason: "The keys of the identity provider are not there yet.",
  retryAfterSeconds: 5,
};
export const UNKNOWN_KEY = {
  ok: false,
  reason: "The token is signed with a key that the identity provider does not name.",
};
export const UNKNOWN_KEY_FOR_NOW = { ...UNKNOWN_KEY, retryAfterSeconds: 5 };
export const NOT_FETCHED = "the keys of an identity provider were not fetched";

/** For tests in which the keys come: how fast is not their matter. */
const PATIENT: Partial<JwksBounds> = { waitMs: 15_000 };

/** A source of keys with the parts around it. */
export function sourceOf(url: string, options: Partial<JwksBounds> & { fetch?: GuardedFetch } = PATIENT) {
  const clock = testClock();
  const logger = keepingLogger();
  const closing = new AbortController();
  const close = () => closing.abort(new FetchError("closed"));
  onTestFinished(close);
  const fetch = createGuardedFetch({ allowLoopback: true, timeoutMs: 15_000 });
  const source = new JwksSource({
    ...JWKS_BOUNDS,
    fetch,
    ...options,
    url: new URL(url),
    clock,
    logger,
    signal: closing.signal,
  });
  const verify = (token: string, expected: { issuer?: readonly string[]; audience?: string } = {}) =>
    source.verify(token, { issuer: [ISSUER], audience: AUDIENCE, now: clock.now(), ...expected });
  return { source, clock, logger, verify, close };
}

/** A source whose keys have come. */
export async function readySource(keys: readonly ProviderKey[], options: Partial<JwksBounds> = {}) {
  const server = await startKeyServer(json(keySet(...keys)));
  const parts = sourceOf(`${server.origin}/certs`, { ...PATIENT, ...options });
  await eventually(async () =>
    expect(await parts.verify("")).toEqual({ ok: false, reason: "The token cannot be read." }),
  );
  return { server, ...parts };
}

/** Answers of a provider from memory, for tests that set the timers. */
export function providerOf(answer: () => { keys: object[] } | undefined, headers: Record<string, string> = {}) {
  const fetch: GuardedFetch = (_url, { signal } = {}) => next(signal!);
  const provider = { fetches: 0, fetch, signals: [] as AbortSignal[] };
  const next = (signal: AbortSignal): Promise<FetchedAnswer> => {
    provider.fetches++;
    provider.signals.push(signal);
    const keys = answer();
    if (keys === undefined) return Promise.reject(new FetchError("down"));
    return Promise.resolve({ status: 200, headers, body: Buffer.from(JSON.stringify(keys)) });
  };
  return provider;
}
