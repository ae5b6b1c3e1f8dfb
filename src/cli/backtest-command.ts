/** `reveille backtest`. */
import { readFileSync } from "node:fs";
import { reasonOf } from "../core/reason-of.ts";
import type { Backtested, BacktestPage, MappingStats } from "../index.ts";
import { forecastRuns, type RunForecast } from "../ingress/operations/forecast.ts";
import { CliError } from "./errors.ts";
import { askGateway, reachGateway } from "./gateway-client.ts";
import type { GatewayCommandOptions } from "./gateway.ts";
import type { CliIo } from "./io.ts";
import { ProgressBar } from "./progress-bar.ts";
import { printable } from "./terminal-text.ts";
import { textTable } from "./text-table.ts";

export interface BacktestOptions extends GatewayCommandOptions {
  readonly json?: boolean;
  /** A file with an edited configuration. */
  readonly edited?: string;
  readonly since: string;
}

interface StatsAnswer {
  readonly mappings: readonly MappingStats[];
}

const CELL_CHARS = 60;

/**
 * Judges the stored deliveries of a period by the running gateway's configuration, or by an edited one; prints those
 * that differ, and the runs of a day where they differ.
 */
export async function backtest({ since, edited, ...options }: BacktestOptions, io: CliIo): Promise<void> {
  const edit = edited === undefined ? undefined : readFileText(edited);
  const access = await reachGateway(options, io);
  const { mappings } = await askGateway<StatsAnswer>(
    access,
    `/deliveries/stats?${new URLSearchParams({ since }).toString()}`,
  );
  const total = mappings.reduce((sum, { deliveries }) => sum + deliveries, 0);
  const bar = new ProgressBar(io, options.json === true);
  const all: Backtested[] = [];
  let cursor: string | null = null;
  do {
    bar.show({ done: all.length, total: Math.max(total, all.length), what: "deliveries are judged" });
    const body = { filter: { since }, limit: 200, edit, ...(cursor === null ? {} : { cursor }) };
    const page: BacktestPage = await askGateway(access, "/deliveries/backtest", { method: "POST", body });
    all.push(...page.deliveries);
    cursor = page.nextCursor;
  } while (cursor !== null);
  bar.end();
  const forecast = forecastRuns(all, mappings);
  if (options.json === true) {
    io.out(`${JSON.stringify({ deliveries: all, forecast }, undefined, 2)}\n`);
    return;
  }
  const changed = all.filter(({ change }) => change !== "same");
  const rows = changed.map(({ receivedAt, deliveryId, route, change, detail }) => [
    `${receivedAt.slice(0, 19)}Z`,
    deliveryId,
    printable(route, CELL_CHARS),
    change,
    printable(detail, 2 * CELL_CHARS),
  ]);
  if (rows.length > 0) io.out(textTable(["RECEIVED", "DELIVERY", "ROUTE", "CHANGE", "DETAIL"], rows));
  const unjudged = changed.filter(({ change }) => change === "not-judged").length;
  const noun = all.length === 1 ? "delivery" : "deliveries";
  io.out(`${all.length} ${noun}: ${changed.length - unjudged} differ, ${unjudged} could not be judged.\n`);
  printForecast(forecast, io);
}

function printForecast(forecast: readonly RunForecast[], io: CliIo): void {
  const differs = forecast.filter(({ before, now }) => before.runs !== now.runs);
  if (differs.length === 0) return;
  const round = (count: number): string => count.toFixed(count < 10 ? 1 : 0);
  const rows = differs.map(({ name, before, now }) => [
    printable(name, CELL_CHARS),
    ...[before, now].flatMap(({ runs, tokens, costUsd }) => [
      round(runs),
      tokens === 0 ? "" : round(tokens),
      costUsd === 0 ? "" : `$${costUsd.toFixed(4)}`,
    ]),
  ]);
  io.out(`\nIn a day:\n${textTable(["MAPPING", "RUNS", "TOKENS", "COST", "RUNS THEN", "TOKENS", "COST"], rows)}`);
}

function readFileText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new CliError(`The edited configuration ${file} cannot be read: ${reasonOf(error)}`);
  }
}
