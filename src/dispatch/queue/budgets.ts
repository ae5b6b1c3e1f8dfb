import type { OperationalState, Scope, Usage } from "../../storage/operational-state.ts";
import type { DispatchContext } from "../context.ts";
import type { ScopedBudget } from "../rules.ts";
import { retrying, STORE_RETRY } from "../run/retry.ts";

const MINUTE_MS = 60_000;
const HOUR = 60;
const DAY = 1_440;

/** A budget that lets nothing more begin for now. */
export interface UsedUp {
  readonly scope: Scope;
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

/**
 * Counts the runs that begin, a number for each scope and minute, so that budgets hold across restarts.
 *
 * A count takes effect at once and is written behind; what a crash keeps from being written is at most
 * what began in that moment. A clock that is set back counts what lies in the future as of now, and one
 * that is set forward forgets no more than it has skipped.
 */
export class Budgets {
  readonly #context: BudgetsContext;
  /** By scope; only scopes with a budget are counted. */
  readonly #counters = new Map<Scope, Counter>();
  /** Unwritten use, by scope and minute; negative for returned use. */
  #pending = new Map<Scope, Map<number, number>>();
  #writing: Promise<void> | undefined;

  constructor(context: BudgetsContext) {
    this.#context = context;
  }

  /** Takes up what earlier processes have counted. */
  async load(): Promise<void> {
    const minute = this.#minute();
    for (const { scope, minute: at, runs } of await this.#context.store.usageSince(minute - DAY)) {
      this.#counterOf(scope).add(at, runs);
    }
  }

  /** The first of the budgets that is used up. */
  usedUp(budgets: readonly ScopedBudget[]): UsedUp | undefined {
    if (budgets.length === 0) return undefined;
    const minute = this.#minute();
    for (const { scope, perHour, perDay } of budgets) {
      const counter = this.#counters.get(scope);
      if (!counter) continue;
      counter.roll(minute);
      if (perHour !== undefined && counter.hour >= perHour) return { scope, limit: perHour, per: "hour" };
      if (perDay !== undefined && counter.day >= perDay) return { scope, limit: perDay, per: "day" };
    }
    return undefined;
  }

  /** One run begins; `undefined` when it has no budget to draw on. */
  count(budgets: readonly ScopedBudget[]): Draw | undefined {
    if (budgets.length === 0) return undefined;
    const minute = this.#minute();
    const counters = new Map<Scope, Counter>();
    for (const { scope } of budgets) {
      const counter = this.#counterOf(scope);
      counter.roll(minute);
      counter.add(minute, 1);
      counters.set(scope, counter);
      this.#note(scope, minute, 1);
    }
    return { minute, counters };
  }

  /** The run has not begun after all. What was forgotten since then stays forgotten. */
  giveBack({ minute, counters }: Draw): void {
    for (const [scope, counter] of counters) {
      if (this.#counters.get(scope) !== counter) continue;
      counter.roll(this.#minute());
      if (counter.takeBack(minute)) this.#note(scope, minute, -1);
    }
  }

  /** Resets the scope. */
  forget(scope: Scope): void {
    this.#counters.delete(scope);
    this.#pending.delete(scope);
  }

  /** Resolves when everything that was counted has been written, or could not be. */
  async written(): Promise<void> {
    await this.#writing;
  }

  #note(scope: Scope, minute: number, runs: number): void {
    let minutes = this.#pending.get(scope);
    if (!minutes) {
      minutes = new Map();
      this.#pending.set(scope, minutes);
    }
    minutes.set(minute, (minutes.get(minute) ?? 0) + runs);
    this.#writing ??= this.#write();
  }

  /** One write at a time: what is counted meanwhile goes with the next. Never rejects. */
  async #write(): Promise<void> {
    const { store, abandon, logger } = this.#context;
    // Runs that begin in the same turn of the event loop are written together.
    await Promise.resolve();
    while (this.#pending.size > 0) {
      const usage: Usage[] = [];
      for (const [scope, minutes] of this.#pending) {
        for (const [minute, runs] of minutes) if (runs !== 0) usage.push({ scope, minute, runs });
      }
      this.#pending = new Map();
      try {
        await retrying(() => store.addUsage(usage), STORE_RETRY, abandon);
      } catch (error) {
        if (!abandon.aborted) logger.error({ err: error }, "the use of budgets could not be written");
      }
    }
    this.#writing = undefined;
  }

  #counterOf(scope: Scope): Counter {
    let counter = this.#counters.get(scope);
    if (!counter) {
      counter = new Counter();
      this.#counters.set(scope, counter);
    }
    return counter;
  }

  #minute(): number {
    return Math.floor(this.#context.clock.now() / MINUTE_MS);
  }
}

/** Runs that began in the last hour and the last day, to the minute; the minute that has begun counts whole. */
class Counter {
  readonly #runs = new Map<number, number>();
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
    for (const [at, runs] of this.#runs) {
      if (at > minute) future += runs;
      else if (at >= minute - DAY) this.day += runs;
      if (at <= minute && at >= minute - HOUR) this.hour += runs;
      if (at > minute || at < minute - DAY) this.#runs.delete(at);
    }
    if (future > 0) this.add(minute, future);
  }

  add(minute: number, runs: number): void {
    this.#runs.set(minute, (this.#runs.get(minute) ?? 0) + runs);
    this.hour += runs;
    this.day += runs;
  }

  /** Takes one run of a minute back; false when a roll has forgotten it or counts it elsewhere. */
  takeBack(minute: number): boolean {
    const runs = this.#runs.get(minute);
    if (runs === undefined) return false;
    if (runs > 1) this.#runs.set(minute, runs - 1);
    else this.#runs.delete(minute);
    this.day--;
    if (minute >= this.#minute - HOUR) this.hour--;
    return true;
  }
}
