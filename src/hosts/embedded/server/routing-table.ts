/** Finds the route of a request by its pathname as sent. */
import type { IncomingMessage } from "node:http";
import type { HttpRoute, HttpRouter } from "../../../core/host.ts";

/**
 * The pathname of a request, as sent. A target in absolute form (RFC 9112, 3.2.2) is rewritten to
 * origin form in `req.url` first, so that every handler sees one form.
 */
export function requestPath(req: IncomingMessage): string {
  let target = req.url ?? "/";
  if (target.charCodeAt(0) !== SLASH) {
    target = originForm(target);
    req.url = target;
  }
  const end = target.indexOf("?");
  return end === -1 ? target : target.slice(0, end);
}

const SLASH = 47;
const ABSOLUTE = /^https?:\/\/[^/?]*/iu;

function originForm(target: string): string {
  const rest = target.replace(ABSOLUTE, "");
  if (rest === target || rest.startsWith("/")) return rest;
  return `/${rest}`;
}

/** The paths under which the gateway itself answers; plugins have to choose others. */
export const API_PATH = "/api/v1";
/** Says that the process lives; takes no token. */
export const HEALTH_PATH = "/health";
/** Says whether calls can be accepted; takes no token. */
export const READY_PATH = "/ready";
/** What is measured, for Prometheus. */
export const METRICS_PATH = "/metrics";
/** The gateway as an MCP server. */
export const MCP_PATH = "/mcp";
/** The page for a browser. */
export const CONSOLE_PATH = "/console";

/**
 * One routing table: filled once, then only read.
 *
 * An exact route wins over a prefix, and a longer prefix over a shorter one. Paths are compared
 * as sent: never percent-decoded, never normalized.
 */
export class RoutingTable implements HttpRouter {
  readonly #exact = new Map<string, HttpRoute>();
  /** Longest first; a handful at most, so a walk costs less than cutting the path into keys. */
  readonly #prefixes: HttpRoute[] = [];

  /** Adds a route. Throws when the path is malformed or the same path and match is taken. */
  register(route: HttpRoute): void {
    requirePath(route.path);
    if (route.match === "exact") {
      if (this.#exact.has(route.path)) throw alreadyRegistered(route);
      this.#exact.set(route.path, route);
      return;
    }
    if (this.#prefixes.some((other) => other.path === route.path)) throw alreadyRegistered(route);
    this.#prefixes.push(route);
    this.#prefixes.sort((a, b) => b.path.length - a.path.length);
  }

  /** The route that takes the path, or `undefined`. */
  find(pathname: string): HttpRoute | undefined {
    const exact = this.#exact.get(pathname);
    if (exact !== undefined) return exact;
    for (const route of this.#prefixes) {
      if (isBelow(pathname, route.path)) return route;
    }
    return undefined;
  }
}

const slash = 47;

function isBelow(pathname: string, prefix: string): boolean {
  if (!pathname.startsWith(prefix)) return false;
  return pathname.length === prefix.length || prefix.length === 1 || pathname.charCodeAt(prefix.length) === slash;
}

function requirePath(path: string): void {
  if (!path.startsWith("/") || /[?#\s]/u.test(path) || (path.length > 1 && path.endsWith("/"))) {
    throw new Error(
      `The route path ${JSON.stringify(path)} is malformed: it begins with "/", does not end with one, and has no query.`,
    );
  }
}

function alreadyRegistered(route: HttpRoute): Error {
  return new Error(`The ${route.match} route ${route.path} is registered already; choose another path.`);
}
