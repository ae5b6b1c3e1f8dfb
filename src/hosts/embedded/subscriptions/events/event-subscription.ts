/** One subscription to an event of an MCP server: made, refreshed, polled, and taken up again where it was. */
import { isDeepStrictEqual } from "node:util";
import { reasonLine } from "../../../../core/reason-of.ts";
import type { Clock, Logger } from "../../../../core/host.ts";
import type { ActiveSubscription, Operations } from "../../../../index.ts";
import { EventNotices } from "./event-notices.ts";
import type { EventRecord, EventRecords } from "./event-records.ts";
import { EventServer, EventServerError } from "./event-server.ts";
import { deliveryOf, type EventWish, type Said, poll, type PolledEvent, subscribe, unsubscribe } from "./event-wire.ts";

/** Times, in milliseconds. */
export interface EventTimings {
  readonly firstRetryMs: number;
  readonly lastRetryMs: number;
  /** Between two refreshes, and between two polls, at least. */
  readonly leastMs: number;
  /** While the tool of `gateway.expose` has no URL yet. */
  readonly pendingMs: number;
}

export const EVENT_TIMINGS: EventTimings = {
  firstRetryMs: 5_000,
  lastRetryMs: 600_000,
  leastMs: 1_000,
  pendingMs: 2_000,
};

export interface EventSubscriptionOptions {
  readonly subscription: ActiveSubscription;
  readonly records: EventRecords;
  /** The URL that the server is to call; `null`: there will be one; `undefined`: there is none. */
  readonly callback: () => string | null | undefined;
  /** Hands an event to the own route; resolves with the status of its answer. */
  readonly deliver: (subscription: ActiveSubscription, event: PolledEvent) => Promise<number>;
  readonly outages: () => Operations["outages"];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly timings: EventTimings;
}

/** What the owner sees of it. */
export interface SubscriptionState {
  readonly name: string;
  readonly server: string;
  readonly event: string;
  readonly mapping: string;
  /** `null`: it has not begun. */
  readonly mode: "webhook" | "poll" | null;
  readonly state: "active" | "waiting" | "failing" | "set aside";
  /** Why it is not active. */
  readonly problem: string | null;
  /** When the server is asked next; ISO 8601. */
  readonly nextAt: string | null;
}

/** Asked for; the server says how much of it there is. */
const TTL_MS = 86_400_000;
/** The share of its time after which one is refreshed: what fails then can be tried again. */
const REFRESH_AFTER = 2 / 3;
const POLL_MS = 30_000;
const LONGEST_POLL_MS = 3_600_000;
/** Pages that are read without a pause. */
const MAX_PAGES = 100;
/** A server that takes longer to hear of the end is left: the subscription then ends by itself. */
const LEAVE_MS = 5_000;
/** Answers of the own route to an event that would be the same at another try. */
const REFUSED: ReadonlySet<number> = new Set([400, 413, 415, 422]);

export class EventSubscription {
  readonly #options: EventSubscriptionOptions;
  readonly #notices: EventNotices;
  readonly #stopped = new AbortController();
  #record: EventRecord;
  #server: EventServer | undefined;
  #delivery: ReadonlySet<string> = new Set();
  #running: Promise<void> = Promise.resolve();
  #wake: (() => void) | undefined;
  #ended: EventServerError | undefined;
  #state: Pick<SubscriptionState, "mode" | "state" | "problem"> = {
    mode: null,
    state: "waiting",
    problem: "it begins",
  };
  #nextAt: number | undefined;
  /** What the callback was when the latest step began. */
  #urlOfStep: string | null | undefined;

  constructor(options: EventSubscriptionOptions) {
    this.#options = options;
    this.#notices = new EventNotices({ ...options, ...options.subscription });
    const { name, url: server, event, arguments: args } = options.subscription;
    const known = options.records.get(name);
    const isSame = known?.server === server && known.event === event && isDeepStrictEqual(known.arguments, args);
    this.#record = isSame ? known : { name, server, event, arguments: { ...args }, callback: "", id: "", cursor: null };
  }

  get state(): SubscriptionState {
    const { name, url, event, mapping } = this.#options.subscription;
    const nextAt = this.#nextAt === undefined ? null : new Date(this.#nextAt).toISOString();
    return { name, server: new URL(url).origin, event, mapping, ...this.#state, nextAt };
  }

  start(): void {
    this.#running = this.#keep();
  }

  /** Resolves when nothing is asked any more; the server goes on, and so does the next start. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#wake?.();
    await this.#running;
  }

  /** Ends it at the server as well, as far as that works. */
  async end(): Promise<void> {
    await this.stop();
    const { records, subscription } = this.#options;
    records.delete(subscription.name);
    await this.#notices.ended();
    if (this.#record.callback === "") return;
    await this.#leave(this.#record.callback, AbortSignal.timeout(LEAVE_MS));
  }

  /** The public URL may be another one. */
  lookAgain(): void {
    const url = this.#options.callback();
    if (url !== null && (url ?? "") !== this.#record.callback) this.#wake?.();
  }

  /** The server has called with something that is on disk. */
  heard(said: Said): void {
    if (said.kind === "terminated") {
      this.#ended = new EventServerError(`it has ended the subscription: ${said.reason}`, { code: -32_012 });
      this.#wake?.();
      return;
    }
    if (said.kind === "gap") void this.#notices.gap();
    if (said.cursor !== undefined) this.#keepRecord({ cursor: said.cursor });
  }

  /** Never rejects. */
  async #keep(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      const isConnected = this.#server !== undefined;
      try {
        await this.#sleep(await this.#step());
      } catch (error) {
        this.#server = undefined;
        // A session that has ended is no failure: another connection decides.
        if (!signal.aborted && !isConnected) await this.#sleep(await this.#failed(error));
      }
    }
  }

  /** Resolves with the time until the next step. */
  async #step(): Promise<number> {
    const { callback, timings } = this.#options;
    const ended = this.#ended;
    this.#ended = undefined;
    if (ended !== undefined) throw ended;
    const url = callback();
    this.#urlOfStep = url;
    if (url === null) {
      this.#state = { ...this.#state, state: "waiting", problem: "the public URL is not there yet" };
      return timings.pendingMs;
    }
    const server = await this.#connect();
    if (url !== undefined && this.#delivery.has("webhook")) {
      const waitMs = await this.#refresh(server, url);
      // The next refresh may be hours away, and sessions end.
      this.#server = undefined;
      await this.#works("webhook");
      return waitMs;
    }
    if (!this.#delivery.has("poll")) {
      const why =
        url === undefined ? "by webhook alone, and there is no public URL" : "neither by webhook nor by polling";
      throw new EventServerError(`it delivers the event ${why}`, { code: -32_014 });
    }
    if (this.#record.callback !== "") await this.#leave(this.#record.callback, this.#stopped.signal);
    this.#keepRecord({ callback: "", id: "" });
    const waitMs = await this.#poll(server);
    await this.#works("poll");
    return waitMs;
  }

  async #connect(): Promise<EventServer> {
    if (this.#server !== undefined) return this.#server;
    const { url, token, event } = this.#options.subscription;
    const server = await EventServer.connect({ url, token, signal: this.#stopped.signal });
    this.#delivery = await deliveryOf(server, event);
    this.#server = server;
    return server;
  }

  get #wish(): EventWish {
    const { event: name, arguments: args } = this.#options.subscription;
    return { name, arguments: args };
  }

  async #refresh(server: EventServer, url: string): Promise<number> {
    const { subscription, clock, logger, timings } = this.#options;
    const { callback: before, cursor } = this.#record;
    const given = await subscribe(server, this.#wish, {
      url,
      secret: wholeSecret(subscription),
      cursor,
      ttlMs: TTL_MS,
    });
    this.#keepRecord({ callback: url, id: given.id, cursor: given.cursor });
    logger.info({ subscription: subscription.name, id: given.id }, "subscription refreshed");
    if (before !== "" && before !== url) await this.#leave(before, this.#stopped.signal);
    if (given.undelivered !== undefined) this.#notices.undelivered(given.undelivered);
    await (given.truncated ? this.#notices.gap() : this.#notices.noGap());
    const lastsMs = given.refreshBefore === null ? TTL_MS : given.refreshBefore - clock.now();
    return Math.min(Math.max(lastsMs * REFRESH_AFTER, timings.leastMs), TTL_MS);
  }

  async #poll(server: EventServer): Promise<number> {
    const { timings } = this.#options;
    for (let page = 0; page < MAX_PAGES; page++) {
      const answer = await poll(server, this.#wish, this.#record.cursor);
      for (const event of answer.events) await this.#deliver(event);
      if (answer.refused > 0) await this.#notices.refused(`${answer.refused} of its events are none by the protocol`);
      if (answer.truncated) await this.#notices.gap();
      else if (answer.events.length === 0) await this.#notices.noGap();
      const isStuck = answer.events.length === 0 && answer.cursor === this.#record.cursor;
      this.#keepRecord({ cursor: answer.cursor });
      if (answer.hasMore && !isStuck && !this.#stopped.signal.aborted) continue;
      return Math.min(Math.max(answer.nextPollMs ?? POLL_MS, timings.leastMs), LONGEST_POLL_MS);
    }
    return timings.leastMs;
  }

  /** What is not taken now is polled again: the cursor stays before it. */
  async #deliver(event: PolledEvent): Promise<void> {
    const { deliver, subscription } = this.#options;
    this.#stopped.signal.throwIfAborted();
    const status = await deliver(subscription, event);
    if (status >= 200 && status < 300) return;
    if (!REFUSED.has(status)) throw new Error(`the own route answers ${status}`);
    await this.#notices.refused(`the own route answers ${status} to an event`);
  }

  async #leave(url: string, signal: AbortSignal): Promise<void> {
    const { subscription, logger } = this.#options;
    try {
      const { token } = subscription;
      const server = await EventServer.connect({ url: subscription.url, token, signal });
      await unsubscribe(server, this.#wish, url);
    } catch (error) {
      // It ends by itself.
      logger.info(
        { subscription: subscription.name, reason: reasonLine(error) },
        "subscription not ended at its server",
      );
    }
  }

  async #works(mode: "webhook" | "poll"): Promise<void> {
    const { subscription, logger } = this.#options;
    if (this.#state.state !== "active") logger.info({ subscription: subscription.name, mode }, "subscription active");
    this.#state = { mode, state: "active", problem: null };
    await this.#notices.works();
  }

  /** Resolves with the time until the next try. */
  async #failed(error: unknown): Promise<number> {
    const { firstRetryMs, lastRetryMs } = this.#options.timings;
    this.#state = { ...this.#state, state: "failing", problem: reasonLine(error) };
    return Math.min(firstRetryMs * 2 ** ((await this.#notices.failed(error)) - 1), lastRetryMs);
  }

  #keepRecord(change: Partial<EventRecord>): void {
    const next = { ...this.#record, ...change };
    if (isDeepStrictEqual(next, this.#record) && this.#options.records.get(next.name) !== undefined) return;
    this.#record = next;
    this.#options.records.save(next);
  }

  async #sleep(ms: number): Promise<void> {
    if (this.#stopped.signal.aborted || this.#ended !== undefined) return;
    // It changed during the step, when there was nothing to wake.
    if (this.#options.callback() !== this.#urlOfStep) return;
    this.#nextAt = this.#options.clock.now() + ms;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = setTimeout(resolve, ms).unref();
    await promise;
    clearTimeout(timer);
    this.#wake = undefined;
    this.#nextAt = undefined;
  }
}

/** Servers take nothing else; the owner may have left the prefix out. */
function wholeSecret({ secret }: ActiveSubscription): string {
  return secret.startsWith("whsec_") ? secret : `whsec_${secret}`;
}
