import type { IncomingMessage } from "node:http";
import { lockoutKey } from "../../auth/client-address.ts";
import type { SenderMatch } from "../../auth/sender-routes.ts";
import { refuse } from "../../core/errors.ts";
import type { Refusal } from "../../core/errors.ts";
import type { ActiveConfig } from "../active-config.ts";
import { tunnelClient } from "../../http/tunnel-client.ts";
import type { RequestTarget } from "../request-head.ts";
import { trimSlashes } from "../../mapping/index-mappings.ts";
import type { RequestFacts } from "../request-log.ts";
import type { TransformSet } from "../../transform/set.ts";
import type { IngressContext } from "../context.ts";
import { isDirect } from "../request-head.ts";

/** An admitted request; {@link release} it when it was answered. */
export interface RequestContext {
  readonly req: IncomingMessage;
  /** Without a secret that was in the path. */
  readonly target: RequestTarget;
  readonly clientAddress: string;
  /** Milliseconds since the epoch. */
  readonly receivedAt: number;
  /** The route of a sender that signs. */
  readonly sender: SenderMatch | undefined;
  /** The delivery whose state the request queries; `undefined` for a call. */
  readonly statusOf: string | undefined;
  /** The transforms of the configuration it began with; they stay open until it is released. */
  readonly transforms: TransformSet;
  /** For the request's log line. */
  readonly facts: RequestFacts;
  /** Bytes reserved from the budget for unverified bodies. */
  heldBytes: number;
  /** The place that it holds: among all requests, among those that are not verified yet, or none. */
  place: "ordinary" | "unverified" | "none";
  /** True once it was released. */
  hasLeft: boolean;
}

/**
 * Checks the request line and the number of requests in flight; nothing else is read or compared.
 * A token in the query string is always refused, and a wrong method never counts as a failed attempt.
 */
export function edge(
  ingress: IngressContext,
  active: ActiveConfig,
  req: IncomingMessage,
  facts: RequestFacts,
): RequestContext | Refusal {
  const target = active.readTarget(req.url ?? "");
  const sender = active.senders.find(target.path);
  facts.client = clientAddressOf(active, req);
  facts.route = loggedRoute(active, target.path, sender);
  if (sender) facts.sender = sender.route.sender ?? sender.route.path;
  if (target.hasQueryToken) return refuse("TOKEN_IN_QUERY");
  if (active.config.closed !== undefined || sender?.route.isBroken === true) return refuse("NOT_READY", SET_ASIDE);
  const asksFor = sender ? undefined : deliveryAskedFor(req.method, target.path);
  if (asksFor === undefined && !takesMethod(req.method, sender)) return refuseMethod(sender);
  const busy = sender ? undefined : ingress.inFlight.enter();
  if (busy) return busy;
  const { transforms } = active;
  transforms.enter();
  return {
    req,
    target: sender ? { ...target, path: sender.route.path } : target,
    sender,
    clientAddress: facts.client,
    receivedAt: ingress.host.clock.now(),
    statusOf: asksFor,
    transforms,
    facts,
    heldBytes: 0,
    place: sender ? "none" : "ordinary",
    hasLeft: false,
  };
}

/** Gives a request on a sender's route its place from the first byte of its body on, while it is not verified. */
export function admitUnverified(ingress: IngressContext, request: RequestContext): Refusal | undefined {
  const busy = ingress.unverifiedPlaces.enter(lockoutKey(request.clientAddress));
  if (!busy) request.place = "unverified";
  return busy;
}

/** Moves a verified request to a place among all requests. */
export function admitVerified(ingress: IngressContext, request: RequestContext): Refusal | undefined {
  if (request.place === "ordinary") return undefined;
  const busy = ingress.inFlight.enter();
  if (busy) return busy;
  leavePlace(ingress, request);
  request.place = "ordinary";
  return undefined;
}

function leavePlace(ingress: IngressContext, request: RequestContext): void {
  if (request.place === "ordinary") ingress.inFlight.leave();
  if (request.place === "unverified") ingress.unverifiedPlaces.leave(lockoutKey(request.clientAddress));
  request.place = "none";
}

/** The address of the client, past the gateway's own tunnel and trusted proxies. */
export function clientAddressOf({ clientAddress }: ActiveConfig, req: IncomingMessage): string {
  const { socket, headers } = req;
  const forwarded = headers["x-forwarded-for"];
  const known = tunnelClient(req);
  if (known !== undefined) return known;
  return clientAddress(socket.remoteAddress, typeof forwarded === "string" ? forwarded : forwarded?.join(", "));
}

/** The route as the log names it. A path that no route has may be a secret in the wrong place: it is `unknown`. */
function loggedRoute({ mappings }: ActiveConfig, path: string, sender: SenderMatch | undefined): string {
  if (sender) return sender.route.path;
  return isDirect(path) || mappings.bodyRulesOn(trimSlashes(path)) ? path : "unknown";
}

/** Releases what a request holds. A second call does nothing. */
export function release(ingress: IngressContext, request: RequestContext): void {
  if (request.hasLeft) return;
  request.hasLeft = true;
  ingress.unverifiedBytes.release(request.heldBytes);
  leavePlace(ingress, request);
  request.transforms.leave();
}

const DELIVERIES = "deliveries/";

/** The id in a `GET` below `deliveries/`. A POST to such a path is a call for a mapping. */
function deliveryAskedFor(method: string | undefined, path: string): string | undefined {
  if (method !== "GET" && method !== "HEAD") return undefined;
  return path.startsWith(DELIVERIES) ? path.slice(DELIVERIES.length) : undefined;
}

function takesMethod(method = "", sender: SenderMatch | undefined): boolean {
  return method === "POST" || (sender?.route.methods.has(method) ?? false);
}

function refuseMethod(sender: SenderMatch | undefined): Refusal {
  return sender ? { ...refuse("METHOD_NOT_ALLOWED"), allow: [...sender.route.methods].join(", ") } : REFUSED_METHOD;
}

/** The answer to a call whose sender or mapping is set aside. */
export const SET_ASIDE = "This hook is not ready to take calls; try again later.";
const REFUSED_METHOD = Object.freeze(refuse("METHOD_NOT_ALLOWED"));
