import type { Socket } from "node:net";
import type { RunDetail } from "../../core/delivery.ts";
import type { Watching } from "../../dispatch/run-watch.ts";
import { type Answer, answerJson } from "../../http/answer.ts";
import { StoreError } from "../../storage/delivery-store.ts";
import type { ActiveConfig } from "../active-config.ts";
import type { IngressContext } from "../context.ts";
import type { Accepted } from "../commit.ts";
import { release, type RequestContext } from "./edge.ts";
import type { WantedWait } from "./render.ts";
import type { Resolved } from "./resolve.ts";

type Listener = () => void;

const listenersOf = new WeakMap<Socket, Set<Listener>>();

/**
 * Calls `listener` when the client's connection closes, at once when it has closed already; the returned
 * function takes that back. A connection with many requests under way has one listener for all of them.
 */
export function onClientGone(socket: Socket, listener: Listener): () => void {
  if (socket.destroyed) {
    listener();
    return () => {};
  }
  const listeners = listenersOf.get(socket) ?? listen(socket);
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function listen(socket: Socket): Set<Listener> {
  const listeners = new Set<Listener>();
  listenersOf.set(socket, listeners);
  socket.once("close", () => {
    for (const listener of listeners) listener();
  });
  return listeners;
}

/** A call that was accepted, whose caller may want to wait. */
export interface AcceptedCall {
  readonly resolved: Resolved;
  readonly delivery: Accepted;
  /** The caller's own wish. */
  readonly wait: WantedWait | undefined;
}

/**
 * Holds the answer until the call's runs are settled, when the caller or the mapping wants that; at once
 * and without a promise when neither does. Whoever waits holds no place among the requests under way.
 *
 * `undefined`: there is no result yet, since the time is up, the gateway is shutting down, the client has
 * gone, too many wait already, or nothing runs. The call is carried out all the same.
 */
export function wait(
  ingress: IngressContext,
  active: ActiveConfig,
  request: RequestContext,
  { resolved, delivery, wait: wanted }: AcceptedCall,
): Promise<Answer | undefined> | undefined {
  const timeoutMs = waitMsOf(active, resolved, wanted);
  if (timeoutMs === undefined || delivery.runIds.length === 0) return undefined;
  if (ingress.watch.count >= active.config.maxWaiting) return undefined;
  release(ingress, request);
  return untilSettled(ingress, request, delivery, timeoutMs);
}

function waitMsOf({ config }: ActiveConfig, { route }: Resolved, wanted: WantedWait | undefined): number | undefined {
  if (wanted) return wanted.waitMs ?? config.waitMs;
  if (typeof route === "string" || route.config.respond.kind !== "result") return undefined;
  return route.config.waitMs ?? config.waitMs;
}

async function untilSettled(
  ingress: IngressContext,
  { req }: RequestContext,
  delivery: Accepted,
  timeoutMs: number,
): Promise<Answer | undefined> {
  const watching = ingress.watch.watch(delivery.runIds, timeoutMs);
  const stay = onClientGone(req.socket, () => watching.end());
  try {
    // It may have been settled before it was watched; of a repeat that is even likely.
    const result = await resultOf(ingress, delivery, watching);
    if (result) return result;
    return (await watching.settled) ? await resultOf(ingress, delivery, watching) : undefined;
  } catch (error) {
    // The call is on disk: whatever cannot be read now, it was accepted.
    if (error instanceof StoreError) return undefined;
    throw error;
  } finally {
    watching.end();
    stay();
  }
}

/** `undefined` while a run is open. Of a reply that nobody watched, what the store keeps of it. */
async function resultOf(
  { store }: IngressContext,
  delivery: Accepted,
  { replies }: Watching,
): Promise<Answer | undefined> {
  const { deliveryId, runIds } = delivery;
  const coalesced = delivery.ended === "coalesced";
  // A coalesced call has its result from the run that it became a part of, which is another delivery's.
  const owner = coalesced ? (await store.loadRun(runIds[0]!)).deliveryId : deliveryId;
  const runs = (await store.get(owner))?.runs ?? [];
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
  const { id, state, attempts, delivery, reason } = run;
  const reply = replies.get(id) ?? run.reply;
  const last = attempts.at(-1);
  const error = state === "done" ? undefined : (reason ?? last?.error ?? undefined);
  return { runId: id, state, status: last?.status ?? null, reply, delivery, error };
}
