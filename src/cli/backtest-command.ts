/** `reveille backtest`. */
import type { Backtested, BacktestPage } from "../index.ts";
import { askGateway, reachGateway } from "./gateway-client.ts";
import type { GatewayCommandOptions } from "./gateway.ts";
import type { CliIo } from "./io.ts";
import { printable } from "./terminal-text.ts";
import { textTable } from "./text-table.ts";

export interface BacktestOptions extends GatewayCommandOptions {
  readonly json?: boolean;
  readonly since: string;
}

const CELL_CHARS = 60;

/** Judges the stored deliveries of a period by the running gateway's configuration; prints those that differ. */
export async function backtest({ since, ...options }: BacktestOptions, io: CliIo): Promise<void> {
  const access = await reachGateway(options, io);
  const all: Backtested[] = [];
  let cursor: string | null = null;
  do {
    const body: object = { filter: { since }, limit: 200, ...(cursor === null ? {} : { cursor }) };
    const page: BacktestPage = await askGateway(access, "/deliveries/backtest", { method: "POST", body });
    all.push(...page.deliveries);
    cursor = page.nextCursor;
  } while (cursor !== null);
  if (options.json === true) {
    io.out(`${JSON.stringify({ deliveries: all }, undefined, 2)}\n`);
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
}
