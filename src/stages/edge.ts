import type { IncomingMessage } from "node:http";
import { refuse } from "../errors.ts";
import type { Refusal } from "../errors.ts";
import type { Generation } from "../generation.ts";
import type { RequestTarget } from "../http/request-target.ts";
import type { IngressContext } from "./ingress-context.ts";

/** A request that was let in; it has to leave `inFlight` when it has been answered. */
export interface Arrival {
  readonly req: IncomingMessage;
  readonly target: RequestTarget;
  readonly clientAddress: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
}

/**
 * Looks at the request line and at how much is under way; nothing else has been read or compared.
 * A token in the query string is refused whatever else was sent, and a wrong method costs nobody a
 * failed attempt.
 */
export function edge(ingress: IngressContext, generation: Generation, req: IncomingMessage): Arrival | Refusal {
  const target = generation.readTarget(req.url ?? "");
  if (target.hasQueryToken) return refuse("TOKEN_IN_QUERY");
  if (req.method !== "POST") return refuse("METHOD_NOT_ALLOWED");
  const busy = ingress.inFlight.enter();
  if (busy) return busy;
  const forwarded = req.headers["x-forwarded-for"];
  return {
    req,
    target,
    clientAddress: generation.clientAddress(
      req.socket.remoteAddress,
      typeof forwarded === "string" ? forwarded : forwarded?.join(", "),
    ),
    receivedAt: ingress.host.clock.now(),
  };
}
