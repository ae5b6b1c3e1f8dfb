import type { Findings } from "./findings.ts";
import { HooksSchema } from "./schema.ts";

/** What a path may hold without an escape (RFC 3986, 3.3), slashes included. */
const PLAIN_PATH = /^[\w.~!$&'()*+,;=:@/-]+$/;
const WHERE = "hooks.path";

/**
 * The prefix of all hooks as routes compare it: with a slash in front and none at the end. Blank is
 * the default. Refused is the root, since it would take every path of the gateway, and whatever no
 * request can carry as it stands.
 */
export function readHookPath(written: string | undefined, findings: Findings): string {
  const fallback = HooksSchema.properties.path.default;
  const trimmed = written?.trim() || fallback;
  const path = `${trimmed.startsWith("/") ? "" : "/"}${trimmed}`.replace(/\/+$/, "");
  if (path === "") findings.refuse(WHERE, 'must not be "/"; write for example "/hooks"');
  else if (path.includes("%")) findings.refuse(WHERE, "must not hold percent escapes; paths are compared as sent");
  else if (!PLAIN_PATH.test(path)) {
    findings.refuse(
      WHERE,
      'holds characters that a URL carries only in escapes; use letters, digits, "-", "_" and "/"',
    );
  } else if (/\/(?:\.{0,2})(?:\/|$)/.test(path)) findings.refuse(WHERE, 'must not hold empty, "." or ".." segments');
  return path;
}
