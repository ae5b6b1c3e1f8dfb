import type { Clock, HeartbeatRequest, Logger } from "../../core/host.ts";
import { CANCELED, firstBatch, hasCanceled, identityOf, isSame, MAX_BATCH, textOf } from "./event-batch.ts";
import type { EnqueuedEvent } from "./event-batch.ts";
import type { OpenClawSdk, OpenClawSystem } from "./sdk.ts";
import type { OpenClawState, QueuedEvent } from "./state.ts";

/** Milliseconds between two looks at the host's queue. */
const POLL_MS = 50;
/** The same while no turn takes the events of the session. */
const STALLED_POLL_MS = 1_000;
/** A turn that has not come is requested again after this, then after twice as long each time. */
const REQUEST_AGAIN_MS = 5_000;
const MAX_REQUEST_AGAIN_MS = 600_000;
/** After this many requests without a turn the session is reported as stalled. */
const STALLED_REQUESTS = 6;
/** Milliseconds between two looks for the end of the turn; each reads the host's store. */
const TURN_POLL_MS = 250;
/** The events of a failed turn are handed over again after this. */
const RETRY_MS = 60_000;
/** A turn that neither runs nor has reported its end for this long counts as ended. */
const LOST_TURN_MS = 60_000;
/** Events that have left a queue in which others wait were dropped, unless a turn shows within this time. */
const DROPPED_MS = 3_000;

/** The session's latest turn, as far as the host reports it. Times are milliseconds since the epoch. */
export interface LatestTurn {
  readonly status?: string | undefined;
  readonly endedAt?: number | undefined;
}

/** The host's key for the events of a session, and whether its heartbeats run there. */
export interface HostSession {
  readonly agentId: string;
  /** `global` where all conversations of an agent share one session. */
  readonly sessionKey: string;
  /** Identifies the event of our session in the host's queue, which may hold those of others of ours. */
  readonly contextKey: string;
  /** True when heartbeats run in a session of their own unless a request says otherwise. */
  readonly isolatesHeartbeats: boolean;
}

export interface EventQueueOptions {
  readonly state: Pick<OpenClawState, "pendingEvents" | "consumeEvents">;
  readonly system: OpenClawSystem;
  /** Absent when the host shows no queues: the end of a turn then counts as the proof that it took the events. */
  readonly peek: OpenClawSdk["peekSystemEventEntries"];
  readonly hostSession: (session: string) => HostSession;
  /** `undefined` when the host has none. */
  readonly latestTurn: (session: HostSession) => LatestTurn | undefined;
  /** Called with the idempotency keys of events that a turn has taken. */
  readonly onTaken: (keys: readonly string[]) => void;
  /** Called with true when no turn takes the events of a session, and with false when one has. */
  readonly onStalled: (session: string, isStalled: boolean) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Events that a turn takes or has taken, while its end is not known. */
interface TakenEvents {
  readonly events: readonly EnqueuedEvent[];
  /** The last time at which the host's queue still held them. */
  readonly after: number;
  /**
   * `left`: they have left the host's queue. `dropped`: so they have, and others are in it, so it may have dropped
   * them. `unseen`: the host does not show its queue.
   */
  readonly sign: "left" | "dropped" | "unseen";
}

/** Without the end of a turn for this long, what has left the queue counts as consumed, and what was dropped waits again. */
const PATIENCE_MS = { left: LOST_TURN_MS, dropped: DROPPED_MS, unseen: Infinity } as const;

/**
 * Hands one session's events to the host, in order. They are one event of the host's queue, which grows
 * until a turn takes it: so they need no more than one of its places, and one of the few turns that it
 * allows in a minute. They count as consumed when the turn that took them has ended; what a full queue
 * dropped, and what a failed turn had taken, is handed over again.
 */
export class EventQueue {
  readonly #session: string;
  readonly #options: EventQueueOptions;
  /** The events in the host's queue. */
  #enqueued: readonly EnqueuedEvent[] = [];
  /** Events of others that were behind ours in the host's queue: it drops none of them before ours. */
  #behind: ReadonlySet<string> = new Set();
  #taken: TakenEvents | undefined;
  /** The time of the last look at the host's queue. */
  #polledAt = 0;
  #retryAt = 0;
  #request: HeartbeatRequest | undefined;
  /** The time of the last request of a turn, by the process's clock; `undefined` when one is due now. */
  #requestedAt: number | undefined;
  /** Requests since a turn last took events. */
  #requests = 0;
  /** True when a turn has come since it was requested: another one is worth it only when events are left. */
  #isFollowUp = false;
  #timer: NodeJS.Timeout | undefined;
  /** True while the next look is no further away than it ever is while events wait. */
  #isPollDue = false;
  #working: Promise<void> | undefined;
  #again = false;
  /** True when other events may wait than those that were read last, or the host has not taken those. */
  #isChanged = true;
  #left = 0;
  #closed = false;

  constructor(session: string, options: EventQueueOptions) {
    this.#session = session;
    this.#options = options;
  }

  /** True when no work for the session is in progress here. */
  get isIdle(): boolean {
    return this.#working === undefined && this.#timer === undefined;
  }

  /** Looks again: an event was stored, or a turn is requested. */
  nudge(request?: HeartbeatRequest): void {
    if (this.#closed) return;
    this.#isChanged = true;
    // The look that is due finds this event too. One for each of thousands would read all that wait each time.
    if (request === undefined && this.#isPollDue) return;
    if (request !== undefined) {
      this.#request = request;
      this.#requestedAt = undefined;
      this.#isFollowUp = false;
    }
    this.#look();
  }

  #look(): void {
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
    const now = this.#options.clock.now();
    const at = this.#options.hostSession(this.#session);
    this.#detectTaken(now, at);
    if (this.#taken !== undefined && !(await this.#finishTurn(this.#taken, now, at))) {
      if (this.#taken.sign === "unseen") this.#requestTurn(this.#taken.events.length, at);
      return this.#pollLater(TURN_POLL_MS);
    }
    if (this.#closed) return;
    if (performance.now() < this.#retryAt) return this.#pollLater(this.#retryAt - performance.now());
    // Events may be large, and one look follows the other for as long as no turn comes.
    if (this.#isChanged || this.#enqueued.length === 0) this.#left = this.#enqueueBatch(this.#pending(), at);
    this.#requestTurn(this.#left, at);
    // Where nothing waits, no turn is missing.
    if (this.#left === 0) this.#endStall();
    // What was canceled and is still in the host's queue is to be replaced at the next look.
    const isUnfinished = this.#left > 0 || this.#enqueued.length > 0;
    if (isUnfinished) this.#pollLater(this.#requests < STALLED_REQUESTS ? POLL_MS : STALLED_POLL_MS);
  }

  #pending(): readonly QueuedEvent[] {
    return this.#options.state.pendingEvents(this.#session, { limit: MAX_BATCH });
  }

  /** A turn takes every event of the host's queue; a full queue drops its oldest alone. */
  #detectTaken(now: number, at: HostSession): void {
    const queue = this.#options.peek?.(at.sessionKey, at.agentId);
    const place = queue?.findIndex(({ contextKey }) => contextKey === at.contextKey) ?? -1;
    if (place === -1 && this.#enqueued.length > 0) {
      const wasDropped = queue?.some((event) => this.#behind.has(identityOf(event))) === true;
      const sign = queue === undefined ? "unseen" : queue.length === 0 ? "left" : "dropped";
      if (!wasDropped) this.#taken = { events: this.#enqueued, after: this.#polledAt, sign };
      this.#enqueued = [];
    }
    this.#behind = new Set(place === -1 ? [] : queue?.slice(place + 1).map(identityOf));
    this.#polledAt = now;
  }

  /** False while the turn runs. */
  async #finishTurn({ events, after, sign }: TakenEvents, now: number, at: HostSession): Promise<boolean> {
    const turn = this.#options.latestTurn(at);
    if (turn?.status === "running") return false;
    const hasEnded = (turn?.endedAt ?? 0) >= after;
    // No turn has begun, as far as the host says: what was canceled is still to be replaced in its queue.
    if (!hasEnded && sign === "unseen" && this.#isChanged) this.#isChanged = hasCanceled(events, this.#pending());
    if (!hasEnded && sign === "unseen" && this.#isChanged) {
      this.#taken = undefined;
      this.#enqueued = events;
      return true;
    }
    // With a clock that was set back, the end of the turn would come before its beginning for as long.
    if (!hasEnded && now - after <= PATIENCE_MS[sign] && (now >= after || sign === "unseen")) return false;
    this.#taken = undefined;
    if (!hasEnded && sign === "dropped") return true;
    if (turn?.status === "failed" || turn?.status === "timeout") {
      this.#retryAt = performance.now() + RETRY_MS;
      this.#options.logger.warn({ session: this.#session }, "a turn failed; its system events are handed over again");
    } else {
      const ids = events.map(({ id }) => id);
      await this.#options.state.consumeEvents(this.#session, ids);
      this.#options.onTaken(events.map(({ key }) => key));
    }
    this.#endStall();
    // One turn does not take more than it was given: the rest needs a turn of its own.
    if (this.#request !== undefined) this.#requestedAt = undefined;
    this.#isFollowUp = true;
    return true;
  }

  /** Puts what fits into the host's queue, in the place of what is there; returns how many events wait. */
  #enqueueBatch(events: readonly QueuedEvent[], at: HostSession): number {
    const batch = firstBatch(events);
    // One that was withdrawn leaves the text in the host's queue as well.
    if (batch.length === 0 ? this.#isLeftOver(at) : !isSame(batch, this.#enqueued)) {
      const text = textOf(batch);
      const { sessionKey, agentId, contextKey } = at;
      const place = { sessionKey, agentId, contextKey, replace: true } as const;
      const isTaken = this.#options.system.enqueueSystemEvent(text, place);
      // The host says no as well of what is in its queue already.
      const isThere = isTaken || this.#textInHostQueue(at) === text.trim();
      // An event that the host has refused would count as taken by a turn once it is missing in the queue.
      if (isThere) this.#enqueued = batch.map(({ id, key }) => ({ id, key }));
    }
    this.#isChanged = !isSame(batch, this.#enqueued);
    return events.length;
  }

  /** True when the host's queue holds only events that were canceled, also those of the instance before a reload. */
  #isLeftOver(at: HostSession): boolean {
    if (this.#options.peek === undefined) return this.#enqueued.length > 0;
    const text = this.#textInHostQueue(at);
    return text !== undefined && text !== CANCELED;
  }

  #textInHostQueue({ sessionKey, agentId, contextKey: own }: HostSession): string | undefined {
    const queue = this.#options.peek?.(sessionKey, agentId) ?? [];
    return queue.find(({ contextKey }) => contextKey === own)?.text;
  }

  #requestTurn(left: number, { sessionKey, agentId, isolatesHeartbeats }: HostSession): void {
    const request = this.#request;
    if (request === undefined) return;
    const now = performance.now();
    const isDue =
      this.#requestedAt === undefined
        ? left > 0 || !this.#isFollowUp
        : now - this.#requestedAt >= this.#requestAgainMs();
    if (isDue) {
      this.#requestedAt = now;
      this.#requests++;
      const { reason } = request;
      const shared = isolatesHeartbeats ? { heartbeat: { isolatedSession: false } as const } : {};
      const turn = { source: "hook", intent: "immediate", reason, agentId, sessionKey, ...shared } as const;
      this.#options.system.requestHeartbeat(turn);
      if (left > 0 && this.#requests === STALLED_REQUESTS) this.#reportStall(left);
    }
    if (left === 0) this.#request = undefined;
  }

  #requestAgainMs(): number {
    return Math.min(REQUEST_AGAIN_MS * 2 ** Math.max(0, this.#requests - 1), MAX_REQUEST_AGAIN_MS);
  }

  #reportStall(events: number): void {
    const { logger, onStalled } = this.#options;
    logger.warn({ session: this.#session, events }, "system events wait: no turn of the host takes them");
    onStalled(this.#session, true);
  }

  #endStall(): void {
    if (this.#requests >= STALLED_REQUESTS) this.#options.onStalled(this.#session, false);
    this.#requests = 0;
  }

  #pollLater(ms: number): void {
    clearTimeout(this.#timer);
    this.#isPollDue = ms <= POLL_MS;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#isPollDue = false;
      this.#look();
    }, ms).unref();
  }
}
