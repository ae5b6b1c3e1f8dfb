import { lookup } from "node:dns/promises";
import http from "node:http";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import https from "node:https";
import { isIP } from "node:net";
import { isPublicAddress } from "./public-address.ts";

/** GETs a URL, or POSTs to it; rejects with a {@link FetchError} when there is no answer that may be used. */
export type GuardedFetch = (url: string, options?: FetchCallOptions) => Promise<FetchedAnswer>;

export interface FetchCallOptions {
  readonly signal?: AbortSignal;
  /** Absent: GET. */
  readonly post?: OutgoingPost;
}

/** The body to post; of the answer only the status and the headers are read, unless its body is wanted too. */
export interface OutgoingPost {
  /** Names in lower case; the length is added. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly readsAnswer?: boolean;
}

export interface FetchedAnswer {
  /** 200 to 299 or 400 to 599. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** Empty unless the status is 2xx, and after a POST that does not want it. */
  readonly body: Buffer;
}

/** Why nothing was fetched; the message may be logged: it holds no part of the URL but names. */
export class FetchError extends Error {
  override readonly name = "FetchError";
  /** True when the same call may succeed later. */
  readonly retryable: boolean;

  constructor(message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.retryable = options.retryable ?? false;
  }
}

export interface GuardedFetchOptions {
  /** Of the answer's body. Absent: 256 KiB. */
  readonly maxBytes?: number;
  /** For everything, from the name's resolution to the last byte. Absent: 5,000. */
  readonly timeoutMs?: number;
  /** Finds the addresses of a host name. Absent: as the system does. */
  readonly resolve?: (hostname: string) => Promise<readonly HostAddress[]>;
  /** For tests only: 127.0.0.1 may be fetched from too, at any port, and then without TLS as well. */
  readonly allowLoopback?: boolean;
}

export interface HostAddress {
  readonly address: string;
  readonly family: number;
}

/** Longer ones are not fetched. */
export const MAX_URL_LENGTH = 2_048;
const MAX_BYTES = 262_144;
const TIMEOUT_MS = 5_000;
/** Fetches in progress at a time; further ones wait. */
const MAX_CONCURRENT = 8;
/** Fetches that wait; further ones are refused. */
const MAX_WAITING = 256;
const LOOPBACK = "127.0.0.1";
const HEADERS = { accept: "*/*", "accept-encoding": "identity", "user-agent": "reveille" };

/**
 * The one way to keys outside and to callers' callbacks: https at port 443 only, no redirects, no proxies,
 * no credentials in the URL, bounded in time and size. The host's name is resolved once, every address of it must
 * be public, and the connection goes to one of those addresses: a name that changes its mind between
 * check and use (DNS rebinding) changes nothing.
 */
export function createGuardedFetch(options: GuardedFetchOptions = {}): GuardedFetch {
  const { timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES, allowLoopback = false, resolve = resolveName } = options;
  const slots = createLimiter(MAX_CONCURRENT, MAX_WAITING);

  async function exchange(url: URL, signal: AbortSignal, post: OutgoingPost | undefined): Promise<FetchedAnswer> {
    const addresses = await addressesOf(url, resolve);
    if (!addresses.every(({ address }) => isPublicAddress(address) || (allowLoopback && address === LOOPBACK))) {
      throw new FetchError("its host has an address that is not public");
    }
    return request(url, { addresses, signal, maxBytes, post });
  }

  return async (text, { signal: stopped, post } = {}) => {
    const url = fetchableUrl(text, { allowLoopback });
    await slots.take();
    const overdue = new AbortController();
    const timer = setTimeout(() => {
      overdue.abort(new FetchError(`it took longer than ${timeoutMs} ms`, { retryable: true }));
    }, timeoutMs);
    const signal = stopped === undefined ? overdue.signal : AbortSignal.any([overdue.signal, stopped]);
    const aborted = Promise.withResolvers<never>();
    const onAbort = (): void => aborted.reject(fetchErrorOf(signal.reason));
    try {
      signal.throwIfAborted();
      signal.addEventListener("abort", onAbort);
      return await Promise.race([exchange(url, signal, post), aborted.promise]);
    } catch (error) {
      throw signal.aborted ? fetchErrorOf(signal.reason) : fetchErrorOf(error);
    } finally {
      // A joined signal with a listener is kept as long as those that it was joined of, which is as long as the gateway runs.
      signal.removeEventListener("abort", onAbort);
      clearTimeout(timer);
      slots.give();
    }
  };
}

/** Reads a URL that may be fetched; throws a {@link FetchError} that says why it never is. */
export function fetchableUrl(text: string, { allowLoopback = false }: { allowLoopback?: boolean } = {}): URL {
  const url = text.length > MAX_URL_LENGTH ? null : URL.parse(text);
  if (url === null) throw new FetchError("its URL cannot be read");
  if (url.username !== "" || url.password !== "") throw new FetchError("its URL holds credentials");
  const isPlain = url.protocol === "http:" && allowLoopback && url.hostname === LOOPBACK;
  if (url.protocol !== "https:" && !isPlain) throw new FetchError("its URL does not begin with https://");
  if (url.port !== "" && !allowLoopback) throw new FetchError("its URL names another port than 443");
  return url;
}

function resolveName(hostname: string): Promise<readonly HostAddress[]> {
  return lookup(hostname, { all: true });
}

async function addressesOf(
  { hostname }: URL,
  resolve: NonNullable<GuardedFetchOptions["resolve"]>,
): Promise<readonly HostAddress[]> {
  const literal = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname;
  const family = isIP(literal);
  if (family !== 0) return [{ address: literal, family }];
  const addresses = await resolve(hostname);
  if (addresses.length === 0) throw new FetchError("its host has no address");
  return addresses;
}

interface RequestBounds {
  readonly addresses: readonly HostAddress[];
  readonly signal: AbortSignal;
  readonly maxBytes: number;
  readonly post: OutgoingPost | undefined;
}

function request(url: URL, { addresses, signal, maxBytes, post }: RequestBounds): Promise<FetchedAnswer> {
  // An agent of its own: the environment may set a proxy for the global one.
  const connection = {
    autoSelectFamily: true,
    lookup: (_hostname: string, _options: object, answer: (error: null, all: HostAddress[]) => void) => {
      answer(null, [...addresses]);
    },
  };
  return new Promise((resolve, reject) => {
    let isAnswered = false;
    const onAnswer = (response: IncomingMessage) => {
      isAnswered = true;
      readAnswer(response, { maxBytes, statusOnly: post !== undefined && post.readsAnswer !== true })
        .then(resolve, reject)
        .finally(() => outgoing.destroy());
    };
    const common = { signal, method: post ? "POST" : "GET", headers: { ...HEADERS, ...post?.headers } };
    const outgoing =
      url.protocol === "http:"
        ? http.request(url, { ...common, agent: new http.Agent(connection) }, onAnswer)
        : https.request(
            url,
            // Explicit, since the environment may turn the check off for the whole process.
            { ...common, agent: new https.Agent({ ...connection, rejectUnauthorized: true }) },
            onAnswer,
          );
    outgoing.on("error", reject);
    outgoing.on("close", () => {
      if (!isAnswered) reject(new FetchError("the connection was closed without an answer", { retryable: true }));
    });
    outgoing.end(post?.body);
  });
}

async function readAnswer(
  response: IncomingMessage,
  { maxBytes, statusOnly }: { maxBytes: number; statusOnly: boolean },
): Promise<FetchedAnswer> {
  const { headers } = response;
  const status = response.statusCode!;
  if (status >= 300 && status < 400) throw new FetchError(`it answers with a redirect (${status})`);
  if (statusOnly || !isSuccess(status)) return { status, headers, body: Buffer.alloc(0) };
  const tooLarge = `its answer is larger than ${maxBytes} bytes`;
  if (Number(headers["content-length"]) > maxBytes) throw new FetchError(tooLarge);
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw new FetchError(tooLarge);
    chunks.push(chunk);
  }
  return { status, headers, body: Buffer.concat(chunks) };
}

/** True when a status is 2xx. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Other errors are reported by their code alone: their messages hold the request. */
function fetchErrorOf(error: unknown): FetchError {
  if (error instanceof FetchError) return error;
  const code = error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "no code";
  return new FetchError(`it could not be fetched (${code})`, { retryable: true, cause: error });
}

/** Lets so many pass at a time, the others in the order in which they came. */
function createLimiter(limit: number, maxWaiting: number) {
  const waiting: (() => void)[] = [];
  let free = limit;
  return {
    take(): Promise<void> {
      if (free > 0) {
        free--;
        return Promise.resolve();
      }
      if (waiting.length >= maxWaiting)
        return Promise.reject(new FetchError("too many concurrent fetches", { retryable: true }));
      return new Promise((resolve) => {
        waiting.push(resolve);
      });
    },
    give(): void {
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    },
  };
}
