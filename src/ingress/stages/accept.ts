import { createHash } from "node:crypto";
import type { CoalesceConfig } from "../../config/run.ts";
import type { Chain } from "../../core/chain.ts";
import type { Action, EventActor, EventObject, Headers } from "../../core/delivery.ts";
import type { RunSpec } from "../../core/run.ts";
import type { Wait } from "../../core/wait.ts";
import { isRefusal, refuse, type Refusal } from "../../core/errors.ts";
import type { ActiveConfig } from "../active-config.ts";
import type {
  CoalesceClaim,
  IdempotencyClaim,
  NewDelivery,
  NewRun,
  OverlapClaim,
  ReplayKeyClaim,
} from "../../storage/new-delivery.ts";
import { type WaitClaim, writesWaits } from "../../storage/wait-store.ts";
import { commit, type Accepted } from "../commit.ts";
import { boundsOf, storedWait } from "../waits/wait-terms.ts";
import { quarantineReason } from "../quarantine.ts";
import type { IngressContext } from "../context.ts";
import { plannedStatus } from "./respond.ts";
import type { Fulfilment } from "../waits/fulfil.ts";
import type { VerifiedRequest } from "./verify.ts";
import type { Parsed } from "./parse.ts";
import type { Rendered } from "./render.ts";
import type { Resolved } from "./resolve.ts";

/** The results of the stages before. */
export interface Accepting {
  readonly verified: VerifiedRequest;
  readonly payload: Parsed;
  readonly resolved: Resolved;
  readonly rendered: Rendered;
  /** Of the rendered actions, in their order. */
  readonly specs: readonly RunSpec[];
  /** What it does to the waits of sessions. */
  readonly fulfilment?: Fulfilment | undefined;
  /** The wait that it makes. */
  readonly added?: Wait | undefined;
  /** The delivery that it is a replay of; what its sender would repeat, a replay may repeat too. */
  readonly replayOf: string | undefined;
}

/**
 * The durable line: one commit of delivery, runs, idempotency key and replay keys. When this returns, the
 * call survives the process; when it refuses, nothing was stored and nothing runs.
 */
export function accept(
  ingress: IngressContext,
  active: ActiveConfig,
  accepting: Accepting,
): Refusal | Promise<Accepted | Refusal> {
  const { verified, resolved, rendered, replayOf } = accepting;
  const { waits, resumed } = waitsOf(ingress, active, accepting);
  const specs = resumed.length === 0 ? accepting.specs : [...accepting.specs, ...resumed];
  const claims = claimsOf(active, accepting);
  if (isRefusal(claims)) return claims;
  const { route, context } = resolved;
  const held = specs.length === 0 ? undefined : quarantineReason(resolved);
  const object = held === undefined || typeof route === "string" ? undefined : route.release?.heldObject(context);
  const delivery: NewDelivery = {
    receivedAt: verified.receivedAt,
    route: verified.path,
    mappingId: typeof route === "string" ? null : route.config.id,
    name: nameOf(accepting),
    headers: verified.headers,
    query: verified.query,
    body: verified.body,
    event: context.event,
    actor: context.actor?.name,
    level: context.actor?.level,
    chain: context.chain,
    credentialId: replayOf === undefined ? verified.credential.id : null,
    answered: replayOf === undefined ? plannedStatus(resolved, rendered, specs) : null,
    runs: [...runsOf(accepting, object), ...resumed.map((spec): NewRun => ({ lane: spec.sessionKey, spec }))],
    ended: specs.length > 0 ? undefined : rendered.ended,
    held,
    replayOf,
    ...claims,
    // What is held joins no other call, and keeps none from running.
    ...(held === undefined && !writesWaits(waits) ? runClaimsOf(accepting) : {}),
    ...(waits && { waits }),
  };
  for (const { hidden } of specs) {
    if (hidden === undefined) continue;
    for (const kind of HIDDEN_KINDS) ingress.measurements.hidden.add(kind, undefined, hidden[kind]);
  }
  const committed = commit(ingress, active, delivery, specs);
  const { chain } = context;
  return chain === undefined || specs.length === 0
    ? committed
    : committed.then((made) => counted(ingress, chain, made));
}

/** A call whose transform failed changes no wait: its sender's next try does. */
function waitsOf(
  { store, waits }: Pick<IngressContext, "store" | "waits">,
  { config }: Pick<ActiveConfig, "config">,
  { fulfilment, rendered, added: wait }: Accepting,
): { readonly waits: WaitClaim | undefined; readonly resumed: readonly RunSpec[] } {
  const added = wait && { added: { wait: storedWait(wait), bounds: boundsOf(config.waits) } };
  if (fulfilment !== undefined && !rendered.failure) {
    return { waits: { ...fulfilment.claim, ...added }, resumed: fulfilment.specs };
  }
  // Where other gateways can add waits, the store knows whether it was held against all.
  const isHeldAgainst = added !== undefined || store.shared !== undefined;
  const claim = isHeldAgainst && waits ? { mark: waits.mark, changes: [], ...added } : undefined;
  return { waits: claim, resumed: [] };
}

/** A copy of a call is no further event of its chain. */
function counted(ingress: IngressContext, chain: Chain, made: Accepted | Refusal): Accepted | Refusal {
  if (!isRefusal(made) && made.isRepeat !== true) ingress.chains?.count(chain);
  return made;
}

const HIDDEN_KINDS = ["characters", "comments", "elements", "urls"] as const;

type Claims = Pick<NewDelivery, "idempotency" | "replayKeys">;

/**
 * A caller's idempotency key may be refused; a sender's replay keys never are, since senders disable hooks
 * that refuse them. For a call whose transform failed, the store only looks up who holds the keys.
 */
function claimsOf(active: ActiveConfig, { verified, payload, resolved, replayOf }: Accepting): Claims | Refusal {
  const { route, deliveryId, ofSender } = resolved;
  const ttlMs = active.config.idempotencyTtlMs;
  if (replayOf !== undefined) return {};
  if (ofSender) return { replayKeys: senderReplayKeys(verified, deliveryId, ttlMs) };
  const content = payload.context.payload as Readonly<Record<string, unknown>>;
  const idempotency = readClaim(
    {
      headers: verified.headers,
      payloadKey: route === "agent" ? content["idempotencyKey"] : undefined,
      route: verified.path,
      credentialId: verified.credential.id,
      body: verified.body,
      receivedAt: verified.receivedAt,
    },
    ttlMs,
  );
  return isRefusal(idempotency) ? idempotency : { idempotency };
}

/** Wakes always keep their order: they share one session, and each is short. */
function runsOf(
  { verified, resolved: { route }, specs }: Accepting,
  object: EventObject | undefined,
): readonly NewRun[] {
  if (typeof route === "string") return specs.map((spec): NewRun => ({ lane: spec.sessionKey, spec }));
  const { order, maxAgeMs } = route.config;
  const expiresAt = maxAgeMs === undefined ? null : verified.receivedAt + maxAgeMs;
  return specs.map((made): NewRun => {
    const spec = object === undefined ? made : { ...made, object };
    const lane = order === "none" && spec.kind === "agent" ? "" : spec.sessionKey;
    return { lane, spec, expiresAt };
  });
}

/** The claims that connect the call with others of its mapping; most calls have none. */
function runClaimsOf(accepting: Accepting): Pick<NewDelivery, "coalesce" | "overlap"> | undefined {
  const { route, context } = accepting.resolved;
  if (typeof route === "string") return undefined;
  const { id: mappingId, coalesce, overlap } = route.config;
  if (coalesce === undefined && overlap === "queue") return undefined;
  const [spec, ...more] = accepting.specs;
  if (!spec) return undefined;
  const call = { mappingId, spec, namesSession: namesSession(accepting), actor: context.actor, chain: context.chain };
  if (coalesce) {
    if (more.length > 0) return undefined;
    return { coalesce: coalesceClaim(coalesce, call, route.coalesceKey?.render(context) ?? "") };
  }
  if (overlap === "queue" || accepting.specs.some(({ kind }) => kind === "wake")) return undefined;
  return { overlap: overlapClaim(overlap, call) };
}

/** True when all runs use the same named session; a generated key names none. */
function namesSession({ rendered: { actions }, specs }: Accepting): boolean {
  const isNamed = (action: Action | undefined): boolean => action?.kind === "agent" && action.sessionKey !== undefined;
  return actions.every(isNamed) && specs.every(({ sessionKey }) => sessionKey === specs[0]?.sessionKey);
}

function nameOf({ specs, resolved: { route } }: Accepting): string {
  return specs[0]?.name ?? (typeof route === "string" ? route : route.config.id);
}

const HEADERS = ["idempotency-key", "x-service-idempotency-key", "x-openclaw-idempotency-key"] as const;
const KEY = /^[\x21-\x7e](?:[\x20-\x7e]{0,254}[\x21-\x7e])?$/;

/** The parts of a request that make a claim. */
export interface ClaimedRequest {
  readonly headers: Headers;
  /** `idempotencyKey` of the payload of `/agent`; `undefined` on every other route. */
  readonly payloadKey: unknown;
  /** The path below the prefix. */
  readonly route: string;
  readonly credentialId: string;
  readonly body: Uint8Array;
  readonly receivedAt: number;
}

/**
 * The caller's claim that this request is made once, or `undefined` when it makes none.
 *
 * The key is the header `Idempotency-Key`, else `x-service-idempotency-key`, else the one of OpenClaw's
 * callers, else the payload's; an empty one counts as absent. It is scoped to route and credential, so neither two hooks nor two
 * senders can collide (specification of the Idempotency-Key header: IETF httpapi draft).
 */
export function readClaim(request: ClaimedRequest, ttlMs: number): IdempotencyClaim | undefined | Refusal {
  const key = callersKey(request);
  if (key === undefined) return undefined;
  if (typeof key !== "string" || !KEY.test(key)) return refuse("INVALID_IDEMPOTENCY_KEY");
  return {
    key: digest([request.route, request.credentialId, key]),
    fingerprint: createHash("sha256").update(request.body).digest(),
    expiresAt: request.receivedAt + ttlMs,
  };
}

function callersKey({ headers, payloadKey }: ClaimedRequest): unknown {
  for (const name of HEADERS) {
    const key = unquoted(headers[name]?.trim() ?? "");
    if (key !== "") return key;
  }
  if (payloadKey === undefined || payloadKey === null) return undefined;
  return typeof payloadKey === "string" ? payloadKey.trim() || undefined : payloadKey;
}

/** The draft writes the key as a structured-field string, in quotes; most callers leave them out. */
function unquoted(key: string): string {
  return key.length >= 2 && key.startsWith('"') && key.endsWith('"') ? key.slice(1, -1).trim() : key;
}

function digest(parts: readonly string[]): Uint8Array {
  return createHash("sha256").update(JSON.stringify(parts)).digest();
}

/**
 * The keys that identify copies of a signed request: the digest of the signed content, and the sender's id
 * for the delivery. The id alone is not enough: many senders do not sign it.
 *
 * `ttlMs` is how long an id is remembered. Ids are scoped to the route.
 */
export function senderReplayKeys(
  { path, replay, receivedAt }: Pick<VerifiedRequest, "path" | "replay" | "receivedAt">,
  deliveryId: string | undefined,
  ttlMs: number,
): readonly ReplayKeyClaim[] {
  const keys: ReplayKeyClaim[] = [];
  if (replay) keys.push({ key: replay.digest, expiresAt: replay.expiresAt });
  if (deliveryId !== undefined)
    keys.push({ key: digest(["delivery id", path, deliveryId]), expiresAt: receivedAt + ttlMs });
  return keys;
}

/** The parts that related calls of one mapping share. */
export interface CallIdentity {
  readonly mappingId: string;
  readonly spec: RunSpec;
  /** False when the session key was generated for this run, or is the same for all. */
  readonly namesSession: boolean;
  readonly actor?: Pick<EventActor, "level"> | undefined;
  readonly chain?: Chain | undefined;
}

/**
 * The claim of a call that may be coalesced; `key` is the mapping's rendered key. A run has the rights and the chain of
 * its first call, so calls of another level, with other rights or of another chain begin a run of their own.
 */
export function coalesceClaim(
  { windowMs, maxWaitMs }: CoalesceConfig,
  { mappingId, spec, namesSession, actor, chain }: CallIdentity,
  key: string,
): CoalesceClaim {
  const session = namesSession ? spec.sessionKey : "";
  const rights = JSON.stringify([actor?.level ?? "unknown", chain, rightsOf(spec)]);
  return { key: digest(["coalesce", mappingId, spec.agentId, session, rights, key]), windowMs, maxWaitMs };
}

function rightsOf(spec: RunSpec): unknown {
  if (spec.kind === "wake") return spec.rights ?? null;
  const { permissions, tools, egress, workspace, extract } = spec;
  return { permissions, tools, egress, hasWorkspace: workspace !== undefined, extract };
}

/** The claim of a call that gives way to open runs of its mapping and session, or takes their place. */
export function overlapClaim(
  mode: OverlapClaim["mode"],
  { mappingId, spec, namesSession }: CallIdentity,
): OverlapClaim {
  return { key: digest(["overlap", mappingId, namesSession ? spec.sessionKey : ""]), mode };
}
