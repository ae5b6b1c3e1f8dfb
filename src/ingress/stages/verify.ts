import { lockoutKey } from "../../auth/client-address.ts";
import type { SenderMatch, SenderRoute } from "../../auth/sender-routes.ts";
import type { IncomingRequest, Verified } from "../../auth/verifier.ts";
import type { Credential, PayloadFormat, RawRequest, ReplayKey, RequestHead } from "../../core/delivery.ts";
import { refuse } from "../../core/errors.ts";
import type { Refusal } from "../../core/errors.ts";
import type { CompiledMapping } from "../../mapping/compile-mapping.ts";
import type { Replayable } from "../../storage/delivery-store.ts";
import type { ActiveConfig } from "../active-config.ts";
import type { RequestFacts } from "../request-log.ts";
import type { RequestContext } from "./edge.ts";

let create: (request: RawRequest, credential: Credential, replay?: ReplayKey) => VerifiedRequest;

/**
 * A request whose sender is known; the only kind that can be parsed.
 *
 * Only this module can make one: {@link verify} from a credential or a signature, {@link fromStored} from a
 * stored delivery, {@link forDryRun} for a mapping that an operator tries.
 */
export class VerifiedRequest implements RawRequest {
  static {
    create = (request, credential, replay) => new VerifiedRequest(request, credential, replay);
  }

  /** Makes the type nominal: no object literal is a verified request. */
  declare private readonly brand: true;
  readonly method: string;
  readonly path: string;
  readonly query: RequestHead["query"];
  readonly headers: RequestHead["headers"];
  readonly clientAddress: string;
  readonly receivedAt: number;
  readonly body: Uint8Array;
  readonly credential: Credential;
  /** Identifies a signed request and its copies. */
  readonly replay: ReplayKey | undefined;

  private constructor(request: RawRequest, credential: Credential, replay: ReplayKey | undefined) {
    this.method = request.method;
    this.path = request.path;
    this.query = request.query;
    this.headers = request.headers;
    this.clientAddress = request.clientAddress;
    this.receivedAt = request.receivedAt;
    this.body = request.body;
    this.credential = credential;
    this.replay = replay;
  }
}

/** A verified request, and what the stages after `verify` need besides. */
export interface VerifiedCall {
  readonly verified: VerifiedRequest;
  /** The route of a sender that signs. */
  readonly sender: SenderMatch | undefined;
  /** The formats that the route takes besides JSON. */
  readonly accept: readonly PayloadFormat[];
  /** The id of the delivery that it is a replay of. */
  readonly replayOf?: string;
  /** For the log line of the request; a replay has none. */
  readonly facts?: RequestFacts;
}

/** A request whose body was read, and what verifies it: the signed request of a sender's route, or the token's credential. */
export interface Unverified {
  readonly raw: RawRequest;
  /** The request as its sender made it; only on a sender's route. */
  readonly signed: IncomingRequest | undefined;
  /** Of the hook token; on all other routes. */
  readonly credential: Credential | undefined;
}

/** The request on a sender's route as the sender made it, with its credentials: for the scheme and the handshakes only. */
export function signedRequest(
  { req, sender, receivedAt, clientAddress }: RequestContext,
  body: Uint8Array,
): IncomingRequest | undefined {
  if (!sender) return undefined;
  return {
    method: req.method ?? "",
    target: originForm(req.url ?? ""),
    headers: req.headers,
    body,
    receivedAt,
    pathSecret: sender.pathSecret,
    client: lockoutKey(clientAddress),
  };
}

/**
 * Makes a request parseable. The hook token's credential covers the whole request; on a sender's route the
 * route's scheme decides alone, over the exact bytes, and every failure has the same refusal. The lockout
 * never applies to a valid request.
 */
export function verify(
  active: Pick<ActiveConfig, "lockout">,
  request: Pick<RequestContext, "sender" | "clientAddress" | "facts">,
  { raw, signed, credential }: Unverified,
): VerifiedRequest | Refusal | Promise<VerifiedRequest | Refusal> {
  if (request.sender && signed) return verifySignature(active, request, raw, signed);
  return credential ? create(raw, credential) : refuse("UNAUTHORIZED");
}

async function verifySignature(
  { lockout }: Pick<ActiveConfig, "lockout">,
  { sender, clientAddress, facts }: Pick<RequestContext, "sender" | "clientAddress" | "facts">,
  raw: RawRequest,
  signed: IncomingRequest,
): Promise<VerifiedRequest | Refusal> {
  const { route } = sender!;
  const verification = route.handshakes.isForgeable(signed.body)
    ? { ok: false as const, reason: "a handshake of the route signs such a body for anyone" }
    : await route.verifier.verify(signed);
  if (verification.ok) {
    if (lockout.size > 0) lockout.succeed(lockoutKey(clientAddress));
    return signedBy(route, raw, verification);
  }
  facts.reason = verification.reason;
  const { retryAfterSeconds } = verification;
  if (retryAfterSeconds !== undefined) return refuse("KEYS_UNAVAILABLE", undefined, { retryAfterSeconds });
  const lockedFor = lockout.fail(lockoutKey(clientAddress));
  if (lockedFor === undefined) return refuse("UNAUTHORIZED");
  return refuse("TOO_MANY_FAILURES", undefined, { retryAfterSeconds: lockedFor });
}

function signedBy(
  { auth, maskSecrets }: SenderRoute,
  raw: RawRequest,
  { credentialId, replay }: Verified,
): VerifiedRequest {
  return create({ ...raw, body: maskSecrets(raw.body) }, { scheme: auth.scheme, id: credentialId }, replay);
}

const REPLAY: Credential = Object.freeze({ scheme: "replay", id: "replay" });

/** The stored bytes of a delivery as a request received now: it was verified before it was stored. */
export function fromStored(
  { route: path, headers, query }: Pick<Replayable, "route" | "headers" | "query">,
  body: Uint8Array,
  receivedAt: number,
): VerifiedRequest {
  return create({ method: "POST", path, query, headers, clientAddress: "unknown", receivedAt, body }, REPLAY);
}

const DRY_RUN: Credential = Object.freeze({ scheme: "test", id: "test" });

/** A request that an operator tries on a mapping at the command line; nothing of it is accepted. */
export function forDryRun(
  {
    headers,
    query,
    body,
    path,
    receivedAt,
  }: Pick<RawRequest, "headers" | "query" | "body" | "receivedAt"> & {
    /** That of the mapping when absent. */
    readonly path?: string | undefined;
  },
  { config: { id, match } }: CompiledMapping,
): VerifiedRequest {
  const raw = { method: "POST", path: path ?? match.path ?? id, query, headers, clientAddress: "unknown", receivedAt };
  return create({ ...raw, body }, DRY_RUN);
}

const ORIGIN = /^https?:\/\/[^/?#]*/i;

/** The target without the origin that a proxy may have sent along (RFC 9112, 3.2.2). */
function originForm(url: string): string {
  return url.startsWith("/") ? url : url.replace(ORIGIN, "");
}
