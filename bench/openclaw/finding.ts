/** What one experiment has found, as a row of the table. */
export interface Finding {
  readonly experiment: string;
  readonly builtIn: string;
  readonly reveille: string;
  /** What was not as it has to be: one sentence each; empty when all was. */
  readonly failures: readonly string[];
  /** The figures behind the words. */
  readonly figures: object;
}

/** Statuses with their numbers, the most frequent first: `42 × 200, 58 × 503`. */
export function countStatuses(answers: readonly { readonly status: number }[]): string {
  const counts = new Map<number, number>();
  for (const { status } of answers) counts.set(status, (counts.get(status) ?? 0) + 1);
  const sorted = [...counts].toSorted(([, left], [, right]) => right - left);
  return sorted.map(([status, count]) => `${count} × ${status === 0 ? "no answer" : status}`).join(", ");
}

export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
