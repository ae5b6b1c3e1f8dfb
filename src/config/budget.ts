import Type from "typebox";
import type { Findings } from "./errors.ts";
import { whole } from "./schema-parts.ts";

const RUNS_PER_HOUR = { minimum: 1, maximum: 1_000_000 };
const RUNS_PER_DAY = { minimum: 1, maximum: 10_000_000 };

/** `budget` of the hooks and of a mapping. */
export const BudgetSchema = Type.Object(
  {
    perHour: Type.Optional(whole(RUNS_PER_HOUR, "Runs that may begin in any 60 minutes.")),
    perDay: Type.Optional(whole(RUNS_PER_DAY, "Runs that may begin in any 24 hours.")),
  },
  {
    additionalProperties: false,
    minProperties: 1,
    title: "an object with perHour, perDay or both",
    description:
      "The number of runs that may begin. Once it is used up the mapping is paused (all mappings, for `hooks.budget`) and a notice is sent. Calls are still accepted and kept; runs begin again after `reveille hooks resume`.",
  },
);

/** Runs that may begin in any 60 minutes and in any 24 hours; over it the mapping is paused. */
export interface BudgetConfig {
  readonly perHour: number | undefined;
  readonly perDay: number | undefined;
}

export function readBudget({ perHour, perDay }: { perHour?: number; perDay?: number }): BudgetConfig {
  return { perHour, perDay };
}

/** Warns of a bound that the other one makes superfluous; `where` is the key of the budget. */
export function checkBudget(budget: BudgetConfig | undefined, where: string, findings: Findings): void {
  const { perHour, perDay } = budget ?? {};
  if (perHour !== undefined && perDay !== undefined && perHour > perDay) {
    findings.warn(`${where}.perHour`, "has no effect: perDay is less");
  }
}
