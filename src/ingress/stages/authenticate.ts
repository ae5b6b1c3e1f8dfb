import type { Credential } from "../../core/delivery.ts";
import type { Refusal } from "../../core/errors.ts";
import type { ActiveConfig } from "../active-config.ts";
import type { RequestContext } from "./edge.ts";

/**
 * Asks who vouches for the request, before any byte of its body is read; `undefined` on a route whose
 * sender proves who it is in a way of its own, where the hook token is none.
 */
export function authenticate(
  active: ActiveConfig,
  request: RequestContext,
): Credential | Refusal | Promise<Credential | Refusal> | undefined {
  const { req, clientAddress, sender } = request;
  if (sender) return undefined;
  if (!active.hooks.authenticate.isUsed()) return active.authenticate(req, clientAddress);
  return askTaps(active, request);
}

/**
 * Taps are asked about a request that has no right token, before that counts as a failure: a sender
 * they know costs its address none, and a tap that fails stops nobody who has the token.
 */
async function askTaps(
  active: ActiveConfig,
  { req, target, clientAddress }: RequestContext,
): Promise<Credential | Refusal> {
  if (!active.tokens.check(req)) {
    const credential = await active.hooks.authenticate.promise({
      method: req.method ?? "",
      path: target.path,
      query: target.query,
      headers: req.headers,
      clientAddress,
    });
    if (credential) return credential;
  }
  return active.authenticate(req, clientAddress);
}
