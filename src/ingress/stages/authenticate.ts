import type { Credential } from "../../core/delivery.ts";
import { isRefusal, type Refusal } from "../../core/errors.ts";
import type { ActiveConfig } from "../active-config.ts";
import type { RequestContext } from "./edge.ts";

/**
 * Checks the hook token before a byte of the body is read; `undefined` on the route of a sender that signs,
 * where the hook token does not count.
 */
export function authenticate(
  active: ActiveConfig,
  request: RequestContext,
): Credential | Refusal | Promise<Credential | Refusal> | undefined {
  const { req, clientAddress, sender } = request;
  if (sender) return undefined;
  if (active.hooks.authenticate.isUsed()) return askTaps(active, request);
  return withReason(active, request, active.authenticate(req, clientAddress));
}

/** The answer has the same words for every cause; the log names it. */
function withReason(
  { tokens }: ActiveConfig,
  { req, facts }: RequestContext,
  outcome: Credential | Refusal,
): Credential | Refusal {
  if (isRefusal(outcome)) facts.reason = tokens.problem(req);
  return outcome;
}

/**
 * Asks taps about a request without a valid token before it counts as a failure: a sender they know costs
 * its address none, and a failing tap does not stop a caller that has the token.
 */
async function askTaps(active: ActiveConfig, request: RequestContext): Promise<Credential | Refusal> {
  const { req, target, clientAddress } = request;
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
  return withReason(active, request, active.authenticate(req, clientAddress));
}
