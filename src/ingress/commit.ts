import type { EndedState, RunSpec } from "../core/run.ts";
import { refuse } from "../core/errors.ts";
import type { Refusal } from "../core/errors.ts";
import type { ActiveConfig } from "./active-config.ts";
import { StoreError } from "../storage/delivery-store.ts";
import type { OpenRun } from "../storage/open-run.ts";
import type { AcceptOutcome, NewDelivery } from "../storage/new-delivery.ts";
import { OVERLAP_SKIP_REASON } from "../storage/new-delivery.ts";
import { noRoomText } from "./waits/wait-terms.ts";
import { observe, storeRefusal } from "./context.ts";
import type { IngressContext } from "./context.ts";

/** A delivery that is on disk, and the runs that its answer names. */
export interface Accepted {
  readonly deliveryId: string;
  readonly runIds: readonly string[];
  /** Of the runs, in their order. */
  readonly specs: readonly RunSpec[];
  /** The state of a delivery without runs of its own; `coalesced`: the run is the one that it became a part of. */
  readonly ended: EndedState | undefined;
  /** True when it was skipped because an earlier run was still open. */
  readonly overlapped?: boolean;
  /** True when it is the delivery of an earlier call that this one repeats. */
  readonly isRepeat?: true;
}

/**
 * Stores a delivery and hands its runs to the dispatcher. When this returns, the call survives the
 * process; when it refuses, nothing was stored and nothing runs. Rejects when a wait that it changes is not as it was:
 * {@link isStale}.
 */
export async function commit(
  ingress: IngressContext,
  active: ActiveConfig,
  delivery: NewDelivery,
  specs: readonly RunSpec[],
): Promise<Accepted | Refusal> {
  const count = delivery.held === undefined ? specs.length : 0;
  // Without runs it takes no room, also when the queue is over a bound that was lowered.
  if (count > 0 && !ingress.dispatcher.reserve(count, active.config.maxQueuedRuns)) return refuse("QUEUE_FULL");
  try {
    const atOnce = ingress.dispatcher.atOnce.of(delivery);
    const outcome = await ingress.store.accept(delivery, atOnce);
    if (outcome.kind === "conflict") return refuse("IDEMPOTENCY_CONFLICT");
    if (outcome.kind === "repeat") return await firstAnswer(ingress, outcome.deliveryId, outcome.runIds);
    if (delivery.waits) changeWaits(ingress, delivery, outcome);
    const accepted = take(ingress, delivery, specs, outcome);
    const { deliveryId, runIds } = accepted;
    const { route, name } = delivery;
    const observed = observe(ingress.host, active.hooks.accepted, { deliveryId, runIds, route, name });
    if (observed) await observed;
    // The answer goes out first.
    if (outcome.kind === "accepted" && outcome.isDone) setImmediate(() => void atOnce?.done(runIds[0]!, deliveryId));
    return accepted;
  } catch (error) {
    if (isStale(error)) throw error;
    return storeRefusal(error, ingress, "a delivery could not be stored and was refused");
  } finally {
    ingress.dispatcher.release(count);
  }
}

/** True for the error of a call that is to be held against the waits again. */
export function isStale(error: unknown): boolean {
  return error instanceof StoreError && error.code === "STALE";
}

type Stored = Exclude<AcceptOutcome, { readonly kind: "conflict" | "repeat" }>;

/** Lets the waits know what the commit has changed. */
function changeWaits({ waits: book, host }: IngressContext, { waits, mappingId }: NewDelivery, outcome: Stored): void {
  const { changes, added } = waits!;
  const noRoom = outcome.kind === "accepted" ? outcome.noRoom : undefined;
  book?.changed({ changes, added: noRoom === undefined ? added?.wait : undefined });
  if (noRoom === undefined || added === undefined) return;
  const reason = noRoomText(noRoom, added.bounds);
  host.logger.warn({ mapping: mappingId, deliveryId: outcome.deliveryId, reason }, "an event makes no wait");
}

/** Lets the dispatcher know what the commit has changed. */
function take(
  { dispatcher }: IngressContext,
  { mappingId, runs, ended, held }: NewDelivery,
  specs: readonly RunSpec[],
  outcome: Stored,
): Accepted {
  const { deliveryId } = outcome;
  if (outcome.kind === "skipped") return { deliveryId, runIds: [], specs: [], ended: "skipped", overlapped: true };
  if (outcome.kind === "coalesced") {
    if (outcome.isLeft !== true) dispatcher.postpone(outcome.runId, outcome.dueAt);
    return { deliveryId, runIds: [outcome.runId], specs, ended: "coalesced" };
  }
  const { runIds, dueAt = null, superseded, isDone = false } = outcome;
  if (held !== undefined || isDone) return { deliveryId, runIds, specs, ended: undefined };
  if (outcome.isLeft === true) {
    dispatcher.elsewhere.add(runIds.length);
    return { deliveryId, runIds, specs, ended: ended?.state };
  }
  if (superseded) dispatcher.withdraw({ ...superseded, state: "skipped" });
  const queued = runs.map(({ lane, spec, expiresAt = null }, at): OpenRun => ({
    runId: runIds[at]!,
    mappingId,
    lane,
    kind: spec.kind,
    state: "queued",
    dueAt,
    expiresAt,
    begun: false,
    replied: false,
  }));
  dispatcher.enqueue(queued);
  return { deliveryId, runIds, specs, ended: ended?.state };
}

/** A repeat is answered as the first call was, also when the configuration has changed since. */
async function firstAnswer(
  { store }: IngressContext,
  deliveryId: string,
  runIds: readonly string[],
): Promise<Accepted> {
  if (runIds.length === 0) {
    const first = await store.get(deliveryId);
    const ended = first?.state === "filtered" ? "filtered" : "skipped";
    const overlapped = first?.reason === OVERLAP_SKIP_REASON;
    return { deliveryId, runIds, specs: [], ended, overlapped, isRepeat: true };
  }
  try {
    const runs = await Promise.all(runIds.map((runId) => store.loadRun(runId)));
    const ended = runs[0]?.deliveryId === deliveryId ? undefined : "coalesced";
    return { deliveryId, runIds, specs: runs.map(({ spec }) => spec), ended, isRepeat: true };
  } catch (error) {
    if (!(error instanceof StoreError && error.code === "NOT_FOUND")) throw error;
    // The run that the first call became a part of was removed before it: what the call itself asked for is there.
    const specs = (await store.replayable(deliveryId))?.runs.map(({ spec }) => spec) ?? [];
    return { deliveryId, runIds, specs, ended: specs.length > 0 ? "coalesced" : "skipped", isRepeat: true };
  }
}
