import type { HooksConfig } from "../config/hooks.ts";
import type { BudgetConfig, SpanLimits } from "../config/budget.ts";
import type { MappingConfig } from "../config/mapping/schema.ts";
import type { Priority } from "../config/run.ts";
import type { RetryConfig } from "../config/retry.ts";
import { SCOPE_ALL, type Scope, type Measure } from "../storage/operational-state.ts";

/** The rules for the runs of one mapping, by the active configuration. */
export interface DispatchRules {
  readonly retry: RetryConfig;
  readonly priority: Priority;
  /** Runs of the mapping at once. */
  readonly concurrency: number | undefined;
  /** Time in which a run coalesces calls after the latest one; `undefined`: its mapping coalesces none. */
  readonly coalesceMs?: number | undefined;
  /** Time in which it coalesces calls after the first one. */
  readonly coalesceMaxMs?: number | undefined;
  /** Budgets that its runs draw on, the mapping's own first. */
  readonly budgets: readonly ScopedBudget[];
}

/** One measure of a budget. Costs are in millionths of a US dollar. */
export interface ScopedBudget extends SpanLimits {
  readonly scope: Scope;
  readonly measure: Measure;
}

/** Compiles the rules of every mapping; the rules for `null`, and for a mapping that is gone, are the general ones. */
export function compileDispatchRules(config: HooksConfig): (mappingId: string | null) => DispatchRules {
  const general: DispatchRules = {
    retry: config.retry,
    priority: "normal",
    concurrency: undefined,
    budgets: scoped(SCOPE_ALL, config.budget),
  };
  const rules = new Map(config.mappings.map((mapping) => [mapping.id, rulesOf(mapping, general)]));
  return (mappingId) => (mappingId === null ? general : (rules.get(mappingId) ?? general));
}

function rulesOf(mapping: MappingConfig, general: DispatchRules): DispatchRules {
  const { retry, priority, concurrency, coalesce } = mapping;
  const budgets = [...scoped(mapping.id, mapping.budget), ...general.budgets];
  const coalescing = { coalesceMs: coalesce?.windowMs, coalesceMaxMs: coalesce?.maxWaitMs };
  return { retry, priority, concurrency, ...coalescing, budgets };
}

function scoped(scope: Scope, budget: BudgetConfig | undefined): readonly ScopedBudget[] {
  if (budget === undefined) return [];
  const { perHour, perDay, tokens, cost } = budget;
  return [
    ...limited(scope, "runs", { perHour, perDay }),
    ...limited(scope, "tokens", tokens),
    ...limited(scope, "microUsd", cost && { perHour: microUsd(cost.perHour), perDay: microUsd(cost.perDay) }),
  ];
}

function limited(scope: Scope, measure: Measure, limits: SpanLimits | undefined): readonly ScopedBudget[] {
  const isLimited = limits !== undefined && (limits.perHour !== undefined || limits.perDay !== undefined);
  return isLimited ? [{ scope, measure, ...limits }] : [];
}

function microUsd(usd: number | undefined): number | undefined {
  return usd === undefined ? undefined : Math.round(usd * 1e6);
}
