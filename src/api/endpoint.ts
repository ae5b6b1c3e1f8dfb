/** What the API has under a path, and how it is found. */
import type { IncomingMessage } from "node:http";
import type { Answer } from "../http/answer.ts";
import type { ApiPath } from "./paths.ts";

/** One request to an endpoint. */
export interface ApiCall {
  readonly req: IncomingMessage;
  /** The part of the path that names one thing, still percent-encoded; empty where there is none. */
  readonly key: string;
  /** The query, without the question mark. */
  readonly search: string;
}

/** Bytes that somebody sent, as an answer that no browser takes for a page. */
export interface BytesAnswer {
  readonly bytes: Uint8Array;
  readonly fileName: string;
}

/** `undefined` when there is nothing under the path. */
export type ApiReply = Answer | BytesAnswer | undefined;

export type ApiMethod = "GET" | "PUT" | "POST" | "DELETE";

/** What is done for each method that is taken; `HEAD` is taken with `GET`. */
export type ApiEndpoint = Partial<Record<ApiMethod, (call: ApiCall) => ApiReply | Promise<ApiReply>>>;

/** Endpoints by their path below `/api/v1`; `*` stands for one segment that is not empty. */
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
