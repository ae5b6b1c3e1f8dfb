/** The part of the gateway's routes that strangers reach through a tunnel. */
import type { IncomingMessage } from "node:http";
import { compileClientAddress, UNKNOWN_ADDRESS } from "../../../auth/client-address.ts";
import type { HttpRoute } from "../../../core/host.ts";
import { noteTunnelClient } from "../../../http/tunnel-client.ts";
import type { ExposeConfig, ExposedPart } from "../config/expose.ts";
import { API_PATH, CONSOLE_PATH, type RoutingTable } from "../server/routing-table.ts";

const LOOPBACK = ["127.0.0.0/8", "::1"];
const pathOfPart: Readonly<Record<ExposedPart, string>> = { api: API_PATH, console: CONSOLE_PATH };
const addressOf = compileClientAddress(LOOPBACK);
const isLocal = /^(?:127\.|::1$)/u;

/** Finds only routes that are listed; all others are not there, whatever the path looks like. */
export class ExposedRoutes {
  #find: (pathname: string) => HttpRoute | undefined = () => undefined;

  /** Exposes the prefixes `open` of a table, and what the configuration asks for besides. */
  use(routes: Pick<RoutingTable, "find">, open: readonly string[], { also, isForwarded }: ExposeConfig): void {
    const paths = new Set([...open, ...also.map((part) => pathOfPart[part])]);
    const wrapped = new Map<HttpRoute, HttpRoute>();
    this.#find = (pathname) => {
      const route = routes.find(pathname);
      if (route === undefined || route.match !== "prefix" || !paths.has(route.path)) return undefined;
      const known = wrapped.get(route) ?? withClient(route, isForwarded);
      wrapped.set(route, known);
      return known;
    };
  }

  find(pathname: string): HttpRoute | undefined {
    return this.#find(pathname);
  }
}

function withClient(route: HttpRoute, isForwarded: boolean): HttpRoute {
  return {
    ...route,
    handler: (req, res) => {
      noteTunnelClient(req, isForwarded ? forwardedAddress(req) : UNKNOWN_ADDRESS);
      return route.handler(req, res);
    },
  };
}

/**
 * The last address of `X-Forwarded-For`, which the tool writes; what is before it is the caller's own claim. Without
 * one the client is unknown: as the address of this machine it would lock out those who are on it.
 */
function forwardedAddress({ headers, socket }: IncomingMessage): string {
  const forwarded = headers["x-forwarded-for"];
  const address = addressOf(socket.remoteAddress, Array.isArray(forwarded) ? forwarded.join(",") : forwarded);
  return isLocal.test(address) ? UNKNOWN_ADDRESS : address;
}
