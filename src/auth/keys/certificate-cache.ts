import { X509Certificate } from "node:crypto";
import type { Clock, Logger } from "../../core/host.ts";
import { FetchError, isSuccess, MAX_URL_LENGTH } from "../../http/guarded-fetch.ts";
import type { GuardedFetch } from "../../http/guarded-fetch.ts";
import type { CertificateFile } from "./certificate-file.ts";
import { settledWithin } from "../../core/settled-within.ts";

export interface CertificateBounds {
  /** Certificates that are kept; the one not asked for the longest goes first. */
  readonly maxCertificates: number;
  /** URLs without a certificate that are remembered. */
  readonly maxRefused: number;
  /** Time before a URL that failed is fetched again, in milliseconds. */
  readonly refusedMs: number;
  /** First fetches in progress at a time from one host, and refreshes from all. */
  readonly maxFetches: number;
  /** First fetches begun within a minute: for all callers, from one host, for one client address. */
  readonly maxFetchesPerMinute: number;
  readonly maxFetchesPerHost: number;
  readonly maxFetchesPerClient: number;
  /** Longest wait for a first fetch, in milliseconds. */
  readonly waitMs: number;
  /** The age from which a certificate is fetched again, in milliseconds. */
  readonly refreshMs: number;
}

export interface CertificateCacheOptions extends CertificateBounds {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly fetch: GuardedFetch;
  /** Stops fetching permanently. */
  readonly signal: AbortSignal;
  /** Keeps certificates over a restart. Absent: they are only in memory. */
  readonly file?: Pick<CertificateFile, "stored" | "save"> | undefined;
}

interface CachedCertificate {
  readonly pem: string;
  /** Time of the fetch, or of the latest attempt. */
  checkedAt: number;
}

const MAX_PEM_BYTES = 65_536;
const MINUTE_MS = 60_000;
/** After a refresh that failed: what is known is still good. */
const RETRY_MS = 300_000;
const GONE = new Set([404, 410]);
const NO_FILE: Pick<CertificateFile, "stored" | "save"> = { stored: [], save: () => {} };
export const CERTIFICATE_BOUNDS: CertificateBounds = {
  maxCertificates: 64,
  maxRefused: 256,
  refusedMs: 30_000,
  maxFetches: 4,
  maxFetchesPerMinute: 120,
  maxFetchesPerHost: 30,
  maxFetchesPerClient: 5,
  waitMs: 2_000,
  refreshMs: 86_400_000,
};

/**
 * Certificates by URL. Anyone who calls names the URL, so first fetches are counted for each client address and
 * each host, and a URL that had none is left alone for a while; known certificates stay at hand meanwhile, also
 * after a restart. A client that uses up its share leaves that of other clients alone.
 */
export class CertificateCache {
  readonly #options: Required<Omit<CertificateCacheOptions, "file">>;
  readonly #file: Pick<CertificateFile, "stored" | "save">;
  /** In the order in which they were last asked for. */
  readonly #known = new Map<string, CachedCertificate>();
  /** Until when a URL is not asked again. */
  readonly #refused = new Map<string, number>();
  readonly #fetches = new Map<string, { readonly host: string; readonly done: Promise<void> }>();
  readonly #refreshes = new Set<string>();
  #minuteStart = Number.NEGATIVE_INFINITY;
  #begunThisMinute = 0;
  /** First fetches of this minute by client and by host; at most two entries for each fetch. */
  readonly #begun = new Map<string, number>();

  constructor(options: CertificateCacheOptions) {
    this.#options = options;
    this.#file = options.file ?? NO_FILE;
    const kept = this.#file.stored.slice(-this.#options.maxCertificates);
    for (const { url, pem, checkedAt } of kept) this.#known.set(url, { pem, checkedAt });
  }

  /** See {@link "../verifier".RemoteKeys.certificate}. */
  get(url: string, client?: string): Promise<string | undefined> | string | undefined {
    if (url.length > MAX_URL_LENGTH) return undefined;
    const known = this.#known.get(url);
    if (known !== undefined) return this.#touch(url, known);
    const fetch = this.#fetches.get(url)?.done ?? this.#begin(url, client);
    return fetch && this.#await(url, fetch);
  }

  #touch(url: string, known: CachedCertificate): string {
    this.#known.delete(url);
    this.#known.set(url, known);
    const isOld = this.#options.clock.now() - known.checkedAt > this.#options.refreshMs;
    if (isOld && !this.#refreshes.has(url) && this.#refreshes.size < this.#options.maxFetches) {
      this.#refreshes.add(url);
      void this.#refresh(url, known).finally(() => this.#refreshes.delete(url));
    }
    return known.pem;
  }

  async #await(url: string, fetch: Promise<void>): Promise<string | undefined> {
    await settledWithin(fetch, this.#options.waitMs);
    return this.#known.get(url)?.pem;
  }

  #begin(url: string, client: string | undefined): Promise<void> | undefined {
    const now = this.#options.clock.now();
    const refusedUntil = this.#refused.get(url) ?? 0;
    // One that is farther away than any that is given means that the clock was set back.
    if (refusedUntil > now && refusedUntil <= now + this.#options.refusedMs) return undefined;
    const host = URL.parse(url)?.host ?? "";
    if ([...this.#fetches.values()].filter((fetch) => fetch.host === host).length >= this.#options.maxFetches) {
      return undefined;
    }
    if (!this.#count(now, host, client)) return undefined;
    const done = this.#fetchFirst(url).finally(() => this.#fetches.delete(url));
    this.#fetches.set(url, { host, done });
    return done;
  }

  /** Counts a first fetch; false when a share of this minute is used up. */
  #count(now: number, host: string, client: string | undefined): boolean {
    if (now - this.#minuteStart >= MINUTE_MS || now < this.#minuteStart) {
      this.#minuteStart = now;
      this.#begunThisMinute = 0;
      this.#begun.clear();
    }
    const { maxFetchesPerMinute, maxFetchesPerHost, maxFetchesPerClient } = this.#options;
    const ofHost = this.#begun.get(`host ${host}`) ?? 0;
    const ofClient = this.#begun.get(`client ${client}`) ?? 0;
    if (this.#begunThisMinute >= maxFetchesPerMinute || ofHost >= maxFetchesPerHost) return false;
    if (client !== undefined && ofClient >= maxFetchesPerClient) return false;
    this.#begunThisMinute++;
    this.#begun.set(`host ${host}`, ofHost + 1);
    this.#begun.set(`client ${client}`, ofClient + 1);
    return true;
  }

  /** Never rejects. */
  async #fetchFirst(url: string): Promise<void> {
    try {
      this.#keep(url, await this.#fetch(url));
    } catch (error) {
      this.#refuse(url);
      this.#log(url, error);
    }
  }

  /** Never rejects. */
  async #refresh(url: string, known: CachedCertificate): Promise<void> {
    try {
      this.#keep(url, await this.#fetch(url));
    } catch (error) {
      if (error instanceof CertificateGoneError) {
        this.#known.delete(url);
        this.#refuse(url);
        this.#save();
      } else {
        known.checkedAt = this.#options.clock.now() - this.#options.refreshMs + RETRY_MS;
      }
      this.#log(url, error);
    }
  }

  async #fetch(url: string): Promise<string> {
    const { status, body } = await this.#options.fetch(url, { signal: this.#options.signal });
    if (GONE.has(status)) throw new CertificateGoneError(`it is gone (status ${status})`);
    if (!isSuccess(status)) throw new FetchError(`it answers with status ${status}`);
    if (body.length > MAX_PEM_BYTES) throw new FetchError("it is too large for a certificate");
    return pemOf(body);
  }

  #keep(url: string, pem: string): void {
    this.#known.set(url, { pem, checkedAt: this.#options.clock.now() });
    dropFirst(this.#known, this.#options.maxCertificates);
    this.#save();
  }

  #save(): void {
    this.#file.save([...this.#known].map(([url, { pem, checkedAt }]) => ({ url, pem, checkedAt })));
  }

  #refuse(url: string): void {
    this.#refused.delete(url);
    this.#refused.set(url, this.#options.clock.now() + this.#options.refusedMs);
    dropFirst(this.#refused, this.#options.maxRefused);
  }

  #log(url: string, error: unknown): void {
    if (this.#options.signal.aborted) return;
    const reason = error instanceof FetchError ? error.message : "it could not be fetched";
    this.#options.logger.warn({ host: URL.parse(url)?.host, reason }, "a sender's certificate was not fetched");
  }
}

class CertificateGoneError extends FetchError {}

/** The first certificate of an answer, in the one way of writing it; also reads DER. */
function pemOf(bytes: Buffer): string {
  try {
    return new X509Certificate(bytes).toString();
  } catch (error) {
    throw new FetchError("it is no certificate", { cause: error });
  }
}

/** Drops the oldest entry of a map that has one too many. */
function dropFirst(map: Map<string, unknown>, max: number): void {
  if (map.size <= max) return;
  for (const key of map.keys()) {
    map.delete(key);
    return;
  }
}
