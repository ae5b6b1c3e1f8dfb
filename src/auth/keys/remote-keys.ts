import type { Clock, Logger } from "../../core/host.ts";
import {
  createGuardedFetch,
  fetchableUrl,
  FetchError,
  type GuardedFetch,
  isSuccess,
} from "../../http/guarded-fetch.ts";
import type { JwksKeys, RemoteKeys, SchemeContext } from "../verifier.ts";
import { CERTIFICATE_BOUNDS, type CertificateBounds, CertificateCache } from "./certificate-cache.ts";
import type { CertificateFile } from "./certificate-file.ts";
import { JWKS_BOUNDS, type JwksBounds, JwksSource } from "./jwks-source.ts";

/** Keys of a configuration that is only looked at: nothing is fetched, read or written. */
export const NO_KEYS: Pick<SchemeContext, "remoteKeys" | "deliveredKeys"> = Object.freeze({
  remoteKeys: {
    jwks: () => ({ verify: () => Promise.resolve({ ok: false, reason: "no keys are fetched here" } as const) }),
    certificate: () => undefined,
    confirm: () => Promise.resolve(false),
    close: () => {},
  },
  deliveredKeys: { get: () => undefined, accept: () => Promise.resolve(false) },
});

/** How often and how long keys are fetched. */
export interface RemoteKeyBounds {
  readonly jwks: JwksBounds;
  readonly certificates: CertificateBounds;
}

export const REMOTE_KEY_BOUNDS: RemoteKeyBounds = { jwks: JWKS_BOUNDS, certificates: CERTIFICATE_BOUNDS };

export interface RemoteKeysOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Absent: a guarded fetch with its own bounds. */
  readonly fetch?: GuardedFetch;
  readonly bounds: RemoteKeyBounds;
  /** Keeps certificates over a restart. Absent: they are only in memory. */
  readonly certificateFile?: CertificateFile;
  /** For tests only: see {@link "../../http/guarded-fetch".GuardedFetchOptions.allowLoopback}. */
  readonly allowLoopback?: boolean;
}

/** Every one is refreshed by a timer as long as the gateway runs. */
const MAX_KEY_SETS = 256;

/**
 * Keys that are fetched from identity providers and senders. `jwks` throws a TypeError for a URL that can
 * never be fetched; a provider that does not answer is tried again and refuses nothing but its tokens.
 */
export function createRemoteKeys(options: RemoteKeysOptions): RemoteKeys {
  const { clock, logger, bounds, allowLoopback = false, fetch = createGuardedFetch({ allowLoopback }) } = options;
  const closing = new AbortController();
  const { signal } = closing;
  const common = { clock, logger, fetch, signal };
  const certificates = new CertificateCache({ ...bounds.certificates, ...common, file: options.certificateFile });
  const keySets = new Map<string, JwksKeys>();

  return {
    jwks(text) {
      const url = keySetUrl(text, allowLoopback);
      const known = keySets.get(url.href);
      if (known !== undefined) return known;
      if (keySets.size >= MAX_KEY_SETS) throw new TypeError(`More than ${MAX_KEY_SETS} sets of keys are in use.`);
      const added = new JwksSource({ ...bounds.jwks, ...common, url });
      keySets.set(url.href, added);
      return added;
    },
    certificate: (url, client) => certificates.get(url, client),
    async confirm(url) {
      let reason: string;
      try {
        const { status } = await fetch(url, { signal });
        if (isSuccess(status)) return true;
        reason = `it answers with status ${status}`;
      } catch (error) {
        reason = error instanceof FetchError ? error.message : "it could not be fetched";
      }
      logger.warn({ host: URL.parse(url)?.host, reason }, "a subscription was not confirmed");
      return false;
    },
    close: () => closing.abort(new FetchError("the gateway is closing")),
  };
}

function keySetUrl(text: string, allowLoopback: boolean): URL {
  try {
    return fetchableUrl(text, { allowLoopback });
  } catch (error) {
    throw new TypeError(`No keys can be fetched: ${(error as Error).message}.`, { cause: error });
  }
}
