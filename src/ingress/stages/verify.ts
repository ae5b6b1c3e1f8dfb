import { lockoutKey } from "../../auth/client-address.ts";
import type { SenderMatch } from "../../auth/sender-routes.ts";
import type { IncomingRequest, Verified } from "../../auth/verifier.ts";
import type { Credential, RawRequest, ReplayKey, VerifiedRequest } from "../../core/delivery.ts";
import { refuse } from "../../core/errors.ts";
import type { Refusal } from "../../core/errors.ts";
import type { ActiveConfig } from "../active-config.ts";
import type { RequestContext } from "./edge.ts";

/** A request that was read, and what it is verified by: the sender's route with the call, or the token's credential. */
export interface Verifying {
  readonly request: RawRequest;
  /** The request as its sender made it; for routes of a sender only. */
  readonly call: IncomingRequest | undefined;
  /** Of the hook token; for all other routes. */
  readonly credential: Credential | undefined;
}

/** The call of a sender's route: with its credentials, and in nobody's hands but the scheme's and the handshakes'. */
export function callOf({ req, sender, receivedAt }: RequestContext, body: Uint8Array): IncomingRequest | undefined {
  if (!sender) return undefined;
  return {
    method: req.method ?? "",
    target: originForm(req.url ?? ""),
    headers: req.headers,
    body,
    receivedAt,
    pathSecret: sender.pathSecret,
  };
}

/**
 * Makes a request parseable: its sender is known. The hook token vouches for the whole request; on a
 * sender's route the route's scheme decides alone, over the exact bytes, and the same refusal answers
 * whatever is wrong. A valid request is never locked out by the failures of others.
 */
export async function verify(
  generation: ActiveConfig,
  arrival: RequestContext,
  { request, call, credential }: Verifying,
): Promise<VerifiedRequest | Refusal> {
  const { sender } = arrival;
  if (!sender || !call) return credential ? markVerified(request, credential) : refuse("UNAUTHORIZED");
  const verification = sender.route.handshakes.isForgeable(call.body)
    ? { ok: false as const, reason: "a handshake of the route signs such a body for anyone" }
    : await sender.route.verifier.verify(call);
  if (verification.ok) return acceptSender(generation, arrival, sender, { request, verification });
  arrival.facts.reason = verification.reason;
  const { retryAfterSeconds } = verification;
  if (retryAfterSeconds !== undefined) return refuse("KEYS_UNAVAILABLE", undefined, { retryAfterSeconds });
  const lockedFor = generation.lockout.fail(lockoutKey(arrival.clientAddress));
  if (lockedFor === undefined) return refuse("UNAUTHORIZED");
  return refuse("TOO_MANY_FAILURES", undefined, { retryAfterSeconds: lockedFor });
}

function acceptSender(
  { lockout }: ActiveConfig,
  { clientAddress }: RequestContext,
  { route }: SenderMatch,
  { request, verification }: { request: RawRequest; verification: Verified },
): VerifiedRequest {
  if (lockout.size > 0) lockout.succeed(lockoutKey(clientAddress));
  const credential = { scheme: route.auth.scheme, id: verification.credentialId };
  return markVerified({ ...request, body: route.maskSecrets(request.body) }, credential, verification.replay);
}

/** A request that a credential vouches for; only this stage may say so, and a replay of what it has passed. */
export function markVerified(request: RawRequest, credential: Credential, replay?: ReplayKey): VerifiedRequest {
  return { ...request, credential, replay } as VerifiedRequest;
}

const ORIGIN = /^https?:\/\/[^/?#]*/i;

/** The target without the origin that a proxy may have sent along (RFC 9112, 3.2.2). */
function originForm(url: string): string {
  return url.startsWith("/") ? url : url.replace(ORIGIN, "");
}
