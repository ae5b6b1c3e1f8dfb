/** Sends the events of one subscriber, in their order, each until it is taken. */
import type { Clock, Logger } from "../../../core/host.ts";
import { type GuardedFetch, isSuccess } from "../../../http/guarded-fetch.ts";
import type { DeliveryReader, DeliverySummary } from "../../../index.ts";
import { controlId, type CallbackProblem, post, problemOf } from "./event-post.ts";
import { eventCursorOf, deliveriesAfter, type OfferedEvent, occurrenceOf } from "./occurrence.ts";
import type { Subscriber, Subscribers } from "./subscribers.ts";

export interface EventSenderOptions {
  readonly id: string;
  readonly subscribers: Subscribers;
  /** `undefined`: it is offered no more. */
  readonly event: (name: string) => OfferedEvent | undefined;
  readonly reader: () => DeliveryReader;
  /** The last id that counts; `undefined`: all do. */
  readonly upTo: () => string | undefined;
  readonly fetch: GuardedFetch;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly firstRetryMs: number;
  /** The subscription is over. */
  readonly onEnd: () => void;
}

/** How the sending of events to a subscriber goes, as its client sees it. */
export interface DeliveryStatus {
  readonly active: boolean;
  readonly lastDeliveryAt: string | null;
  readonly lastError: CallbackProblem | null;
  readonly failedSince?: string;
}

const LAST_RETRY_MS = 300_000;
/** Without a call of this gateway: another one on the same store may have taken events. */
const LOOK_MS = 30_000;
/** Refusals after which an event that is refused for what it is is given up. */
const MAX_REFUSALS = 8;
/** Answers that are about the receiver, and not about the event. */
const LATER: ReadonlySet<number> = new Set([408, 425, 429]);

export class EventSender {
  readonly #options: EventSenderOptions;
  readonly #stopped = new AbortController();
  #waiting: DeliverySummary[] = [];
  #running: Promise<void> = Promise.resolve();
  #wake: (() => void) | undefined;
  #isDue = true;
  #refusals = 0;
  #tries = 0;
  #status: DeliveryStatus = { active: true, lastDeliveryAt: null, lastError: null };

  constructor(options: EventSenderOptions) {
    this.#options = options;
  }

  get status(): DeliveryStatus {
    return this.#status;
  }

  start(): void {
    this.#running = this.#keep();
  }

  /** There may be something to send. */
  wake(): void {
    this.#isDue = true;
    if (this.#tries === 0) this.#wake?.();
  }

  /** What failed is tried at once: the subscriber has shown that it lives. */
  revive(): void {
    this.#tries = 0;
    this.#status = { ...this.#status, active: true };
    this.wake();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#wake?.();
    await this.#running;
  }

  get #subscriber(): Subscriber | undefined {
    return this.#options.subscribers.get(this.#options.id);
  }

  /** Ends when the subscription does. Never rejects. */
  async #keep(): Promise<void> {
    const { signal } = this.#stopped;
    const { logger, id, firstRetryMs } = this.#options;
    while (!signal.aborted) {
      try {
        const waitMs = await this.#step();
        if (waitMs === undefined) return this.#options.onEnd();
        // Something may have come between the look and this.
        if (waitMs > 0 && !(this.#isDue && this.#tries === 0)) await this.#sleep(waitMs);
      } catch (error) {
        if (signal.aborted) return;
        logger.warn({ err: error, subscription: id }, "events could not be read for a subscriber");
        await this.#sleep(firstRetryMs);
      }
    }
  }

  /** Resolves with the time until the next one; `undefined`: the subscription is over. */
  async #step(): Promise<number | undefined> {
    const { clock, event: eventOf, subscribers, logger, id } = this.#options;
    const subscriber = this.#subscriber;
    if (subscriber === undefined) return undefined;
    const event = eventOf(subscriber.name);
    if (event === undefined || clock.now() >= subscriber.expiresAt) {
      if (event === undefined)
        await this.#control(subscriber, { type: "terminated", error: { code: -32_011, message: "NotFound" } });
      subscribers.delete(id);
      logger.info({ subscription: id, event: subscriber.name }, "a client's subscription has ended");
      return undefined;
    }
    if (this.#waiting.length === 0) await this.#read(subscriber, event);
    const [next] = this.#waiting;
    if (next === undefined) return this.#isDue ? 0 : LOOK_MS;
    if (subscriber.event !== "" && next.event !== subscriber.event) return this.#advance(next);
    return await this.#send(this.#subscriber ?? subscriber, event, next);
  }

  async #read(subscriber: Subscriber, event: OfferedEvent): Promise<void> {
    const { reader, clock, subscribers, logger, id, upTo } = this.#options;
    this.#isDue = false;
    const now = clock.now();
    const { deliveries, truncated } = await deliveriesAfter(reader(), event, subscriber.position, upTo());
    this.#waiting = [...deliveries];
    if (truncated) {
      logger.warn({ subscription: id }, "a subscriber is too far behind, and misses events");
      const [first] = deliveries;
      await this.#control(subscriber, {
        type: "gap",
        cursor: eventCursorOf({ id: subscriber.position.id, at: Date.parse(first!.receivedAt) }),
      });
    } else if (deliveries.length === 0) {
      // So that the next look does not begin so far back.
      subscribers.advance(id, { ...subscriber.position, at: now });
    }
  }

  #advance({ id, receivedAt }: DeliverySummary): number {
    this.#waiting.shift();
    this.#tries = 0;
    this.#refusals = 0;
    this.#options.subscribers.advance(this.#options.id, { id, at: Date.parse(receivedAt) });
    return 0;
  }

  async #send(subscriber: Subscriber, event: OfferedEvent, delivery: DeliverySummary): Promise<number | undefined> {
    const { reader, fetch, clock, logger, subscribers, id } = this.#options;
    const occurrence = await occurrenceOf(reader(), event.name, delivery);
    const body = JSON.stringify({ ...occurrence, cursor: eventCursorOf(subscriber.position) });
    let status: number;
    try {
      const now = clock.now();
      ({ status } = await post(fetch, subscriber, { id: occurrence.eventId, body, now, signal: this.#stopped.signal }));
    } catch (error) {
      if (this.#stopped.signal.aborted) return undefined;
      const problem = problemOf(error);
      return this.#failed(subscriber, problem === "not_public" ? "connection_refused" : problem);
    }
    // It may have ended in the meantime.
    if (this.#subscriber === undefined) return undefined;
    if (isSuccess(status)) {
      this.#status = { active: true, lastDeliveryAt: new Date(clock.now()).toISOString(), lastError: null };
      return this.#advance(delivery);
    }
    if (status === 410) {
      logger.info({ subscription: id }, "a receiver wants no more events");
      subscribers.delete(id);
      return undefined;
    }
    const isForEvent = status < 500 && !LATER.has(status);
    if (status === 413 || (isForEvent && ++this.#refusals >= MAX_REFUSALS)) {
      logger.warn(
        { subscription: id, deliveryId: delivery.id, status },
        "a receiver does not take an event; it is given up",
      );
      return this.#advance(delivery);
    }
    return this.#failed(subscriber, status < 500 ? "http_4xx" : "http_5xx");
  }

  #failed({ name }: Subscriber, lastError: CallbackProblem): number {
    const { clock, logger, id, firstRetryMs } = this.#options;
    this.#tries++;
    const failedSince = this.#status.failedSince ?? new Date(clock.now()).toISOString();
    this.#status = { ...this.#status, active: false, lastError, failedSince };
    logger.warn(
      { subscription: id, event: name, tries: this.#tries, reason: lastError },
      "an event was not taken; it is sent again",
    );
    return Math.min(firstRetryMs * 2 ** (this.#tries - 1), LAST_RETRY_MS);
  }

  /** Sends a control message once; a receiver that does not take it misses it. */
  async #control(
    subscriber: Subscriber,
    content: { readonly type: string; readonly [key: string]: unknown },
  ): Promise<void> {
    const { fetch, clock } = this.#options;
    const id = controlId(content.type);
    await post(fetch, subscriber, { id, body: JSON.stringify(content), now: clock.now() }).catch(() => undefined);
  }

  async #sleep(ms: number): Promise<void> {
    if (this.#stopped.signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = setTimeout(resolve, ms).unref();
    await promise;
    clearTimeout(timer);
    this.#wake = undefined;
  }
}
