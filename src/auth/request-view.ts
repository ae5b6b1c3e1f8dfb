import { parsePayload } from "../http/parse-payload.ts";
import type { IncomingRequest, RequestView } from "./verifier.ts";

/**
 * `maxDepth` is the highest that `hooks.maxDepth` can be. A body that is deeper than the active one allows is refused for
 * that once its sender is known; not to find its credential would be a wrong one, which counts toward the lockout.
 */
const ANY_BODY = { accept: ["json", "form", "multipart", "text"], maxDepth: 1_024 } as const;

/**
 * The view of a call that sources read. Its body is parsed when a source first asks for it, also before the
 * signature is known to be good: only to find the signature, never to act on it.
 */
export function requestViewOf(call: IncomingRequest): RequestView {
  return new LazyRequestView(call);
}

/** A class, since every call has one, and accessors of an object literal are made again each time. */
class LazyRequestView implements RequestView {
  readonly headers: RequestView["headers"];
  readonly #call: IncomingRequest;
  #query: Readonly<Record<string, string>> | undefined;
  #parsed: { readonly payload: unknown } | undefined;

  constructor(call: IncomingRequest) {
    this.#call = call;
    this.headers = call.headers;
  }

  get query(): Readonly<Record<string, string>> {
    return (this.#query ??= queryOf(this.#call.target));
  }

  get payload(): unknown {
    return (this.#parsed ??= { payload: payloadOf(this.#call) }).payload;
  }
}

/** Parameters of a target as sent; the last value of a repeated name wins. Has no prototype. */
export function queryOf(target: string): Readonly<Record<string, string>> {
  const query: Record<string, string> = Object.create(null) as Record<string, string>;
  const mark = target.indexOf("?");
  if (mark === -1) return query;
  for (const [name, value] of new URLSearchParams(target.slice(mark + 1))) query[name] = value;
  return query;
}

function payloadOf({ body, headers }: IncomingRequest): unknown {
  const parsed = parsePayload(body, headers["content-type"], ANY_BODY);
  return parsed.ok ? parsed.payload : undefined;
}
