/** Tokens of one attempt, and their price where it is known. */
export interface TokenUsage {
  /** `<provider>/<model>`. */
  readonly model?: string | undefined;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Of the input, what the provider had cached. */
  readonly cachedTokens?: number | undefined;
  /** In US dollars. */
  readonly costUsd?: number | undefined;
}

/** What two requests used; the model is that of the later one. */
export function sumUsage(before: TokenUsage | undefined, now: TokenUsage | undefined): TokenUsage | undefined {
  if (before === undefined || now === undefined) return now ?? before;
  const add = (a: number | undefined, b: number | undefined): number | undefined =>
    a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0);
  return {
    model: now.model,
    inputTokens: before.inputTokens + now.inputTokens,
    outputTokens: before.outputTokens + now.outputTokens,
    cachedTokens: add(before.cachedTokens, now.cachedTokens),
    costUsd: add(before.costUsd, now.costUsd),
  };
}

/** What an attempt used, for people: `local/small: 1200 tokens in (200 cached), 80 out, $0.0042`. */
export function usageText({ model, inputTokens, outputTokens, cachedTokens = 0, costUsd }: TokenUsage): string {
  const cached = cachedTokens === 0 ? "" : ` (${cachedTokens} cached)`;
  const cost = costUsd === undefined ? "" : `, $${costUsd.toFixed(4)}`;
  return `${model === undefined ? "" : `${model}: `}${inputTokens} tokens in${cached}, ${outputTokens} out${cost}`;
}
