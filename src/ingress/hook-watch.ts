import { setTimeout as sleep } from "node:timers/promises";
import type { MappingConfig } from "../config/mapping/schema.ts";
import type { ErrorCode } from "../core/errors.ts";
import type { Clock, Logger } from "../core/host.ts";
import type { Outages } from "../dispatch/context.ts";
import type { StatsPage } from "../storage/delivery-stats.ts";
import type { DeliveryStore } from "../storage/delivery-store.ts";
import type { KnownPaths, RequestFacts } from "./request-log.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** What a rhythm is learned from. */
const LEARNED_MS = 14 * DAY_MS;
const MIN_LEARNED_MS = 3 * DAY_MS;
const MIN_HOURS = 10;
/** Pages of counts that are read for it: about a million deliveries, the newest. */
const MAX_PAGES = 1_000;
/** Between two pages: no caller waits for them. */
const PAGE_PAUSE_MS = 20;
const LEARN_EVERY_MS = 6 * HOUR_MS;

/** Refusals in a row, over so long, that follow an accepted call. */
const REFUSED = 5;
const REFUSED_MS = 10 * MINUTE_MS;
/** Filtered calls in a row, over so long. */
const FILTERED = 20;
const FILTERED_MS = HOUR_MS;

/** Refusals that a change at one end explains: another secret, another path, a larger body. */
const SUSPICIOUS: ReadonlySet<ErrorCode> = new Set(["UNAUTHORIZED", "NOT_FOUND", "BODY_TOO_LARGE"]);

/** The latest calls of one route; times are milliseconds since the epoch. */
export interface RouteActivity {
  acceptedAt: number | undefined;
  refusedAt: number | undefined;
  refusedCode: ErrorCode | undefined;
  /** Why a signature failed. */
  refusedReason: string | undefined;
  readonly refused: Streak;
  readonly filtered: Streak;
  /** True when an outage of the route may be open. */
  mayBeOut: boolean;
}

interface Streak {
  count: number;
  since: number;
}

export interface HookWatchOptions {
  readonly store: Pick<DeliveryStore, "stats" | "list" | "shared">;
  readonly outages: Outages;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Of the active configuration. */
  readonly mappings: () => readonly MappingConfig[];
}

/**
 * Watches whether the calls of each route still arrive and are still taken. The owner gets one notice when a route
 * falls silent, when refusals follow accepted calls, or when every call is filtered, and one when it is well again.
 *
 * How often calls are expected is what a mapping's `expectEvery` says, or twice the longest silence of the last 14 days.
 */
export class HookWatch {
  readonly #options: HookWatchOptions;
  readonly #routes = new Map<string, RouteActivity>();
  /** By mapping. */
  #learnedMs: ReadonlyMap<string, number> = new Map();
  #learnAt = 0;
  #learning: Promise<void> | undefined;
  #startedAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: HookWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#startedAt = this.#options.clock.now();
    this.#learnAt = this.#startedAt;
    this.#timer = setInterval(() => this.#check(), MINUTE_MS).unref();
  }

  /** Resolves when nothing is read any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#learning;
  }

  /** The latest calls of a route; `undefined` when there were none since the start. */
  activityOf(route: string): RouteActivity | undefined {
    return this.#routes.get(route);
  }

  /** A request has ended. */
  saw({ route, code, state, reason }: RequestFacts, mappings: KnownPaths): void {
    if (route === undefined || (code === undefined && state === undefined)) return;
    const known = this.#routes.get(route);
    if (known === undefined && mappings?.hasPath(route) !== true) return;
    const activity = known ?? newActivity();
    if (known === undefined) this.#routes.set(route, activity);
    if (code === undefined) this.#accepted(route, activity, state === "filtered");
    else this.#refused(route, activity, code, reason);
  }

  #accepted(route: string, activity: RouteActivity, isFiltered: boolean): void {
    const now = this.#options.clock.now();
    activity.acceptedAt = now;
    activity.refused.count = 0;
    // The gateway that carries out the runs reports.
    if (!this.#reports) return;
    if (activity.mayBeOut) this.#isWell(route, activity, isFiltered);
    if (!isFiltered) activity.filtered.count = 0;
    else if (prolong(activity.filtered, now) >= FILTERED && now - activity.filtered.since >= FILTERED_MS) {
      activity.mayBeOut = true;
      const text = `The last ${activity.filtered.count} calls of ${route} were all filtered, so that nothing runs. See why: reveille deliveries list --route ${route} --state filtered`;
      void this.#options.outages.failed(subject(route, "filtered"), text);
    }
  }

  #isWell(route: string, activity: RouteActivity, isFiltered: boolean): void {
    const { outages } = this.#options;
    void outages.works(subject(route, "refused"), `Calls of ${route} are accepted again.`);
    void outages.works(subject(route, "silent"), `Calls of ${route} arrive again.`);
    activity.mayBeOut = isFiltered;
    if (!isFiltered) void outages.works(subject(route, "filtered"), `Calls of ${route} are no longer all filtered.`);
  }

  #refused(route: string, activity: RouteActivity, code: ErrorCode, reason: string | undefined): void {
    const now = this.#options.clock.now();
    activity.refusedAt = now;
    activity.refusedCode = code;
    activity.refusedReason = reason;
    if (!this.#reports || !SUSPICIOUS.has(code) || activity.acceptedAt === undefined) return;
    const { refused } = activity;
    if (prolong(refused, now) < REFUSED || now - refused.since < REFUSED_MS) return;
    activity.mayBeOut = true;
    const since = new Date(activity.acceptedAt).toISOString();
    const text = `Calls of ${route} are refused (${code}), ${refused.count} in a row; the last one was accepted at ${since}. The secret or the URL may have changed at one end only. The log has the reason of each.`;
    void this.#options.outages.failed(subject(route, "refused"), text);
  }

  #check(): void {
    const { clock, mappings } = this.#options;
    const now = clock.now();
    if (now >= this.#learnAt && this.#learning === undefined) {
      this.#learnAt = now + LEARN_EVERY_MS;
      this.#learning = this.#learn(now).finally(() => (this.#learning = undefined));
    }
    for (const [route, everyMs] of this.#expectations(mappings())) {
      const activity = this.#routes.get(route);
      // While the gateway was down nothing could arrive.
      const lastAt = Math.max(activity?.acceptedAt ?? 0, this.#startedAt);
      if (now - lastAt <= everyMs) continue;
      void this.#silent(route, lastAt, everyMs);
    }
  }

  /** Never rejects: what cannot be read is looked at again a minute later. */
  async #silent(route: string, lastAt: number, everyMs: number): Promise<void> {
    const { outages, logger } = this.#options;
    const activity = this.#routes.get(route) ?? newActivity();
    this.#routes.set(route, activity);
    try {
      const elsewhereAt = await this.#acceptedElsewhere(route, lastAt);
      if (elsewhereAt !== undefined) {
        activity.acceptedAt = elsewhereAt;
        return;
      }
    } catch (error) {
      if (!this.#stopped) logger.warn({ err: error }, "the latest call of a route could not be read");
      return;
    }
    activity.mayBeOut = true;
    const hours = (everyMs / HOUR_MS).toFixed(everyMs < 10 * HOUR_MS ? 1 : 0);
    const text = `No call of ${route} has been accepted since ${new Date(lastAt).toISOString()}; at least one in ${hours} hours is expected. Look at the sender's own log of deliveries, and try it: reveille send ${route}`;
    void outages.failed(subject(route, "silent"), text);
  }

  /** When another gateway accepted the latest call of a route after that time. */
  async #acceptedElsewhere(route: string, lastAt: number): Promise<number | undefined> {
    const { store } = this.#options;
    if (store.shared === undefined) return undefined;
    const { deliveries } = await store.list({ route, receivedFrom: lastAt + 1, limit: 1 });
    return deliveries[0] && Date.parse(deliveries[0].receivedAt);
  }

  get #reports(): boolean {
    return this.#options.store.shared?.leads !== false;
  }

  /** The longest silence of each route that is watched. */
  #expectations(mappings: readonly MappingConfig[]): ReadonlyMap<string, number> {
    const expected = new Map<string, number>();
    for (const { id, match, expectEveryMs = this.#learnedMs.get(id), broken } of mappings) {
      const route = match.path;
      if (!route || broken !== undefined || !expectEveryMs) continue;
      expected.set(route, Math.min(expectEveryMs, expected.get(route) ?? Infinity));
    }
    return expected;
  }

  /** Never rejects: without a rhythm a route is not watched for silence. */
  async #learn(now: number): Promise<void> {
    try {
      this.#learnedMs = await this.#rhythms(now);
    } catch (error) {
      if (!this.#stopped) this.#options.logger.warn({ err: error }, "the usual rhythm of calls could not be read");
    }
  }

  async #rhythms(now: number): Promise<ReadonlyMap<string, number>> {
    const hours = new Map<string, Set<number>>();
    const query = { from: now - LEARNED_MS, before: now, bucketMs: HOUR_MS };
    let cursor: string | null = null;
    for (let pages = 0; pages < MAX_PAGES && !this.#stopped; pages++) {
      const page: StatsPage = await this.#options.store.stats({ ...query, ...(cursor === null ? {} : { cursor }) });
      for (const { name, at } of page.rows) {
        const known = hours.get(name) ?? new Set();
        hours.set(name, known.add(at));
      }
      cursor = page.nextCursor;
      if (cursor === null) break;
      await sleep(PAGE_PAUSE_MS);
    }
    const learned = Array.from(hours, ([name, at]) => [name, usualSilenceMs([...at])] as const);
    return new Map(learned.filter((entry): entry is [string, number] => entry[1] !== undefined));
  }
}

function newActivity(): RouteActivity {
  const unknown = { acceptedAt: undefined, refusedAt: undefined, refusedCode: undefined, refusedReason: undefined };
  // An outage of an earlier process may be open.
  return { ...unknown, refused: { count: 0, since: 0 }, filtered: { count: 0, since: 0 }, mayBeOut: true };
}

/** Adds one to a streak, and gives its length. */
function prolong(streak: Streak, now: number): number {
  if (streak.count === 0) streak.since = now;
  streak.count++;
  return streak.count;
}

/** Twice the longest silence between the hours with calls, and an hour; `undefined` when too little is known. */
export function usualSilenceMs(hours: readonly number[]): number | undefined {
  const inOrder = hours.toSorted((left, right) => left - right);
  const spanMs = (inOrder.at(-1) ?? 0) - (inOrder[0] ?? 0);
  if (inOrder.length < MIN_HOURS || spanMs < MIN_LEARNED_MS) return undefined;
  const silences = inOrder.slice(1).map((at, index) => at - inOrder[index]!);
  return 2 * Math.max(...silences) + HOUR_MS;
}

function subject(route: string, what: "refused" | "silent" | "filtered"): string {
  return `route:${route}:${what}`;
}
