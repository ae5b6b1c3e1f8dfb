/** `reveille deliveries stats`. */
import { STATES } from "../../core/run.ts";
import type { HookStates, MappingStats } from "../../index.ts";
import { askGateway, reachGateway } from "../gateway-client.ts";
import type { GatewayCommandOptions } from "../gateway.ts";
import type { CliIo } from "../io.ts";
import { printable } from "../terminal-text.ts";
import { textTable } from "../text-table.ts";

export interface StatsOptions extends GatewayCommandOptions {
  readonly since: string;
  readonly until?: string;
  readonly json?: boolean;
}

interface StatsAnswer {
  readonly since: string;
  readonly until: string;
  readonly mappings: readonly MappingStats[];
  readonly forecastBytes: number;
}

const NAME_CHARS = 40;

/** Prints what each mapping had in a period, what that is in a day, and the budget of a day beside it. */
export async function deliveryStats({ since, until, ...options }: StatsOptions, io: CliIo): Promise<void> {
  const access = await reachGateway(options, io);
  const query = new URLSearchParams({ since, ...(until === undefined ? {} : { until }) });
  const stats = await askGateway<StatsAnswer>(access, `/deliveries/stats?${query.toString()}`);
  const hooks = await askGateway<HookStates>(access, "/hooks");
  const budgets = new Map([hooks.all, ...hooks.mappings].map(({ scope, budget }) => [scope, budget?.perDay ?? null]));
  const mappings = stats.mappings.map((each) => ({ ...each, budgetPerDay: budgets.get(each.name)?.limit ?? null }));
  if (options.json === true) {
    const all = budgets.get("*")?.limit ?? null;
    io.out(`${JSON.stringify({ ...stats, mappings, budgetPerDay: all }, undefined, 2)}\n`);
    return;
  }
  if (mappings.length === 0) {
    io.out("No delivery was received in that time, or retention has removed them.\n");
    return;
  }
  const rows = mappings.map(({ name, deliveries, runs, tokens, costUsd, states, perDay, budgetPerDay }) => [
    printable(name, NAME_CHARS),
    String(deliveries),
    STATES.filter((state) => states[state] !== undefined)
      .map((state) => `${states[state]} ${state}`)
      .join(", "),
    String(runs),
    perDay.runs.toFixed(perDay.runs < 10 ? 1 : 0),
    budgetPerDay === null ? "none" : String(budgetPerDay),
    tokens === 0 ? "" : String(tokens),
    costUsd === 0 ? "" : dollars(costUsd),
  ]);
  const titles = ["MAPPING", "DELIVERIES", "STATES", "RUNS", "RUNS A DAY", "BUDGET A DAY", "TOKENS", "COST"];
  io.out(textTable(titles, rows));
  const runs = mappings.reduce((total, { perDay }) => total + perDay.runs, 0);
  const bytes = mappings.reduce((total, { perDay }) => total + perDay.bytes, 0);
  const tokens = mappings.reduce((total, { perDay }) => total + perDay.tokens, 0);
  const cost = mappings.reduce((total, { perDay }) => total + perDay.costUsd, 0);
  const used = [tokens > 0 ? `, ${Math.round(tokens)} tokens` : "", cost > 0 ? `, ${dollars(cost)}` : ""].join("");
  io.out(
    `\nAt this rate: ${runs.toFixed(1)} runs${used} and ${(bytes / 1e6).toFixed(1)} MB a day; under the current retention the deliveries come to ${(stats.forecastBytes / 1e6).toFixed(1)} MB.\n`,
  );
}

function dollars(usd: number): string {
  return `$${usd.toFixed(usd < 1 ? 4 : 2)}`;
}
