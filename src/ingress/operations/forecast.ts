import type { Backtested } from "./preview.ts";
import type { MappingStats } from "./stats.ts";

/** What a day brings. */
export interface DayUse {
  readonly runs: number;
  readonly tokens: number;
  /** In US dollars. */
  readonly costUsd: number;
}

/** Of one mapping, or one direct route: as it was, and as a backtest says. */
export interface RunForecast {
  readonly name: string;
  readonly before: DayUse;
  readonly now: DayUse;
}

/**
 * What judged deliveries of a period come to in a day, by mapping. `stats` are the counts of the same period: a run costs
 * what the runs of its mapping did on average, and where it had none, what those of all mappings did.
 */
export function forecastRuns(judged: readonly Backtested[], stats: readonly MappingStats[]): readonly RunForecast[] {
  const [known] = stats;
  if (known === undefined) return [];
  const perDay = known.perDay.deliveries / known.deliveries;
  const runs = new Map<string, { before: number; now: number }>();
  const countOf = (name: string) => {
    const count = runs.get(name) ?? { before: 0, now: 0 };
    runs.set(name, count);
    return count;
  };
  for (const { route, before, now } of judged) {
    countOf(before.mappingId ?? route).before += before.runs;
    countOf(now.mappingId ?? route).now += now.runs;
  }
  const average = averageOf(stats);
  const byName = new Map(stats.map((mapping) => [mapping.name, mapping]));
  return Array.from(runs, ([name, { before, now }]) => {
    const own = byName.get(name);
    const perRun = own === undefined || own.runs === 0 ? average : averageOf([own]);
    const useOf = (count: number): DayUse => ({
      runs: count * perDay,
      tokens: count * perDay * perRun.tokens,
      costUsd: count * perDay * perRun.costUsd,
    });
    return { name, before: useOf(before), now: useOf(now) };
  });
}

function averageOf(stats: readonly MappingStats[]): Pick<DayUse, "tokens" | "costUsd"> {
  const runs = Math.max(
    1,
    stats.reduce((sum, mapping) => sum + mapping.runs, 0),
  );
  return {
    tokens: stats.reduce((sum, mapping) => sum + mapping.tokens, 0) / runs,
    costUsd: stats.reduce((sum, mapping) => sum + mapping.costUsd, 0) / runs,
  };
}
