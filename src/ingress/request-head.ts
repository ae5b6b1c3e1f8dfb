import type { IncomingHttpHeaders } from "node:http";
import type { Query, RequestHead } from "../core/delivery.ts";
import { compileWithoutCredentials, isCredentialParameter } from "../http/credentials.ts";

/** The parts of a request's target. */
export interface RequestTarget {
  /**
   * The raw pathname below the prefix without leading slashes: `wake`, `wake/`, `github/push`.
   * Empty when no hook can be meant: the prefix alone, a path outside it, dot segments.
   */
  readonly path: string;
  /** Without parameters that carry a credential. */
  readonly query: Query;
  /** True when a parameter is named exactly `token` once decoded, even an empty one. */
  readonly hasQueryToken: boolean;
}

/** Parameters past the 100th and past the 16,384th character are left out. */
const MAX_PARAMETERS = 100;
const MAX_QUERY_LENGTH = 16_384;

const NO_QUERY: Query = Object.freeze(Object.create(null) as Record<string, string>);

/**
 * Prepares the reading of request targets (`req.url`) under a prefix such as `/hooks`.
 *
 * Origin form and absolute form (RFC 9112, 3.2) are read alike. Nothing is normalized or decoded
 * in the path: a target that a normalizing proxy and this gateway could read differently (`.`
 * and `..` as segments, also percent-encoded, backslashes, fragments) the path is empty. In the
 * query the last value of a name wins, `+` is a space, a malformed percent sign stays as it is.
 * `credentialParameters` (lower case) are left out of it besides those that every request has.
 */
export function compileRequestTarget(
  prefix: string,
  options: { readonly credentialParameters?: readonly string[] } = {},
): (url: string) => RequestTarget {
  const named = new Set(options.credentialParameters);
  const isCredential = (name: string): boolean => isCredentialParameter(name) || named.has(name.toLowerCase());
  return (url) => {
    const start = url.charCodeAt(0) === SLASH ? 0 : pathStart(url);
    const mark = url.indexOf("?", start);
    const path = subPath(url, prefix, start, mark === -1 ? url.length : mark);
    if (mark === -1) return { path, query: NO_QUERY, hasQueryToken: false };
    return { path, ...parseQuery(url, mark + 1, isCredential) };
  };
}

const SLASH = 0x2f;

const ORIGIN = /^https?:\/\/[^/?#]*/i;

/** The start of the path in a target that is not in origin form; its end when there is none (`*`). */
function pathStart(url: string): number {
  return ORIGIN.exec(url)?.[0].length ?? url.length;
}

const DOUBTFUL = /[.%\\#]/;
const AMBIGUOUS = /[\\#]|(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i;

function subPath(url: string, prefix: string, from: number, end: number): string {
  let start = from + prefix.length;
  if (!url.startsWith(prefix, from) || url.charCodeAt(start) !== SLASH) return "";
  while (start < end && url.charCodeAt(start) === SLASH) start++;
  if (start >= end) return "";
  const path = url.slice(start, end);
  return DOUBTFUL.test(path) && AMBIGUOUS.test(path) ? "" : path;
}

function parseQuery(
  url: string,
  from: number,
  isCredential: (name: string) => boolean,
): { query: Query; hasQueryToken: boolean } {
  const query: Record<string, string> = Object.create(null) as Record<string, string>;
  let hasQueryToken = false;
  let count = 0;
  for (let start = from; start < url.length;) {
    const ampersand = url.indexOf("&", start);
    const end = ampersand === -1 ? url.length : ampersand;
    if (end > start) {
      const equals = url.indexOf("=", start);
      const nameEnd = equals === -1 || equals > end ? end : equals;
      const name = decode(url.slice(start, nameEnd));
      // The search for a token in the query knows no bounds: it is refused wherever it stands.
      if (name === "token") hasQueryToken = true;
      count++;
      if (count <= MAX_PARAMETERS && end - from <= MAX_QUERY_LENGTH && !isCredential(name)) {
        query[name] = decode(url.slice(nameEnd + 1, end));
      }
    }
    start = end + 1;
  }
  return { query, hasQueryToken };
}

function decode(text: string): string {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    // Slower, but knows what to make of malformed percent signs and of bytes that are not UTF-8.
    return new URLSearchParams(`v=${spaced}`).get("v")!;
  }
}

/** True for the two fixed routes, which no mapping can take. */
export function isDirect(path: string): path is "wake" | "agent" {
  return path === "wake" || path === "agent";
}

/** The part of `http.IncomingMessage` that a head needs. */
export interface HeadSource {
  readonly method?: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

/** The facts about the request from earlier stages. */
export interface HeadFacts {
  readonly target: RequestTarget;
  readonly clientAddress: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
}

/**
 * Prepares the making of request heads: what later stages, templates, transforms and the store see
 * of a request besides its body. Credentials are gone from it; `credentialHeaders` (lower case)
 * names those headers that only the configuration makes one, above all the token header.
 */
export function compileRequestHead(options: {
  credentialHeaders: readonly string[];
}): (request: HeadSource, facts: HeadFacts) => RequestHead {
  const withoutCredentials = compileWithoutCredentials(options.credentialHeaders);
  return (request, facts) => ({
    method: request.method ?? "",
    path: facts.target.path,
    query: facts.target.query,
    headers: withoutCredentials(request.headers),
    clientAddress: facts.clientAddress,
    receivedAt: facts.receivedAt,
  });
}
