import type { BudgetUse, SpanUse } from "../../core/budget-use.ts";
import type { BudgetConfig, SpanLimits } from "../../config/budget.ts";
import type { ExposureRow } from "../../config/rule-of-two.ts";
import type { MappingConfig } from "../../config/mapping/schema.ts";
import { closestKey } from "../../config/show-value.ts";
import type { ActiveConfig } from "../active-config.ts";
import type { RouteActivity } from "../hook-watch.ts";
import type { IngressContext } from "../context.ts";
import { SCOPE_ALL, type Pause, type Scope, type Usage, type Measure } from "../../storage/operational-state.ts";

/** A scope that can be paused: a mapping, or all runs. */
export interface ScopeState {
  /** The mapping's id, or `*` for all runs. */
  readonly scope: Scope;
  readonly paused: { readonly reason: string; /** ISO 8601 UTC. */ readonly since: string } | null;
  readonly budget: BudgetUse | null;
}

export interface MappingState extends ScopeState {
  /** Its place in the configuration: `hooks.mappings[3]`; `null` when it was removed. */
  readonly where: string | null;
  /** The path below the prefix that it takes; `null`: any. */
  readonly route: string | null;
  /** The `source` of a payload that it takes; `null`: any. */
  readonly source: string | null;
  readonly action: MappingConfig["action"] | null;
  readonly preset: string | null;
  /** How its callers prove who they are: the name of a scheme, or `token` for the hook token. */
  readonly auth: string | null;
  /** The latest calls on its route since the start of the process; `null`: none of that kind. ISO 8601 UTC. */
  readonly lastAcceptedAt: string | null;
  readonly lastRefused: { readonly at: string; readonly code: string; readonly reason: string | null } | null;
  /** The reason why it is set aside; `null` when it works. */
  readonly broken: string | null;
  /** The reason why a reload kept its version of before; `null` when it is as configured. */
  readonly kept: string | null;
}

export interface HookStates {
  /** All runs, those of direct calls included. */
  readonly all: ScopeState & {
    /** The reason why every call is answered 503; `null` when calls are taken. */
    readonly broken: string | null;
    /** What every route begins with: `/hooks`. */
    readonly path: string;
    /** What the path follows where callers reach the gateway, as configured; `null`: not configured. */
    readonly publicUrl: string | null;
  };
  /** What runs can reach, by mapping and level (the Rule of Two). */
  readonly exposures: readonly ExposureRow[];
  /** In the order of the configuration; then those that are gone and still paused. */
  readonly mappings: readonly MappingState[];
}

/** An unknown scope; the message is written for the operator. */
export class UnknownScopeError extends Error {
  override readonly name = "UnknownScopeError";
}

const PAUSED = "paused by the operator";
const HOUR_MINUTES = 60;
const DAY_MINUTES = 24 * HOUR_MINUTES;

export interface HookOperationsOptions {
  readonly ingress: IngressContext;
  readonly active: () => ActiveConfig;
  /** The latest calls on a route. */
  readonly activityOf: (route: string) => RouteActivity | undefined;
}

/** An operator's actions on mappings. */
export class HookOperations {
  readonly #ingress: IngressContext;
  readonly #active: () => ActiveConfig;
  readonly #activityOf: HookOperationsOptions["activityOf"];

  constructor({ ingress, active, activityOf }: HookOperationsOptions) {
    this.#ingress = ingress;
    this.#active = active;
    this.#activityOf = activityOf;
  }

  /** The mappings of the active configuration, their pauses, and the used share of their budgets. */
  async list(): Promise<HookStates> {
    const { dispatcher, store, host } = this.#ingress;
    const { budget, mappings, exposures, closed, path, publicUrl = null } = this.#active().config;
    const minute = Math.floor(host.clock.now() / 60_000);
    const usage = await store.usageSince(minute - DAY_MINUTES);
    const pauses = new Map(dispatcher.pausedScopes().map((pause) => [pause.scope, pause]));
    const known = new Set([SCOPE_ALL, ...mappings.map(({ id }) => id)]);
    const stateOf = (scope: Scope, limits: BudgetConfig | undefined): ScopeState => ({
      scope,
      paused: pauseOf(pauses.get(scope)),
      budget: useOf(limits, (measure) => usageOf(scope, measure, usage, minute)),
    });
    const gone = [...pauses.keys()].filter((scope) => !known.has(scope));
    return {
      all: { ...stateOf(SCOPE_ALL, budget), broken: closed ?? null, path, publicUrl },
      exposures,
      mappings: [
        ...mappings.map((mapping) => ({
          ...stateOf(mapping.id, mapping.budget),
          ...factsOf(mapping),
          ...lastCalls(this.#activityOf(mapping.match.path ?? "")),
        })),
        ...gone.map((scope) => ({ ...stateOf(scope, undefined), ...NO_FACTS })),
      ],
    };
  }

  /**
   * Lets calls of a mapping, or all (`*`), wait from now on; active runs continue. False when it was paused
   * before. Rejects with an {@link UnknownScopeError}.
   */
  async pause(scope: Scope): Promise<boolean> {
    this.#check(scope, []);
    return this.#ingress.dispatcher.pause(scope, PAUSED);
  }

  /**
   * Lets them continue, and forgets what was counted for the budget. False when it was not paused. Rejects with
   * an {@link UnknownScopeError}.
   */
  async resume(scope: Scope): Promise<boolean> {
    const { dispatcher } = this.#ingress;
    // A mapping that is gone from the configuration can still be paused.
    const paused = dispatcher.pausedScopes().map((pause) => pause.scope);
    this.#check(scope, paused);
    return dispatcher.resume(scope);
  }

  #check(scope: Scope, alsoKnown: readonly Scope[]): void {
    const { mappings } = this.#active().config;
    const named = [...mappings.map(({ id }) => id), ...alsoKnown];
    if (scope === SCOPE_ALL || named.includes(scope)) return;
    const meant = mappings.find(({ match }) => match.path === scope)?.id ?? closestKey(scope, named);
    const hint = meant === undefined ? `"${SCOPE_ALL}" means all of them` : `did you mean ${JSON.stringify(meant)}?`;
    throw new UnknownScopeError(`There is no mapping ${JSON.stringify(scope.slice(0, 100))}; ${hint}`);
  }
}

const NO_FACTS = {
  where: null,
  route: null,
  source: null,
  action: null,
  preset: null,
  auth: null,
  lastAcceptedAt: null,
  lastRefused: null,
  broken: null,
  kept: null,
} as const;

function factsOf({
  where,
  match,
  action,
  preset,
  auth,
  broken,
  kept,
}: MappingConfig): Omit<MappingState, keyof ScopeState | keyof LastCalls> {
  return {
    where,
    route: match.path || null,
    source: match.source || null,
    action,
    preset: preset ?? null,
    auth: auth?.scheme ?? "token",
    broken: broken ?? null,
    kept: kept ?? null,
  };
}

type LastCalls = Pick<MappingState, "lastAcceptedAt" | "lastRefused">;

function lastCalls(activity: RouteActivity | undefined): LastCalls {
  const { acceptedAt, refusedAt, refusedCode, refusedReason } = activity ?? {};
  const isRefused = refusedAt !== undefined && refusedCode !== undefined;
  return {
    lastAcceptedAt: acceptedAt === undefined ? null : new Date(acceptedAt).toISOString(),
    lastRefused: isRefused
      ? { at: new Date(refusedAt).toISOString(), code: refusedCode, reason: refusedReason ?? null }
      : null,
  };
}

function pauseOf(pause: Pause | undefined): ScopeState["paused"] {
  return pause === undefined ? null : { reason: pause.reason, since: new Date(pause.since).toISOString() };
}

interface Used {
  readonly hour: number;
  readonly day: number;
}

/** Minutes that a clock set back has left in the future count as now. */
function usageOf(scope: Scope, measure: Measure, usage: readonly Usage[], minute: number): Used {
  const own = usage.filter((use) => use.scope === scope);
  const sum = (uses: readonly Usage[]): number => uses.reduce((total, use) => total + use[measure], 0);
  return { hour: sum(own.filter((use) => use.minute >= minute - HOUR_MINUTES)), day: sum(own) };
}

function useOf(limits: BudgetConfig | undefined, usedOf: (measure: Measure) => Used): BudgetUse | null {
  if (limits === undefined) return null;
  const { tokens, cost } = limits;
  return {
    ...spanUse(limits, usedOf("runs")),
    ...(tokens && { tokens: spanUse(tokens, usedOf("tokens")) }),
    ...(cost && { cost: spanUse(cost, inDollars(usedOf("microUsd"))) }),
  };
}

function spanUse({ perHour, perDay }: SpanLimits, { hour, day }: Used): SpanUse {
  const use = (used: number, limit: number | undefined) => (limit === undefined ? null : { used, limit });
  return { perHour: use(hour, perHour), perDay: use(day, perDay) };
}

function inDollars({ hour, day }: Used): Used {
  return { hour: hour / 1e6, day: day / 1e6 };
}
