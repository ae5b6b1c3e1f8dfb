import { setTimeout as sleep } from "node:timers/promises";
import { isOfCaller, type RunDetail } from "../../core/run.ts";
import { callerError } from "../../dispatch/run/caller-error.ts";
import type { Watching } from "../../dispatch/run-watch.ts";
import { type Answer, answerJson } from "../../http/answer.ts";
import { StoreError } from "../../storage/delivery-store.ts";
import type { ActiveConfig } from "../active-config.ts";
import type { IngressContext } from "../context.ts";
import type { Accepted } from "../commit.ts";
import { onClientGone } from "../client-gone.ts";
import { release, type RequestContext } from "./edge.ts";
import type { WantedWait } from "./render.ts";
import type { Resolved } from "./resolve.ts";

/** Between two looks for a result of another gateway. */
const LOOK_MS = 250;

/** A call whose delivery is on disk. */
export interface AcceptedCall {
  readonly resolved: Resolved;
  readonly delivery: Accepted;
  /** The caller's wish to wait for the result. */
  readonly wait: WantedWait | undefined;
}

/**
 * Delays the answer until the call's own runs are settled, if the caller or the mapping wants that; otherwise
 * returns without a promise. Runs that resume sessions are not the caller's: it neither waits for them nor reads
 * them. A request that waits does not count against `maxInFlight`.
 *
 * `undefined`: no result, since the time is up, the gateway shuts down, the client has disconnected, too
 * many requests wait, or no run is the call's own. The runs are not affected.
 */
export function wait(
  ingress: IngressContext,
  active: ActiveConfig,
  request: RequestContext,
  { resolved, delivery, wait: wanted }: AcceptedCall,
): Promise<Answer | undefined> | undefined {
  const timeoutMs = waitMsOf(active, resolved, wanted);
  if (timeoutMs === undefined) return undefined;
  const runIds = ownRunIds(delivery);
  if (runIds.length === 0) return undefined;
  if (ingress.watch.count >= active.config.maxWaiting) return undefined;
  release(ingress, request);
  return untilSettled(ingress, request, delivery, ingress.watch.watch(runIds, timeoutMs));
}

function waitMsOf({ config }: ActiveConfig, { route }: Resolved, wanted: WantedWait | undefined): number | undefined {
  if (wanted) return wanted.waitMs ?? config.waitMs;
  if (typeof route === "string" || route.config.respond.kind !== "result") return undefined;
  return route.config.waitMs ?? config.waitMs;
}

function ownRunIds({ runIds, specs }: Accepted): readonly string[] {
  return runIds.filter((_, at) => specs[at] === undefined || isOfCaller(specs[at]));
}

async function untilSettled(
  ingress: IngressContext,
  { req }: RequestContext,
  delivery: Accepted,
  watching: Watching,
): Promise<Answer | undefined> {
  const stay = onClientGone(req.socket, () => watching.end());
  try {
    // The run may have been settled before the watch began; for a duplicate that is likely.
    const result = await resultOf(ingress, delivery, watching);
    if (result) return result;
    if (!ingress.dispatcher.elsewhere.isHere) return await lookedUp(ingress, delivery, watching);
    return (await watching.settled) ? await resultOf(ingress, delivery, watching) : undefined;
  } catch (error) {
    // The call is on disk: it was accepted even if its result cannot be read now.
    if (error instanceof StoreError) return undefined;
    throw error;
  } finally {
    watching.end();
    stay();
  }
}

/** Another gateway carries the runs out: the store knows when they are settled. */
async function lookedUp(ingress: IngressContext, delivery: Accepted, watching: Watching): Promise<Answer | undefined> {
  const end = new AbortController();
  const ended = watching.settled.then(() => end.abort());
  while (!end.signal.aborted) {
    await Promise.race([ended, sleep(LOOK_MS, undefined, { signal: end.signal }).catch(() => {})]);
    const result = await resultOf(ingress, delivery, watching);
    if (result) return result;
  }
  return undefined;
}

/** `undefined` while a run is open. A reply that was settled before the watch comes from the store. */
async function resultOf(
  { store }: IngressContext,
  delivery: Accepted,
  { replies }: Watching,
): Promise<Answer | undefined> {
  const { deliveryId, runIds } = delivery;
  const coalesced = delivery.ended === "coalesced";
  // A coalesced call has its result from the run that it became a part of, which is another delivery's.
  const owner = coalesced ? (await store.loadRun(runIds[0]!)).deliveryId : deliveryId;
  const runs = ((await store.get(owner))?.runs ?? []).filter(({ spec }) => isOfCaller(spec));
  const [run, ...more] = runs;
  if (!run || !runs.every(isSettled)) return undefined;
  const ok = runs.every(({ state }) => state === "done");
  if (more.length > 0)
    return answerJson(200, { ok, deliveryId, results: runs.map((each) => resultOfRun(each, replies)) });
  return answerJson(200, { ok, ...resultOfRun(run, replies), deliveryId, ...(coalesced ? { coalesced: true } : {}) });
}

function isSettled({ state }: RunDetail): boolean {
  return state === "done" || state === "failed" || state === "canceled" || state === "skipped";
}

function resultOfRun(run: RunDetail, replies: Watching["replies"]): object {
  const { id, state, attempts, delivery } = run;
  const reply = replies.get(id) ?? run.reply;
  const status = attempts.at(-1)?.status;
  return { runId: id, state, status: status ?? null, reply, delivery, ...callerError(run, status) };
}
