import Type, { type Static } from "typebox";
import type { Findings } from "./errors.ts";
import { whole } from "./schema-parts.ts";

const RUNS_PER_HOUR = { minimum: 1, maximum: 1_000_000 };
const RUNS_PER_DAY = { minimum: 1, maximum: 10_000_000 };

const TOKENS = { minimum: 1, maximum: 1_000_000_000_000 };
const US_DOLLARS = { minimum: 0.0001, maximum: 1_000_000 };

const TokensSchema = Type.Object(
  {
    perHour: Type.Optional(whole(TOKENS, "Tokens that runs may use in any 60 minutes.")),
    perDay: Type.Optional(whole(TOKENS, "Tokens that runs may use in any 24 hours.")),
  },
  {
    additionalProperties: false,
    minProperties: 1,
    title: "an object with perHour, perDay or both",
    description:
      "Tokens of models, input and output together, as the host counts them. They are known when a run ends, so runs that are under way may go over it.",
  },
);

const CostSchema = Type.Object(
  {
    perHour: Type.Optional(Type.Number({ ...US_DOLLARS, description: "US dollars in any 60 minutes." })),
    perDay: Type.Optional(Type.Number({ ...US_DOLLARS, description: "US dollars in any 24 hours." })),
  },
  {
    additionalProperties: false,
    minProperties: 1,
    title: "an object with perHour, perDay or both",
    description: "The cost of models in US dollars, where their endpoint says it. It is known when a run ends.",
  },
);

/** `budget` of the hooks and of a mapping. */
export const BudgetSchema = Type.Object(
  {
    perHour: Type.Optional(whole(RUNS_PER_HOUR, "Runs that may begin in any 60 minutes.")),
    perDay: Type.Optional(whole(RUNS_PER_DAY, "Runs that may begin in any 24 hours.")),
    tokens: Type.Optional(TokensSchema),
    cost: Type.Optional(CostSchema),
  },
  {
    additionalProperties: false,
    minProperties: 1,
    title: "an object with perHour, perDay, tokens or cost",
    description:
      "What runs may use. Once a part of it is used up the mapping is paused (all mappings, for `hooks.budget`) and a notice is sent. Calls are still accepted and kept; runs begin again after `reveille hooks resume`.",
  },
);

/** Limits of one measure. */
export interface SpanLimits {
  /** In any 60 minutes. */
  readonly perHour: number | undefined;
  /** In any 24 hours. */
  readonly perDay: number | undefined;
}

/** Runs that may begin, and what they may use; over it the mapping is paused. */
export interface BudgetConfig extends SpanLimits {
  readonly tokens?: SpanLimits | undefined;
  /** In US dollars. */
  readonly cost?: SpanLimits | undefined;
}

export function readBudget({ perHour, perDay, tokens, cost }: Static<typeof BudgetSchema>): BudgetConfig {
  const limits = (written: Partial<SpanLimits>): SpanLimits => ({ perHour: written.perHour, perDay: written.perDay });
  return { perHour, perDay, ...(tokens && { tokens: limits(tokens) }), ...(cost && { cost: limits(cost) }) };
}

/** Warns of a bound that the other one makes superfluous; `where` is the key of the budget. */
export function checkBudget(budget: BudgetConfig | undefined, where: string, findings: Findings): void {
  for (const [key, limits] of [
    ["", budget],
    [".tokens", budget?.tokens],
    [".cost", budget?.cost],
  ] as const) {
    const { perHour, perDay } = limits ?? {};
    if (perHour !== undefined && perDay !== undefined && perHour > perDay) {
      findings.warn(`${where}${key}.perHour`, "has no effect: perDay is less");
    }
  }
}
