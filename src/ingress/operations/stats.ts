import { setTimeout as sleep } from "node:timers/promises";
import type { State } from "../../core/run.ts";
import type { StatsPage, StatsQuery, StatsRow } from "../../storage/delivery-stats.ts";
import type { ActiveConfig } from "../active-config.ts";
import type { IngressContext } from "../context.ts";

const DAY_MS = 86_400_000;
const PAGE_PAUSE_MS = 2;
/** More rows than that say nothing to a person. */
const MAX_ROWS = 20_000;

/** Counts of a period. */
export interface DeliveryStats {
  /** By span, then by name and state. */
  readonly rows: readonly StatsRow[];
  /** True when there were more rows than are counted. */
  readonly isCut: boolean;
}

type Counts = Pick<StatsRow, "deliveries" | "runs" | "bytes" | "tokens" | "costUsd">;

/** What one mapping, or one direct route, had in a period, and has in a day at that rate. */
export interface MappingStats {
  readonly name: string;
  readonly deliveries: number;
  readonly runs: number;
  readonly bytes: number;
  readonly tokens: number;
  /** In US dollars, as far as it is known. */
  readonly costUsd: number;
  readonly states: Readonly<Partial<Record<State, number>>>;
  /** The same counts for a day. */
  readonly perDay: Counts;
}

interface StatsSources {
  readonly ingress: Pick<IngressContext, "store">;
  readonly active: () => Pick<ActiveConfig, "config">;
}

/** Counts what was accepted: of stored deliveries, so that what retention removed is not among them. */
export class StatsOperations {
  readonly #ingress: Pick<IngressContext, "store">;
  readonly #active: () => Pick<ActiveConfig, "config">;

  constructor({ ingress, active }: StatsSources) {
    this.#ingress = ingress;
    this.#active = active;
  }

  /** The bytes that the store comes to when each day brings as many, and retention stays as it is. */
  forecastBytes(bytesPerDay: number): number {
    const { payloadsMs, maxBytes } = this.#active().config.retention;
    return Math.min((bytesPerDay * payloadsMs) / DAY_MS, maxBytes ?? Infinity);
  }

  /** Reads a bounded number of deliveries at a time, and lets others have their turn in between. */
  async read(query: Omit<StatsQuery, "cursor">): Promise<DeliveryStats> {
    const rows = new Map<string, StatsRow>();
    let isCut = false;
    let cursor: string | null = null;
    do {
      const page: StatsPage = await this.#ingress.store.stats({ ...query, ...(cursor === null ? {} : { cursor }) });
      for (const row of page.rows) {
        const key = `${row.at} ${row.state} ${row.name}`;
        const before = rows.get(key);
        isCut ||= before === undefined && rows.size >= MAX_ROWS;
        if (before !== undefined || rows.size < MAX_ROWS) rows.set(key, before === undefined ? row : sum(before, row));
      }
      cursor = page.nextCursor;
      // Calls go before counts, also where many deliveries are counted.
      if (cursor !== null) await sleep(PAGE_PAUSE_MS);
    } while (cursor !== null);
    const inOrder = [...rows.values()].toSorted(
      (left, right) => left.at - right.at || (left.name < right.name ? -1 : 1),
    );
    return { rows: inOrder, isCut };
  }
}

/** The sums of a period by mapping, those with the most runs first. */
export function sumByMapping(
  rows: readonly StatsRow[],
  { from, before }: { readonly from: number; readonly before: number },
): readonly MappingStats[] {
  const days = (before - from) / DAY_MS;
  const byName = Map.groupBy(rows, ({ name }) => name);
  return Array.from(byName, ([name, own]) => mappingStats(name, own, days)).toSorted(
    (left, right) => right.runs - left.runs || right.deliveries - left.deliveries,
  );
}

function mappingStats(name: string, rows: readonly StatsRow[], days: number): MappingStats {
  const total = rows.reduce(sum);
  const { deliveries, runs, bytes, tokens, costUsd } = total;
  const states: Partial<Record<State, number>> = {};
  for (const row of rows) states[row.state] = (states[row.state] ?? 0) + row.deliveries;
  const perDay = {
    deliveries: deliveries / days,
    runs: runs / days,
    bytes: bytes / days,
    tokens: tokens / days,
    costUsd: costUsd / days,
  };
  return { name, deliveries, runs, bytes, tokens, costUsd, states, perDay };
}

function sum(left: StatsRow, right: StatsRow): StatsRow {
  return {
    ...left,
    deliveries: left.deliveries + right.deliveries,
    runs: left.runs + right.runs,
    bytes: left.bytes + right.bytes,
    tokens: left.tokens + right.tokens,
    costUsd: left.costUsd + right.costUsd,
  };
}
