import { ApiQueryError } from "./query.ts";

/** A request target below the API's prefix, cut at its slashes; segments are still percent-encoded. */
export interface ApiPath {
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
