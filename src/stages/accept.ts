import type { RunSpec, VerifiedRequest } from "../delivery.ts";
import { isRefusal, refuse } from "../errors.ts";
import type { Refusal } from "../errors.ts";
import type { Generation } from "../generation.ts";
import { readClaim } from "../policy/idempotency.ts";
import { StoreError } from "../store/delivery-store.ts";
import type { IdempotencyClaim, NewDelivery, NewRun, OpenRun } from "../store/delivery-store.ts";
import { observe } from "./ingress-context.ts";
import type { IngressContext } from "./ingress-context.ts";
import type { Parsed } from "./parse.ts";
import type { Route } from "./resolve.ts";

/** What the stages before have made of the request. */
export interface Accepting {
  readonly request: VerifiedRequest;
  readonly parsed: Parsed;
  readonly route: Route;
  readonly specs: readonly RunSpec[];
  /** Why there is nothing to run. */
  readonly skipped: string | undefined;
}

/** A delivery that is on disk, and the runs that stand for the answer. */
export interface Accepted {
  readonly deliveryId: string;
  readonly runIds: readonly string[];
  readonly specs: readonly RunSpec[];
}

/**
 * The durable line: one commit of delivery, runs and idempotency key. When this returns, the call
 * survives the process; when it refuses, nothing was stored and nothing runs.
 */
export async function accept(
  ingress: IngressContext,
  generation: Generation,
  accepting: Accepting,
): Promise<Accepted | Refusal> {
  const idempotency = claimOf(generation, accepting);
  if (isRefusal(idempotency)) return idempotency;
  const count = accepting.specs.length;
  if (!ingress.dispatcher.reserve(count, generation.config.maxQueuedRuns)) return refuse("QUEUE_FULL");
  try {
    return await store(ingress, accepting, idempotency);
  } catch (error) {
    return refusalFor(error, ingress);
  } finally {
    ingress.dispatcher.release(count);
  }
}

async function store(
  ingress: IngressContext,
  accepting: Accepting,
  idempotency: IdempotencyClaim | undefined,
): Promise<Accepted | Refusal> {
  const { specs } = accepting;
  const runs = specs.map((spec): NewRun => ({ lane: spec.sessionKey, spec }));
  const outcome = await ingress.store.accept({ ...deliveryOf(accepting), runs, idempotency });
  if (outcome.kind === "conflict") return refuse("IDEMPOTENCY_CONFLICT");
  const { deliveryId, runIds } = outcome;
  if (outcome.kind === "repeat") return { deliveryId, runIds, specs: await storedSpecs(ingress, runIds) };
  const queued = specs.map(({ sessionKey, kind }, at): OpenRun => ({
    runId: runIds[at]!,
    lane: sessionKey,
    kind,
    state: "queued",
  }));
  ingress.dispatcher.enqueue(queued);
  const { path } = accepting.request;
  await observe(ingress.host, ingress.hooks.accepted, { deliveryId, runIds, route: path, name: nameOf(accepting) });
  return { deliveryId, runIds, specs };
}

function claimOf(generation: Generation, { request, parsed, route }: Accepting) {
  const payload = parsed.context.payload as Readonly<Record<string, unknown>>;
  return readClaim(
    {
      headers: request.headers,
      payloadKey: route === "agent" ? payload["idempotencyKey"] : undefined,
      route: request.path,
      credentialId: request.credential.id,
      body: request.body,
      receivedAt: request.receivedAt,
    },
    generation.config.idempotencyTtlMs,
  );
}

function deliveryOf(accepting: Accepting): Omit<NewDelivery, "runs" | "idempotency"> {
  const { request, route, skipped } = accepting;
  return {
    receivedAt: request.receivedAt,
    route: request.path,
    mappingId: typeof route === "string" ? null : route.config.id,
    name: nameOf(accepting),
    headers: request.headers,
    query: request.query,
    body: request.body,
    ...(skipped === undefined ? {} : { ended: { state: "skipped", reason: skipped } }),
  };
}

function nameOf({ specs, route }: Accepting): string {
  return specs[0]?.name ?? (typeof route === "string" ? route : route.config.id);
}

/** A repeat is answered as the first call was, also when the configuration has changed since. */
async function storedSpecs(ingress: IngressContext, runIds: readonly string[]): Promise<RunSpec[]> {
  const runs = await Promise.all(runIds.map((runId) => ingress.store.loadRun(runId)));
  return runs.map(({ spec }) => spec);
}

function refusalFor(error: unknown, ingress: IngressContext): Refusal {
  if (!(error instanceof StoreError)) throw error;
  if (error.code === "CLOSED") return refuse("SHUTTING_DOWN");
  ingress.host.logger.error({ err: error }, "a delivery could not be stored and was refused");
  return refuse("STORE_UNAVAILABLE");
}
