import type { TokenUsage } from "../../core/token-usage.ts";
import {
  type Measure,
  MEASURES,
  type OperationalState,
  type Scope,
  type Usage,
} from "../../storage/operational-state.ts";
import type { DispatchContext } from "../context.ts";
import type { ScopedBudget } from "../rules.ts";
import { retrying, STORE_RETRY } from "../run/retry.ts";

const MINUTE_MS = 60_000;
const HOUR = 60;
const DAY = 1_440;

/** A budget that lets nothing more begin for now. */
export interface UsedUp {
  readonly scope: Scope;
  readonly measure: Measure;
  readonly limit: number;
  readonly per: "hour" | "day";
}

/** A run's use of its budgets, returned if the run turns out not to have begun. */
export interface Draw {
  readonly minute: number;
  readonly counters: ReadonlyMap<Scope, Counter>;
}

export interface BudgetsContext extends Pick<DispatchContext, "clock" | "logger" | "abandon"> {
  readonly store: Pick<OperationalState, "usageSince" | "addUsage">;
}

type Amounts = Record<Measure, number>;

/**
 * Counts the runs that begin and what they have used, numbers for each scope and minute, so that budgets hold across
 * restarts.
 *
 * A count takes effect at once, and a run begins when its count is on disk, so that no crash lets more begin than the
 * budget allows; what a model has used is written behind. A clock that is set back counts what lies in the future as of
 * now, and one that is set forward forgets no more than it has skipped.
 */
export class Budgets {
  readonly #context: BudgetsContext;
  /** By scope; only scopes with a budget are counted. */
  readonly #counters = new Map<Scope, Readonly<Record<Measure, Counter>>>();
  /** Unwritten use, by scope and minute; negative for returned use. */
  #pending = new Map<Scope, Map<number, Amounts>>();
  /** Those under way: at most one for each run that begins or ends. */
  readonly #writes = new Set<Promise<void>>();
  #isCollecting = false;

  constructor(context: BudgetsContext) {
    this.#context = context;
  }

  /** Takes up what earlier processes have counted. */
  async load(): Promise<void> {
    const usage = await this.#context.store.usageSince(this.#minute() - DAY);
    this.#counters.clear();
    for (const { scope, minute: at, ...amounts } of usage) {
      const counters = this.#countersOf(scope);
      for (const measure of MEASURES) if (amounts[measure] !== 0) counters[measure].add(at, amounts[measure]);
    }
  }

  /** The first of the budgets that is used up. */
  usedUp(budgets: readonly ScopedBudget[]): UsedUp | undefined {
    if (budgets.length === 0) return undefined;
    const minute = this.#minute();
    for (const { scope, measure, perHour, perDay } of budgets) {
      const counter = this.#counters.get(scope)?.[measure];
      if (!counter) continue;
      counter.roll(minute);
      if (perHour !== undefined && counter.hour >= perHour) return { scope, measure, limit: perHour, per: "hour" };
      if (perDay !== undefined && counter.day >= perDay) return { scope, measure, limit: perDay, per: "day" };
    }
    return undefined;
  }

  /** One run begins; `undefined` when it has no budget to draw on. */
  count(budgets: readonly ScopedBudget[]): Draw | undefined {
    if (budgets.length === 0) return undefined;
    const minute = this.#minute();
    const counters = new Map<Scope, Counter>();
    for (const { scope, measure } of budgets) {
      if (measure !== "runs") continue;
      counters.set(scope, this.#add(scope, "runs", minute, 1));
    }
    return counters.size === 0 ? undefined : { minute, counters };
  }

  /** A run has used what a model counted. */
  spend(budgets: readonly ScopedBudget[], { inputTokens, outputTokens, costUsd = 0 }: TokenUsage): void {
    const minute = this.#minute();
    const spent = { tokens: inputTokens + outputTokens, microUsd: Math.round(costUsd * 1e6) };
    for (const { scope, measure } of budgets) {
      if (measure !== "runs" && spent[measure] > 0) this.#add(scope, measure, minute, spent[measure]);
    }
  }

  /** The run has not begun after all. What was forgotten since then stays forgotten. */
  giveBack({ minute, counters }: Draw): void {
    for (const [scope, counter] of counters) {
      if (this.#counters.get(scope)?.runs !== counter) continue;
      counter.roll(this.#minute());
      if (counter.takeBack(minute)) this.#note(scope, "runs", minute, -1);
    }
  }

  /** Resets the scope. */
  forget(scope: Scope): void {
    this.#counters.delete(scope);
    this.#pending.delete(scope);
  }

  /** Resolves when everything that was counted has been written, or could not be; `undefined`: it has been. */
  written(): Promise<unknown> | undefined {
    return this.#writes.size === 0 ? undefined : Promise.all(this.#writes);
  }

  #add(scope: Scope, measure: Measure, minute: number, amount: number): Counter {
    const counter = this.#countersOf(scope)[measure];
    counter.roll(minute);
    counter.add(minute, amount);
    this.#note(scope, measure, minute, amount);
    return counter;
  }

  #note(scope: Scope, measure: Measure, minute: number, amount: number): void {
    let minutes = this.#pending.get(scope);
    if (!minutes) {
      minutes = new Map();
      this.#pending.set(scope, minutes);
    }
    const amounts = minutes.get(minute) ?? { runs: 0, tokens: 0, microUsd: 0 };
    amounts[measure] += amount;
    minutes.set(minute, amounts);
    if (this.#isCollecting) return;
    this.#isCollecting = true;
    const write = this.#write().finally(() => this.#writes.delete(write));
    this.#writes.add(write);
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    const { store, abandon, logger } = this.#context;
    // Runs that begin in the same turn of the event loop are written together.
    await Promise.resolve();
    this.#isCollecting = false;
    const usage: Usage[] = [];
    for (const [scope, minutes] of this.#pending) {
      for (const [minute, amounts] of minutes) {
        if (MEASURES.some((measure) => amounts[measure] !== 0)) usage.push({ scope, minute, ...amounts });
      }
    }
    this.#pending = new Map();
    if (usage.length === 0) return;
    try {
      await retrying(() => store.addUsage(usage), STORE_RETRY, abandon);
    } catch (error) {
      if (!abandon.aborted) logger.error({ err: error }, "the use of budgets could not be written");
    }
  }

  #countersOf(scope: Scope): Readonly<Record<Measure, Counter>> {
    let counters = this.#counters.get(scope);
    if (!counters) {
      counters = { runs: new Counter(), tokens: new Counter(), microUsd: new Counter() };
      this.#counters.set(scope, counters);
    }
    return counters;
  }

  #minute(): number {
    return Math.floor(this.#context.clock.now() / MINUTE_MS);
  }
}

/** What the last hour and the last day have of one measure, to the minute; the minute that has begun counts whole. */
class Counter {
  readonly #amounts = new Map<number, number>();
  #minute = -1;
  hour = 0;
  day = 0;

  /** Moves on to a minute; at most once a minute it looks at every minute of the day. */
  roll(minute: number): void {
    if (minute === this.#minute) return;
    this.#minute = minute;
    this.hour = 0;
    this.day = 0;
    let future = 0;
    for (const [at, runs] of this.#amounts) {
      if (at > minute) future += runs;
      else if (at >= minute - DAY) this.day += runs;
      if (at <= minute && at >= minute - HOUR) this.hour += runs;
      if (at > minute || at < minute - DAY) this.#amounts.delete(at);
    }
    if (future > 0) this.add(minute, future);
  }

  add(minute: number, runs: number): void {
    this.#amounts.set(minute, (this.#amounts.get(minute) ?? 0) + runs);
    this.hour += runs;
    this.day += runs;
  }

  /** Takes one run of a minute back; false when a roll has forgotten it or counts it elsewhere. */
  takeBack(minute: number): boolean {
    const runs = this.#amounts.get(minute);
    if (runs === undefined) return false;
    if (runs > 1) this.#amounts.set(minute, runs - 1);
    else this.#amounts.delete(minute);
    this.day--;
    if (minute >= this.#minute - HOUR) this.hour--;
    return true;
  }
}
