import type { Clock, HeartbeatRequest, Logger } from "../../core/host.ts";
import type { OpenClawSdk, OpenClawSystem } from "./sdk.ts";
import type { OpenClawState, PendingEvent } from "./state.ts";

/** The host keeps this many events of a session, and drops the oldest without a word. */
const HOST_QUEUE = 20;
/** Ours are one of them: as many as fit these limits, and at least one. */
const MAX_BATCH = 200;
const MAX_BATCH_CHARS = 65_536;
/** How often is looked whether a turn has taken them. */
const POLL_MS = 50;
/** A turn that has not come is asked for again. */
const REQUEST_AGAIN_MS = 5_000;
/** How often is looked whether the turn that took them has ended; that reads the host's store. */
const TURN_POLL_MS = 250;
/** What a failed turn had taken is handed over again after this. */
const RETRY_MS = 60_000;
/** A turn that neither continues nor has told of its end for this long is taken to have ended. */
const LOST_TURN_MS = 60_000;

/** By which ours is found in the host's queue. */
const CONTEXT_KEY = "reveille:events";

/** The session's latest turn, as far as the host tells. Times are milliseconds since the epoch. */
export interface LatestTurn {
  readonly status?: string | undefined;
  readonly endedAt?: number | undefined;
}

export interface EventQueueOptions {
  readonly state: Pick<OpenClawState, "pendingEvents" | "consumeEvents">;
  readonly system: OpenClawSystem;
  readonly peek: OpenClawSdk["peekSystemEventEntries"];
  /** `undefined` when the host knows of none. */
  readonly latestTurn: (sessionKey: string) => LatestTurn | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Hands one session's events to the host, in order. They are one event of the host's queue, which grows
 * until a turn takes it: so they need no more than one of its twenty places, and one of the few turns that it
 * allows in a minute. They count as consumed when the turn that took them has ended; what a full queue
 * dropped, and what a failed turn had taken, is handed over again.
 */
export class EventQueue {
  readonly #session: string;
  readonly #options: EventQueueOptions;
  /** Ids of the events in the host's queue. */
  #enqueued: readonly number[] = [];
  /** Events that a turn has taken and that has not ended as far as is known. */
  #taken: { readonly ids: readonly number[]; readonly after: number } | undefined;
  /** When the host's queue was looked at last. */
  #polledAt = 0;
  #retryAt = 0;
  #request: HeartbeatRequest | undefined;
  /** When the turn was asked for last, by the process's clock; `undefined` when it has to be asked for now. */
  #requestedAt: number | undefined;
  /** True when a turn has come since it was asked for: another one is worth it only when events are left. */
  #isFollowUp = false;
  #timer: NodeJS.Timeout | undefined;
  /** True while the next look is no further away than it ever is while events wait. */
  #isPollDue = false;
  #working: Promise<void> | undefined;
  #again = false;
  #closed = false;

  constructor(session: string, options: EventQueueOptions) {
    this.#session = session;
    this.#options = options;
  }

  /** True when nothing of the session is in progress here. */
  get isIdle(): boolean {
    return this.#working === undefined && this.#timer === undefined;
  }

  /** Looks again: an event was stored, or a turn is asked for. */
  nudge(request?: HeartbeatRequest): void {
    if (this.#closed) return;
    // The look that is due finds this event too. One for each of thousands would read all that wait each time.
    if (request === undefined && this.#isPollDue) return;
    if (request !== undefined) {
      this.#request = request;
      this.#requestedAt = undefined;
      this.#isFollowUp = false;
    }
    this.#again = true;
    this.#working ??= this.#work().finally(() => (this.#working = undefined));
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#working;
  }

  async #work(): Promise<void> {
    while (this.#again && !this.#closed) {
      this.#again = false;
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#isPollDue = false;
      try {
        await this.#poll();
      } catch (error) {
        this.#options.logger.warn({ err: error, session: this.#session }, "system events could not be handed over");
        this.#pollLater(REQUEST_AGAIN_MS);
      }
    }
  }

  async #poll(): Promise<void> {
    const { state, clock } = this.#options;
    const now = clock.now();
    this.#detectTaken(now);
    if (this.#taken !== undefined && !(await this.#finishTurn(this.#taken, now))) {
      return this.#pollLater(TURN_POLL_MS);
    }
    if (this.#closed) return;
    if (now < this.#retryAt) return this.#pollLater(this.#retryAt - now);
    const left = this.#enqueueBatch(state.pendingEvents(this.#session, { limit: MAX_BATCH }));
    this.#requestTurn(left);
    if (left > 0) this.#pollLater(POLL_MS);
  }

  /** What has left the host's queue was taken by a turn, unless the queue is full: then it was dropped. */
  #detectTaken(now: number): void {
    const queue = this.#options.peek(this.#session);
    const isThere = queue.some(({ contextKey }) => contextKey === CONTEXT_KEY);
    if (!isThere && this.#enqueued.length > 0) {
      if (queue.length < HOST_QUEUE) this.#taken = { ids: this.#enqueued, after: this.#polledAt };
      this.#enqueued = [];
    }
    this.#polledAt = now;
  }

  /** False while the turn continues. */
  async #finishTurn({ ids, after }: { ids: readonly number[]; after: number }, now: number): Promise<boolean> {
    const turn = this.#options.latestTurn(this.#session);
    const hasEnded = (turn?.endedAt ?? 0) >= after || now - after > LOST_TURN_MS;
    if (!hasEnded || turn?.status === "running") return false;
    if (turn?.status === "failed" || turn?.status === "timeout") {
      this.#retryAt = now + RETRY_MS;
      this.#options.logger.warn({ session: this.#session }, "a turn failed; its system events are handed over again");
    } else {
      await this.#options.state.consumeEvents(this.#session, ids);
    }
    this.#taken = undefined;
    // One turn does not take more than it was given: the rest needs a turn of its own.
    if (this.#request !== undefined) this.#requestedAt = undefined;
    this.#isFollowUp = true;
    return true;
  }

  /** Puts what fits into the host's queue, instead of what is there; returns how many events wait. */
  #enqueueBatch(events: readonly PendingEvent[]): number {
    const batch = firstBatch(events);
    if (batch.length > this.#enqueued.length) {
      const text = batch.map((event) => event.text).join("\n");
      const place = { sessionKey: this.#session, contextKey: CONTEXT_KEY, replace: true } as const;
      const isTaken = this.#options.system.enqueueSystemEvent(text, place);
      // What the host has refused would count as taken by a turn once it is seen not to be in the queue.
      if (isTaken || this.#isInHostQueue(text)) this.#enqueued = batch.map(({ id }) => id);
    }
    return events.length;
  }

  /** The host says no as well of what is in its queue already. */
  #isInHostQueue(text: string): boolean {
    const queue = this.#options.peek(this.#session);
    return queue.some((event) => event.contextKey === CONTEXT_KEY && event.text === text.trim());
  }

  #requestTurn(left: number): void {
    const request = this.#request;
    if (request === undefined) return;
    const now = performance.now();
    const isDue =
      this.#requestedAt === undefined ? left > 0 || !this.#isFollowUp : now - this.#requestedAt >= REQUEST_AGAIN_MS;
    if (isDue) {
      this.#requestedAt = now;
      const { agentId, sessionKey, reason } = request;
      this.#options.system.requestHeartbeat({ source: "hook", intent: "immediate", reason, agentId, sessionKey });
    }
    if (left === 0) this.#request = undefined;
  }

  #pollLater(ms: number): void {
    clearTimeout(this.#timer);
    this.#isPollDue = ms <= POLL_MS;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#isPollDue = false;
      this.nudge();
    }, ms);
    this.#timer.unref();
  }
}

function firstBatch(events: readonly PendingEvent[]): readonly PendingEvent[] {
  let chars = 0;
  const end = events.findIndex(({ text }, at) => (chars += text.length) > MAX_BATCH_CHARS && at > 0);
  return end === -1 ? events : events.slice(0, end);
}
