import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { hostname } from "node:os";

/** A script sets it and a form cannot: another site cannot send it without a preflight, which is never answered. */
const CONSOLE_HEADER = "x-reveille-console";

/**
 * True for a Host that names this machine by an address, as `localhost` or by its own name. A page of another
 * site whose name was bound to this machine (DNS rebinding) carries that site's name. A proxy that the
 * configuration trusts checks names itself.
 */
export function isKnownHost(req: IncomingMessage, { behindProxy }: { behindProxy: boolean }): boolean {
  const host = req.headers.host;
  if (host === undefined) return false;
  if (behindProxy) return true;
  const name = host.replace(/:\d*$/u, "").toLowerCase();
  const isAddress = isIP(name.startsWith("[") ? name.slice(1, -1) : name) !== 0;
  return isAddress || name === "localhost" || name.endsWith(".localhost") || name === hostname().toLowerCase();
}

/** True for a request that the console's own page made, as far as the browser says so. */
export function isOwnRequest(req: IncomingMessage): boolean {
  const { "sec-fetch-site": site, origin, host } = req.headers;
  if (site !== undefined && site !== "same-origin" && site !== "none") return false;
  if (req.method === "GET" || req.method === "HEAD") return true;
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) return false;
  return req.headers[CONSOLE_HEADER] === "1";
}

/** The value of a cookie; `undefined` when the request carries none of that name. */
export function readCookie(req: IncomingMessage, name: string): string | undefined {
  for (const pair of (req.headers.cookie ?? "").split(";")) {
    const [key, value] = pair.split("=", 2);
    if (key?.trim() === name) return value?.trim();
  }
  return undefined;
}
