import type { RunSpec, State, VerifiedRequest } from "../delivery.ts";
import { isRefusal, refuse } from "../errors.ts";
import type { Refusal } from "../errors.ts";
import type { Generation } from "../generation.ts";
import { readClaim } from "../policy/idempotency.ts";
import { senderMarks } from "../policy/sender-marks.ts";
import { StoreError } from "../store/delivery-store.ts";
import type { NewDelivery, NewRun, OpenRun } from "../store/delivery-store.ts";
import { observe } from "./ingress-context.ts";
import type { IngressContext } from "./ingress-context.ts";
import type { Parsed } from "./parse.ts";
import type { Ended } from "./render.ts";
import type { Resolved, Route } from "./resolve.ts";

/** What the stages before have made of the request. */
export interface Accepting {
  readonly request: VerifiedRequest;
  readonly parsed: Parsed;
  readonly resolved: Resolved;
  readonly specs: readonly RunSpec[];
  /** Why there is nothing to run. */
  readonly ended: Ended | undefined;
}

/** A delivery that is on disk, and the runs that stand for the answer. */
export interface Accepted {
  readonly deliveryId: string;
  readonly runIds: readonly string[];
  readonly specs: readonly RunSpec[];
  /** The state of a delivery without runs. */
  readonly ended: State | undefined;
}

/**
 * The durable line: one commit of delivery, runs, idempotency key and marks. When this returns, the
 * call survives the process; when it refuses, nothing was stored and nothing runs.
 */
export async function accept(
  ingress: IngressContext,
  generation: Generation,
  accepting: Accepting,
): Promise<Accepted | Refusal> {
  const claims = claimsOf(generation, accepting);
  if (isRefusal(claims)) return claims;
  const count = accepting.specs.length;
  if (!ingress.dispatcher.reserve(count, generation.config.maxQueuedRuns)) return refuse("QUEUE_FULL");
  try {
    return await store(ingress, accepting, claims);
  } catch (error) {
    return refusalFor(error, ingress);
  } finally {
    ingress.dispatcher.release(count);
  }
}

type Claims = Pick<NewDelivery, "idempotency" | "marks">;

async function store(ingress: IngressContext, accepting: Accepting, claims: Claims): Promise<Accepted | Refusal> {
  const { specs, ended } = accepting;
  const runs = specs.map((spec): NewRun => ({ lane: spec.sessionKey, spec }));
  const outcome = await ingress.store.accept({ ...deliveryOf(accepting), runs, ...claims });
  if (outcome.kind === "conflict") return refuse("IDEMPOTENCY_CONFLICT");
  const { deliveryId, runIds } = outcome;
  if (outcome.kind === "repeat") return firstAnswer(ingress, deliveryId, runIds);
  const queued = specs.map(({ sessionKey, kind }, at): OpenRun => ({
    runId: runIds[at]!,
    lane: sessionKey,
    kind,
    state: "queued",
  }));
  ingress.dispatcher.enqueue(queued);
  const { path } = accepting.request;
  await observe(ingress.host, ingress.hooks.accepted, { deliveryId, runIds, route: path, name: nameOf(accepting) });
  return { deliveryId, runIds, specs, ended: ended?.state };
}

/**
 * A caller's own key may be refused; what a sender's copies are recognized by never is, since senders
 * give up on hooks that refuse them.
 */
function claimsOf(generation: Generation, { request, parsed, resolved }: Accepting): Claims | Refusal {
  const { route, deliveryId, ofSender } = resolved;
  const ttlMs = generation.config.idempotencyTtlMs;
  if (ofSender) return { marks: senderMarks(request, deliveryId, ttlMs) };
  const payload = parsed.context.payload as Readonly<Record<string, unknown>>;
  const idempotency = readClaim(
    {
      headers: request.headers,
      payloadKey: route === "agent" ? payload["idempotencyKey"] : undefined,
      route: request.path,
      credentialId: request.credential.id,
      body: request.body,
      receivedAt: request.receivedAt,
    },
    ttlMs,
  );
  return isRefusal(idempotency) ? idempotency : { idempotency };
}

function deliveryOf(accepting: Accepting): Omit<NewDelivery, "runs" | "idempotency" | "marks"> {
  const { request, resolved, ended } = accepting;
  return {
    receivedAt: request.receivedAt,
    route: request.path,
    mappingId: mappingIdOf(resolved.route),
    name: nameOf(accepting),
    headers: request.headers,
    query: request.query,
    body: request.body,
    ...(ended === undefined ? {} : { ended }),
  };
}

function mappingIdOf(route: Route): string | null {
  return typeof route === "string" ? null : route.config.id;
}

function nameOf({ specs, resolved: { route } }: Accepting): string {
  return specs[0]?.name ?? (typeof route === "string" ? route : route.config.id);
}

/** A repeat is answered as the first call was, also when the configuration has changed since. */
async function firstAnswer(ingress: IngressContext, deliveryId: string, runIds: readonly string[]): Promise<Accepted> {
  const runs = await Promise.all(runIds.map((runId) => ingress.store.loadRun(runId)));
  const ended = runs.length > 0 ? undefined : (await ingress.store.get(deliveryId))?.state;
  return { deliveryId, runIds, specs: runs.map(({ spec }) => spec), ended };
}

function refusalFor(error: unknown, ingress: IngressContext): Refusal {
  if (!(error instanceof StoreError)) throw error;
  if (error.code === "CLOSED") return refuse("SHUTTING_DOWN");
  ingress.host.logger.error({ err: error }, "a delivery could not be stored and was refused");
  return refuse("STORE_UNAVAILABLE");
}
