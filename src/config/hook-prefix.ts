import type { Findings } from "./errors.ts";

/** The default of `hooks.path`. */
export const DEFAULT_PREFIX = "/hooks";

/** A path without escapes (RFC 3986, 3.3), slashes included. */
const PLAIN_PATH = /^[\w.~!$&'()*+,;=:@/-]+$/;

/** A prefix as routes compare it: with a slash in front and none at the end. */
export function asPrefix(written: string): string {
  const trimmed = written.trim();
  return `${trimmed.startsWith("/") ? "" : "/"}${trimmed}`.replace(/\/+$/, "");
}

/**
 * The problem of a prefix, as the predicate of a sentence. The root is refused since it would take every path of the
 * gateway, and so are characters that no request carries unescaped.
 */
export function prefixProblem(path: string): string | undefined {
  if (path === "") return 'must not be "/"; write for example "/hooks"';
  if (path.includes("%")) return "must not hold percent escapes; paths are compared as sent";
  if (!PLAIN_PATH.test(path)) {
    return 'holds characters that a URL carries only in escapes; use letters, digits, "-", "_" and "/"';
  }
  if (/\/(?:\.{0,2})(?:\/|$)/.test(path)) return 'must not hold empty, "." or ".." segments';
  return undefined;
}

/** The prefix of all hooks as routes compare it; blank is the default. */
export function readHookPath(written: string | undefined, findings: Findings): string {
  const path = asPrefix(written?.trim() || DEFAULT_PREFIX);
  const problem = prefixProblem(path);
  if (problem !== undefined) findings.refuse("hooks.path", problem);
  return path;
}
