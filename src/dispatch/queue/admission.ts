import type { Priority } from "../../config/run.ts";
import type { TokenUsage } from "../../core/token-usage.ts";
import {
  type OperationalState,
  type Pause,
  type Scope,
  SCOPE_ALL,
  type Measure,
} from "../../storage/operational-state.ts";
import type { DispatchContext, TakenRun } from "../context.ts";
import { retrying, STORE_RETRY } from "../run/retry.ts";
import { Budgets, type Draw, type UsedUp } from "./budgets.ts";

interface PausesContext extends Pick<DispatchContext, "abandon"> {
  readonly store: Pick<OperationalState, "pauses" | "pause" | "resume">;
}

/** The paused scopes: in memory for the dispatcher, in the store for the next process. */
class Pauses {
  readonly #context: PausesContext;
  /** As many as mappings were ever paused and not resumed; the store has a bound. */
  readonly #paused = new Map<Scope, Pause>();
  /** Those that the store does not have yet: that it lacks them does not mean that another gateway has resumed them. */
  readonly #unwritten = new Set<Scope>();
  /** Writes to the store, in the order of the changes. */
  #lastWrite: Promise<unknown> = Promise.resolve();

  constructor(context: PausesContext) {
    this.#context = context;
  }

  async load(): Promise<void> {
    for (const pause of await this.#context.store.pauses()) this.#paused.set(pause.scope, pause);
  }

  /** Takes up what other gateways have paused and resumed; gives the scopes that changed. */
  refresh(): Promise<{ readonly paused: readonly Scope[]; readonly resumed: readonly Scope[] }> {
    return this.#inOrder(async () => {
      const stored = new Map((await this.#context.store.pauses()).map((pause) => [pause.scope, pause]));
      const paused = [...stored.keys()].filter((scope) => !this.#paused.has(scope));
      const resumed = [...this.#paused.keys()].filter((scope) => !stored.has(scope) && !this.#unwritten.has(scope));
      for (const scope of paused) this.#paused.set(scope, stored.get(scope)!);
      for (const scope of resumed) this.#paused.delete(scope);
      return { paused, resumed };
    });
  }

  list(): readonly Pause[] {
    return [...this.#paused.values()];
  }

  /** The scope that pauses a mapping: everything, or the mapping itself. */
  scopeOver(mappingId: string | null): Scope | undefined {
    if (this.#paused.size === 0) return undefined;
    if (this.#paused.has(SCOPE_ALL)) return SCOPE_ALL;
    return mappingId !== null && this.#paused.has(mappingId) ? mappingId : undefined;
  }

  /** Pauses once it is written; false when the scope is paused already. Rejects with a `StoreError`. */
  pause(pause: Pause): Promise<boolean> {
    return this.#inOrder(async () => {
      if (this.#paused.has(pause.scope)) return false;
      await this.#context.store.pause(pause);
      this.#paused.set(pause.scope, pause);
      return true;
    });
  }

  /** Pauses at once, and rejects when it could not be written in the end; the scope is not paused already. */
  pauseAtOnce(pause: Pause): Promise<unknown> {
    const { store, abandon } = this.#context;
    this.#paused.set(pause.scope, pause);
    this.#unwritten.add(pause.scope);
    const write = (): Promise<unknown> => retrying(() => store.pause(pause), STORE_RETRY, abandon);
    return this.#inOrder(() => write().then(() => this.#unwritten.delete(pause.scope)));
  }

  /**
   * Ends a pause once that is written; false when there is none. `ending` is called right before it is gone.
   * Rejects with a `StoreError`.
   */
  resume(scope: Scope, ending: () => void): Promise<boolean> {
    return this.#inOrder(async () => {
      await this.#context.store.resume(scope);
      if (!this.#paused.has(scope)) return false;
      ending();
      this.#unwritten.delete(scope);
      return this.#paused.delete(scope);
    });
  }

  /** Resolves when everything has been written, or could not be. */
  async written(): Promise<void> {
    await this.#lastWrite;
  }

  #inOrder<Result>(step: () => Promise<Result>): Promise<Result> {
    const result = this.#lastWrite.then(step);
    this.#lastWrite = result.catch(() => {});
    return result;
  }
}

/** Runs whose agent has replied: what is left of them draws on no budget and waits for no pause. */
export const REPLIED = Symbol("replied");

/** The group whose runs are admitted together: a mapping (`null`: none), or the runs that have replied. */
export type RunGroup = string | null | typeof REPLIED;

/**
 * Decides which runs may begin: pauses, budgets, and bounds of concurrency for single mappings.
 *
 * A budget that is used up pauses its scope, durably and until a person resumes it, and its owner is notified
 * once.
 */
export class RunGate {
  readonly #context: DispatchContext;
  readonly #changed: (scope: Scope) => void;
  readonly #pauses: Pauses;
  readonly #budgets: Budgets;
  /** Active agent runs, by mapping. */
  readonly #underWay = new Map<string, number>();
  #started = false;

  /** `changed` is called when a scope was paused or resumed. */
  constructor(context: DispatchContext, changed: (scope: Scope) => void) {
    this.#context = context;
    this.#changed = changed;
    this.#pauses = new Pauses(context);
    this.#budgets = new Budgets(context);
  }

  async load(): Promise<void> {
    await this.#pauses.load();
    await this.#budgets.load();
  }

  /** Takes up what other gateways have paused and resumed; true when something was. Rejects with a `StoreError`. */
  async refresh(): Promise<boolean> {
    const { paused, resumed } = await this.#pauses.refresh();
    for (const scope of resumed) this.#budgets.forget(scope);
    for (const scope of [...paused, ...resumed]) this.#changed(scope);
    return paused.length + resumed.length > 0;
  }

  /** Until then everything is closed and the rules are not asked for, since no configuration is active. */
  start(): void {
    this.#started = true;
  }

  /** Resolves when what it decided has been written, or could not be. */
  async written(): Promise<void> {
    await Promise.all([this.#pauses.written(), this.#budgets.written()]);
  }

  groupOf(run: TakenRun): RunGroup {
    return run.replied ? REPLIED : run.mappingId;
  }

  isOpen(group: RunGroup): boolean {
    if (!this.#started) return false;
    if (group === REPLIED) return true;
    return this.#pauses.scopeOver(group) === undefined && !this.#isFull(group);
  }

  priorityOf(group: RunGroup): Priority {
    // Little of the run is left, and a person may wait for the reply.
    return group === REPLIED ? "high" : this.#context.rulesFor(group).priority;
  }

  /** The scope whose pause holds back the runs of a mapping; of `null`, that of everything. */
  pausedBy(mappingId: string | null): Scope | undefined {
    return this.#pauses.scopeOver(mappingId);
  }

  /** True when nothing bounds the runs of a mapping for now: no pause and no budget. */
  isUnlimited(mappingId: string | null): boolean {
    return (
      this.#started &&
      this.#pauses.scopeOver(mappingId) === undefined &&
      this.#context.rulesFor(mappingId).budgets.length === 0
    );
  }

  /** The scope that keeps a run from beginning; it is paused now if its budget turns out to be used up. */
  heldBy(run: TakenRun): Scope | undefined {
    if (run.replied) return undefined;
    const paused = this.#pauses.scopeOver(run.mappingId);
    if (paused !== undefined) return paused;
    const usedUp = this.#budgets.usedUp(this.#context.rulesFor(run.mappingId).budgets);
    if (!usedUp) return undefined;
    this.#pauseFor(usedUp);
    return usedUp.scope;
  }

  /** A run begins, and draws on its budgets; `undefined` when there is nothing to give back. */
  count(run: TakenRun): Draw | undefined {
    return run.replied ? undefined : this.#budgets.count(this.#context.rulesFor(run.mappingId).budgets);
  }

  /** Resolves when the store has what was drawn so far, or cannot take it; `undefined`: it has. Never rejects. */
  counted(): Promise<unknown> | undefined {
    return this.#budgets.written();
  }

  /** The host would not begin a run: what it has drawn is there for others. */
  giveBack(draw: Draw): void {
    this.#budgets.giveBack(draw);
  }

  /** A run of a mapping has used what a model counted. */
  spend(mappingId: string | null, usage: TokenUsage): void {
    this.#budgets.spend(this.#context.rulesFor(mappingId).budgets, usage);
  }

  /** An agent run takes a place of its mapping; true when that was the last one. */
  enter(group: RunGroup): boolean {
    if (typeof group !== "string") return false;
    this.#underWay.set(group, (this.#underWay.get(group) ?? 0) + 1);
    return this.#isFull(group);
  }

  /** Gives the place back; true when there was none left. */
  leave(group: RunGroup): boolean {
    if (typeof group !== "string") return false;
    const wasFull = this.#isFull(group);
    const left = this.#underWay.get(group)! - 1;
    if (left > 0) this.#underWay.set(group, left);
    else this.#underWay.delete(group);
    return wasFull;
  }

  pauses(): readonly Pause[] {
    return this.#pauses.list();
  }

  /** By a person; false when the scope is paused already. Rejects with a `StoreError`. */
  async pause(scope: Scope, reason: string): Promise<boolean> {
    const isNew = await this.#pauses.pause({ scope, reason, since: this.#context.clock.now() });
    if (isNew) this.#changed(scope);
    return isNew;
  }

  /** Ends a pause and forgets what was counted; false when there is none. Rejects with a `StoreError`. */
  async resume(scope: Scope): Promise<boolean> {
    // Forgotten first: whatever begins as soon as the pause is gone must not find the budget used up.
    const wasPaused = await this.#pauses.resume(scope, () => this.#budgets.forget(scope));
    if (wasPaused) this.#changed(scope);
    return wasPaused;
  }

  #isFull(group: string | null): boolean {
    if (group === null) return false;
    const count = this.#underWay.get(group);
    if (count === undefined) return false;
    const { concurrency } = this.#context.rulesFor(group);
    return concurrency !== undefined && count >= concurrency;
  }

  #pauseFor(usedUp: UsedUp): void {
    const { scope } = usedUp;
    const { clock, logger, notices, abandon } = this.#context;
    const since = clock.now();
    const reason = `its budget of ${amountOf(usedUp)} in ${SPANS[usedUp.per]} is used up`;
    this.#pauses.pauseAtOnce({ scope, reason, since }).catch((error: unknown) => {
      if (!abandon.aborted) logger.error({ err: error, scope }, "a pause could not be written");
    });
    const { limit, measure, per } = usedUp;
    logger.warn({ scope, measure, limit, per }, "a budget is used up, its runs are paused");
    void notices.notify({ key: `pause:${scope}:${since}`, text: noticeOf(usedUp) });
    this.#changed(scope);
  }
}

const SPANS = { hour: "60 minutes", day: "24 hours" };
const LIMITS = { hour: "perHour", day: "perDay" };

function amountOf({ measure, limit }: Pick<UsedUp, "measure" | "limit">): string {
  return measure === "microUsd" ? `$${limit / 1e6}` : `${limit} ${measure}`;
}

const KEYS = { runs: "", tokens: "tokens.", microUsd: "cost." } as const satisfies Record<Measure, string>;

function noticeOf({ scope, measure, limit, per }: UsedUp): string {
  const used = measure === "runs" ? `${limit} began` : `${amountOf({ measure, limit })} were used`;
  const what = scope === SCOPE_ALL ? "All hook runs" : `The hook runs of the mapping "${scope}"`;
  const where =
    scope === SCOPE_ALL
      ? `hooks.budget.${KEYS[measure]}${LIMITS[per]}`
      : `the mapping's budget.${KEYS[measure]}${LIMITS[per]}`;
  return (
    `${what} are paused: ${used} within ${SPANS[per]}, as many as ${where} allows. ` +
    `Calls are still accepted and their runs wait. To continue: reveille hooks resume ${quoted(scope)}`
  );
}

/** As a shell takes it. */
function quoted(scope: Scope): string {
  return /^[\w.:/-]+$/.test(scope) ? scope : `'${scope.replaceAll("'", `'\\''`)}'`;
}
