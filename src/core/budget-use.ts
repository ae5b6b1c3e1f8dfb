/** What is used of a budget, for programs and for people. */

/** Runs that began in the last 60 minutes and in the last 24 hours, and how many may. */
export interface BudgetUse extends SpanUse {
  readonly tokens?: SpanUse;
  /** In US dollars. */
  readonly cost?: SpanUse;
}

/** One limit with its use, for people. */
export interface BudgetPart {
  /** `3`, `1200 tokens`, `$0.25`. */
  readonly used: string;
  readonly limit: string;
  readonly when: "in an hour" | "in a day";
  /** From 0 to 1 and beyond. */
  readonly share: number;
  readonly measure: "runs" | "tokens" | "cost";
}

/** The limits that a budget has, runs first. */
export function budgetParts(budget: BudgetUse | null): readonly BudgetPart[] {
  if (budget === null) return [];
  const spans = [["runs", budget] as const, ["tokens", budget.tokens] as const, ["cost", budget.cost] as const];
  return spans.flatMap(([measure, span]) =>
    [["in an hour", span?.perHour] as const, ["in a day", span?.perDay] as const].flatMap(([when, part]) => {
      if (part == null) return [];
      const { used, limit } = part;
      const text = (amount: number): string =>
        measure === "cost"
          ? `$${Number(amount.toFixed(4))}`
          : measure === "tokens"
            ? `${amount} tokens`
            : String(amount);
      return [{ used: text(used), limit: text(limit), when, share: limit === 0 ? 1 : used / limit, measure }];
    }),
  );
}

/** What is used of each limit; `null`: there is none. */
export interface SpanUse {
  readonly perHour: { readonly used: number; readonly limit: number } | null;
  readonly perDay: { readonly used: number; readonly limit: number } | null;
}
