import { setTimeout as sleep } from "node:timers/promises";
import type { DispatchContext } from "../context.ts";
import type { Expiries, TrackedRun } from "../queue/timers.ts";
import { LinkedList } from "../queue/linked-list.ts";
import { HOST_RETRY, retryDelayMs } from "./retry.ts";
import { WakeBatch } from "./wake-batch.ts";
import type { UnsettledWakes, Wake } from "./wake-batch.ts";

/** As many as one commit is worth. */
export const BATCH = 64;
/** The wakes of other sessions wait so long for a session that does not answer. */
const PATIENCE_MS = 1_000;

export interface WakeSessionsOptions {
  readonly expiries: Pick<Expiries, "add" | "suspend">;
  /** Lets others have their turn. */
  readonly pace: () => Promise<unknown>;
  /** It is settled, or stays on disk for the next process. */
  readonly ended: (run: TrackedRun) => void;
}

/**
 * Takes wakes to their sessions, each session for itself: one that is full or does not answer keeps its own
 * wakes waiting, in their order, and no others. They are handed over again later.
 */
export class WakeSessions {
  readonly #context: DispatchContext;
  readonly #options: WakeSessionsOptions;
  readonly #delivery: WakeBatch;
  /** Sessions that are being served, by key, and the wakes that wait behind the active ones. */
  readonly #waiting = new Map<string, LinkedList<TrackedRun>>();
  readonly #serving = new Set<Promise<void>>();
  readonly #stopping = new AbortController();

  constructor(context: DispatchContext, options: WakeSessionsOptions) {
    this.#context = context;
    this.#options = options;
    this.#delivery = new WakeBatch(context, options.ended);
  }

  /** Wakes that their sessions have until a turn takes them. */
  get handedOver(): number {
    return this.#delivery.handedOver;
  }

  /** True while wakes are taken to the session, or wait for it. */
  isServed(sessionKey: string): boolean {
    return this.#waiting.has(sessionKey);
  }

  /** Resolves when they are carried out, or wait for a session that does not take them; never rejects. */
  async carryOut(batch: readonly TrackedRun[]): Promise<void> {
    const delivered: Promise<unknown>[] = [];
    for (const [sessionKey, wakes] of bySession(await this.#load(batch))) {
      const waiting = this.#waiting.get(sessionKey);
      if (waiting) for (const { tracked } of wakes) this.#wait(waiting, tracked);
      else delivered.push(this.#serve(sessionKey, wakes));
    }
    const { promise: overdue, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, PATIENCE_MS);
    await Promise.race([Promise.all(delivered), overdue]);
    clearTimeout(timer);
  }

  /** Offers nothing again; resolves when active wakes have ended. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#serving);
  }

  /** Resolves when the first wakes have been handed over; the session is served until none of its wakes waits. */
  #serve(sessionKey: string, wakes: readonly Wake[]): Promise<unknown> {
    const waiting = new LinkedList<TrackedRun>();
    this.#waiting.set(sessionKey, waiting);
    const first = this.#deliver(wakes);
    const served = this.#serveRest(sessionKey, waiting, { first, offered: wakes.length }).then(() => {
      this.#serving.delete(served);
    });
    this.#serving.add(served);
    return first;
  }

  async #serveRest(
    sessionKey: string,
    waiting: LinkedList<TrackedRun>,
    begun: { first: Promise<readonly TrackedRun[]>; offered: number },
  ): Promise<void> {
    const { signal } = this.#stopping;
    let { offered } = begun;
    let refused = await begun.first;
    let refusals = 0;
    for (;;) {
      for (const tracked of refused.toReversed()) {
        waiting.unshift(tracked);
        this.#options.expiries.add(tracked);
      }
      if (waiting.length === 0) break;
      // A session that takes some has room again: the others do not wait for long.
      refusals = refused.length < offered ? 1 : refusals + 1;
      if (refused.length === 0) await this.#options.pace();
      else await sleep(retryDelayMs(HOST_RETRY, refusals), undefined, { signal }).catch(() => {});
      if (signal.aborted) break;
      const wakes = await this.#next(waiting);
      offered = wakes.length;
      refused = await this.#deliver(wakes);
    }
    this.#waiting.delete(sessionKey);
    // The others stay on disk.
    for (let left = waiting.shift(); left; left = waiting.shift()) this.#leave(left);
  }

  #leave(tracked: TrackedRun): void {
    this.#options.expiries.suspend(tracked);
    this.#options.ended(tracked);
  }

  #wait(waiting: LinkedList<TrackedRun>, tracked: TrackedRun): void {
    if (tracked.withdrawn) {
      this.#options.ended(tracked);
      return;
    }
    waiting.push(tracked);
    this.#options.expiries.add(tracked);
  }

  /** Takes out the first of those that wait, for their turn. */
  async #next(waiting: LinkedList<TrackedRun>): Promise<readonly Wake[]> {
    const batch: TrackedRun[] = [];
    while (batch.length < BATCH && waiting.first) {
      const tracked = waiting.shift()!;
      this.#options.expiries.suspend(tracked);
      batch.push(tracked);
    }
    return this.#load(batch);
  }

  async #load(batch: readonly TrackedRun[]): Promise<readonly Wake[]> {
    try {
      const loaded = await Promise.all(batch.map((tracked) => this.#delivery.load(tracked)));
      for (const [at, wake] of loaded.entries()) if (!wake) this.#options.ended(batch[at]!);
      return loaded.filter((wake) => wake !== undefined);
    } catch (error) {
      this.#report(error);
      for (const tracked of batch) this.#options.ended(tracked);
      return [];
    }
  }

  /** Never rejects; gives those that were refused. */
  async #deliver(wakes: readonly Wake[]): Promise<readonly TrackedRun[]> {
    let unsettled: UnsettledWakes = { refused: [], waiting: [] };
    try {
      unsettled = await this.#delivery.deliver(wakes);
    } catch (error) {
      this.#report(error);
    }
    const open = new Set([...unsettled.refused, ...unsettled.waiting]);
    for (const { tracked } of wakes) if (!open.has(tracked)) this.#options.ended(tracked);
    return unsettled.refused;
  }

  /** Logs an error; the wakes stay on disk and are recovered at the next start. */
  #report(error: unknown): void {
    if (this.#context.abandon.aborted) return;
    this.#context.logger.error({ err: error }, "a batch of wakes could not be carried out");
  }
}

function bySession(wakes: readonly Wake[]): ReadonlyMap<string, readonly Wake[]> {
  return Map.groupBy(wakes, ({ spec }) => spec.sessionKey);
}
