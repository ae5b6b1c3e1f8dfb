/** The clients of requests that a tunnel of the gateway's own passes on. */
import type { IncomingMessage } from "node:http";

const clients = new WeakMap<IncomingMessage, string>();

/**
 * Notes the client's address of a request that came through the gateway's own tunnel. It goes before the address that
 * the socket and `X-Forwarded-For` give: the tunnel ends on loopback, whose other programs may not forge the header.
 */
export function noteTunnelClient(req: IncomingMessage, address: string): void {
  clients.set(req, address);
}

/** `undefined` for a request that did not come through a tunnel. */
export function tunnelClient(req: IncomingMessage): string | undefined {
  return clients.get(req);
}
