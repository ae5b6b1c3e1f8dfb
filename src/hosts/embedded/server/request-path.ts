/** Cuts the pathname out of a request target. */
import type { IncomingMessage } from "node:http";

/**
 * The pathname of a request, as sent. A target in absolute form (RFC 9112, 3.2.2) is rewritten to
 * origin form in `req.url` first, so that every handler sees one form.
 */
export function requestPath(req: IncomingMessage): string {
  let target = req.url ?? "/";
  if (target.charCodeAt(0) !== slash) {
    target = originForm(target);
    req.url = target;
  }
  const end = target.indexOf("?");
  return end === -1 ? target : target.slice(0, end);
}

const slash = 47;
const absolute = /^https?:\/\/[^/?]*/iu;

function originForm(target: string): string {
  const rest = target.replace(absolute, "");
  if (rest === target || rest.startsWith("/")) return rest;
  return `/${rest}`;
}
