/** The endpoints of the API and the search for one by path. */
import type { IncomingMessage } from "node:http";
import type { Clock } from "../core/host.ts";
import type { Answer } from "../http/answer.ts";
import type { Operations } from "../index.ts";
import { ApiQueryError } from "./request.ts";

/** One request to an endpoint. */
export interface ApiCall {
  readonly req: IncomingMessage;
  /** The part of the path that names one thing, still percent-encoded; empty where there is none. */
  readonly key: string;
  /** The query, without the question mark. */
  readonly search: string;
}

/** Bytes that someone sent, as an answer that no browser takes for a page. */
export interface BytesAnswer {
  readonly bytes: Uint8Array;
  readonly fileName: string;
}

/** `undefined` when there is nothing under the path. */
export type ApiReply = Answer | BytesAnswer | undefined;

export type ApiMethod = "GET" | "PUT" | "POST" | "DELETE";

/** The handler of each method that is taken; `HEAD` is taken with `GET`. */
export type ApiEndpoint = Partial<Record<ApiMethod, (call: ApiCall) => ApiReply | Promise<ApiReply>>>;

/** Endpoints by their path below `/api/v1`; `*` matches one segment that is not empty. */
export type ApiEndpoints = Readonly<Record<string, ApiEndpoint>>;

/** The endpoint of a path; a segment that is written out goes before `*`. */
export function findEndpoint(endpoints: ApiEndpoints, path: ApiPath): ApiEndpoint | undefined {
  const { collection, key, part, rest } = path;
  if (collection === undefined || key === "" || rest.length > 0) return undefined;
  const end = part === undefined ? "" : `/${part}`;
  const names = key === undefined ? [collection] : [`${collection}/${key}${end}`, `${collection}/*${end}`];
  const found = names.find((name) => Object.hasOwn(endpoints, name));
  return found === undefined ? undefined : endpoints[found];
}

/** For the header `Allow`. */
export function allowedMethods(endpoint: ApiEndpoint | undefined): string {
  if (endpoint === undefined) return "GET, HEAD";
  return Object.keys(endpoint)
    .map((method) => (method === "GET" ? "GET, HEAD" : method))
    .join(", ");
}

/** A request target below the API's prefix, cut at its slashes; segments are still percent-encoded. */
interface ApiPath {
  readonly collection: string | undefined;
  readonly key: string | undefined;
  readonly part: string | undefined;
  readonly rest: readonly string[];
  /** Without the question mark. */
  readonly search: string;
}

export function readApiPath(target: string, prefix: string): ApiPath {
  const end = target.indexOf("?");
  const pathname = end === -1 ? target : target.slice(0, end);
  const [collection, key, part, ...rest] = pathname.slice(prefix.length + 1).split("/");
  return { collection, key, part, rest, search: end === -1 ? "" : target.slice(end + 1) };
}

/** Session keys hold colons, which some clients escape and others do not. */
export function decodeSegment(segment: string | undefined): string {
  try {
    return decodeURIComponent(segment ?? "");
  } catch {
    throw new ApiQueryError("The path holds a percent sign that is not followed by two hexadecimal digits of UTF-8.");
  }
}

/** The parts that the operator's endpoints read from and act on. */
export interface ApiSources {
  /** Throws a `StoreError` while the ingress does not run. */
  readonly operations: () => Operations;
  readonly clock: Clock;
}
