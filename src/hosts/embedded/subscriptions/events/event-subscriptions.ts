/** The subscriptions of the configuration to events of MCP servers. */
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { AcceptedEvent, ActiveSubscription, GatewayHost, GatewayPlugin, Operations } from "../../../../index.ts";
import { WebhookIngress } from "../../../../index.ts";
import type { Clock, Logger } from "../../../../core/host.ts";
import { messageId, signMessage } from "../../../../http/sign-message.ts";
import { EventRecords, type EventRecordsOptions } from "./event-records.ts";
import { EVENT_TIMINGS, EventSubscription, type EventTimings, type SubscriptionState } from "./event-subscription.ts";
import { type PolledEvent, saidIn } from "./event-wire.ts";

export interface EventSubscriptionsOptions {
  readonly stateDir: string;
  readonly state: EventRecordsOptions["state"];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly operations: () => Operations;
  /** Of a delivery. */
  readonly body: (deliveryId: string) => Promise<Uint8Array | undefined>;
  /** Resolves when this gateway carries out the runs: it alone subscribes. */
  readonly leading: () => Promise<void>;
  /** The public URL that paths of hooks follow; `null`: there will be one; `undefined`: there is none. */
  readonly hooksUrl: () => string | null | undefined;
  /** The same on this machine. */
  readonly ownUrl: () => string;
  readonly timings?: Partial<EventTimings> | undefined;
}

const NAME = "reveille subscriptions";
/** What arrives within that time is read together: only the latest event has the cursor that counts. */
const READ_MS = 300;
const MAX_UNREAD = 1_000;
const OWN_TIMEOUT_MS = 60_000;

interface Arrived {
  readonly deliveryId: string;
  readonly path: string;
  /** True when it may be a control message: nothing runs for those. */
  readonly isQuiet: boolean;
}

export class EventSubscriptions implements GatewayPlugin {
  readonly #options: EventSubscriptionsOptions;
  readonly #records: EventRecords;
  readonly #held = new Map<string, { readonly wish: ActiveSubscription; readonly subscription: EventSubscription }>();
  /** By path. */
  #byPath: ReadonlyMap<string, EventSubscription> = new Map();
  #setAside: readonly ActiveSubscription[] = [];
  #unread: Arrived[] = [];
  #reading: NodeJS.Timeout | undefined;
  #changing: Promise<void> = Promise.resolve();
  #isLeading = false;
  #isLoaded = false;
  #isStopped = false;

  constructor(options: EventSubscriptionsOptions) {
    this.#options = options;
    this.#records = new EventRecords(options);
  }

  apply(host: GatewayHost): void {
    WebhookIngress.hooks(host).accepted.tap(NAME, (event) => this.#accepted(event));
  }

  get states(): readonly SubscriptionState[] {
    const held = [...this.#held.values()].map(({ subscription }) => subscription.state);
    const aside = this.#setAside.map(({ name, url, event, mapping, broken = null }): SubscriptionState => ({
      name,
      server: URL.parse(url)?.origin ?? url,
      event,
      mapping,
      mode: null,
      state: "set aside",
      problem: broken,
      nextAt: null,
    }));
    return [...held, ...aside];
  }

  /** Begins once this gateway has the lead. */
  start(): void {
    void this.#options.leading().then(() => {
      this.#isLeading = true;
      this.configure();
    });
  }

  /** Takes the active configuration into use; what is as before goes on. */
  configure(): void {
    this.#changing = this.#changing
      .then(() => this.#change())
      .catch((error: unknown) => {
        this.#options.logger.error({ err: error }, "subscriptions could not be taken into use");
      });
  }

  /** The servers go on; the next start takes the subscriptions up. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#reading);
    await this.#changing;
    await Promise.all([...this.#held.values()].map(({ subscription }) => subscription.stop()));
    await this.#records.settled();
  }

  async #change(): Promise<void> {
    if (!this.#isLeading || this.#isStopped) return;
    if (!this.#isLoaded && !(await this.#load())) return;
    const all = this.#options.operations().subscriptions.list();
    const wanted = new Map(all.filter(({ broken }) => broken === undefined).map((each) => [each.name, each]));
    this.#setAside = all.filter(({ broken }) => broken !== undefined);
    for (const [name, { wish, subscription }] of this.#held) {
      const next = wanted.get(name);
      if (isDeepStrictEqual(next, wish)) {
        subscription.lookAgain();
        continue;
      }
      this.#held.delete(name);
      const isOther = next === undefined ? !this.#isSetAside(name) : !isSameWish(next, wish);
      await (isOther ? subscription.end() : subscription.stop());
    }
    for (const [name, wish] of wanted) {
      if (this.#held.has(name)) continue;
      const subscription = this.#make(wish);
      this.#held.set(name, { wish, subscription });
      subscription.start();
    }
    this.#byPath = new Map([...this.#held.values()].map(({ wish, subscription }) => [wish.path, subscription]));
    for (const name of this.#records.names) {
      if (!wanted.has(name) && !this.#isSetAside(name)) this.#records.delete(name);
    }
  }

  /** Those of the gateway that led before, too; false when this one stops meanwhile. */
  async #load(): Promise<boolean> {
    const { logger, timings } = this.#options;
    while (!this.#isLoaded && !this.#isStopped) {
      try {
        await this.#records.load();
        this.#isLoaded = true;
      } catch (error) {
        logger.warn({ err: error }, "the cursors of subscriptions could not be read; it is tried again");
        await sleep(timings?.pendingMs ?? EVENT_TIMINGS.pendingMs);
      }
    }
    return this.#isLoaded;
  }

  #isSetAside(name: string): boolean {
    return this.#setAside.some((each) => each.name === name);
  }

  #make(wish: ActiveSubscription): EventSubscription {
    const { clock, logger, operations, hooksUrl, timings } = this.#options;
    return new EventSubscription({
      subscription: wish,
      records: this.#records,
      callback: () => {
        const url = hooksUrl();
        return typeof url === "string" ? `${url}/${wish.path}` : url;
      },
      deliver: (subscription, event) => this.#deliver(subscription, event),
      outages: () => operations().outages,
      clock,
      logger,
      timings: { ...EVENT_TIMINGS, ...timings },
    });
  }

  /** As the server would: a polled event takes the way of every other call. */
  async #deliver({ path, secret, name }: ActiveSubscription, event: PolledEvent): Promise<number> {
    const { clock, ownUrl } = this.#options;
    const body = JSON.stringify(event);
    const signed = signMessage(body, { id: messageId(`${name}:${event.eventId}`), atMs: clock.now(), secret });
    const response = await fetch(`${ownUrl()}/${path}`, {
      method: "POST",
      redirect: "manual",
      signal: AbortSignal.timeout(OWN_TIMEOUT_MS),
      headers: { "content-type": "application/json", ...signed },
      body,
    });
    await response.body?.cancel();
    return response.status;
  }

  #accepted({ route, deliveryId, runIds }: AcceptedEvent): void {
    if (!this.#byPath.has(route)) return;
    const latest = this.#unread.at(-1);
    const arrived = { deliveryId, path: route, isQuiet: runIds.length === 0 };
    if (latest?.path === route && !latest.isQuiet && !arrived.isQuiet) this.#unread.pop();
    // Of so many the oldest counts least, and the next refresh says what it would have said.
    else if (this.#unread.length >= MAX_UNREAD) this.#unread.shift();
    this.#unread.push(arrived);
    this.#reading ??= setTimeout(() => void this.#read(), READ_MS).unref();
  }

  /** Never rejects. */
  async #read(): Promise<void> {
    const { body, logger } = this.#options;
    const arrived = this.#unread;
    this.#unread = [];
    this.#reading = undefined;
    for (const { deliveryId, path } of arrived) {
      const subscription = this.#byPath.get(path);
      if (this.#isStopped || subscription?.state.mode === "poll") continue;
      try {
        const said = saidIn((await body(deliveryId)) ?? new Uint8Array());
        if (said !== undefined) subscription?.heard(said);
      } catch (error) {
        logger.warn({ err: error, deliveryId }, "what a server says of its subscription could not be read");
      }
    }
  }
}

/** True when it goes on where it is: with another token or secret. */
function isSameWish(one: ActiveSubscription, other: ActiveSubscription): boolean {
  const facts = ({ url, event, arguments: args, path }: ActiveSubscription): unknown => [url, event, args, path];
  return isDeepStrictEqual(facts(one), facts(other));
}
