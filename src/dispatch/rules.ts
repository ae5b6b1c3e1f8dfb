import type { HooksConfig } from "../config/hooks.ts";
import type { BudgetConfig } from "../config/budget.ts";
import type { MappingConfig } from "../config/mapping/schema.ts";
import type { Priority } from "../config/run.ts";
import type { RetryConfig } from "../config/retry.ts";
import { SCOPE_ALL, type Scope } from "../storage/operational-state.ts";

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

export interface ScopedBudget extends BudgetConfig {
  readonly scope: Scope;
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
  return budget === undefined ? [] : [{ scope, ...budget }];
}
