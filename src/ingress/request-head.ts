import type { IncomingHttpHeaders } from "node:http";
import type { RequestHead } from "../core/delivery.ts";
import { compileWithoutCredentials } from "../http/credential-headers.ts";
import type { RequestTarget } from "./request-target.ts";

/** The part of `http.IncomingMessage` that a head is made of. */
export interface HeadSource {
  readonly method?: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

/** What the earlier stages found out about the request. */
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
