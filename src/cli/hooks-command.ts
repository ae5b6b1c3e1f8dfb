/** `reveille hooks`. */
import { type BudgetUse, budgetParts } from "../core/budget-use.ts";
import type { HookStates, MappingState, ScopeState } from "../index.ts";
import type { CliIo } from "./io.ts";
import { askGateway, reachGateway } from "./gateway-client.ts";
import { secondOf } from "./deliveries/list.ts";
import type { GatewayCommandOptions } from "./gateway.ts";
import { printable } from "./terminal-text.ts";
import { textTable } from "./text-table.ts";

export interface HooksOptions extends GatewayCommandOptions {
  readonly json?: boolean;
}

const CELL_CHARS = 60;

/** Lists the mappings: where each is reached, which are paused, and what of the budgets is used. */
export async function listHooks(options: HooksOptions, io: CliIo): Promise<void> {
  const states = await askGateway<HookStates>(await reachGateway(options, io), "/hooks");
  if (options.json === true) {
    io.out(`${JSON.stringify(states, undefined, 2)}\n`);
    return;
  }
  const rows = [
    [states.all.scope, "", "all runs", "", ...problemCells(states.all, "", asideText(states.all))],
    ...states.mappings.map(rowOf),
  ];
  io.out(textTable(["MAPPING", "ROUTE", "ACTION", "PRESET", "BUDGET", "LAST CALL", "PAUSED"], rows));
}

/** Pauses or resumes a mapping, or all runs (`*`). */
export async function changeHook(
  change: "pause" | "resume",
  scope: string,
  options: HooksOptions,
  io: CliIo,
): Promise<void> {
  const path = `/hooks/${encodeURIComponent(scope)}/${change}`;
  const changed = await askGateway<{ readonly changed: boolean }>(await reachGateway(options, io), path, {
    method: "POST",
    body: {},
  });
  io.out(
    options.json === true
      ? `${JSON.stringify(changed, undefined, 2)}\n`
      : sentence(change, scope, { ...changed, program: io.gateway.program }),
  );
}

function sentence(
  change: "pause" | "resume",
  scope: string,
  { changed, program }: { readonly changed: boolean; readonly program: string },
): string {
  const what = scope === "*" ? "Everything" : JSON.stringify(scope);
  if (change === "resume") return changed ? `${what} continues.\n` : `${what} was not paused.\n`;
  if (!changed) return `${what} was paused before.\n`;
  const goOn = `${program} hooks resume ${scope === "*" ? "'*'" : scope}`;
  return `${what} is paused: calls are accepted and wait. To continue: ${goOn}\n`;
}

function rowOf(mapping: MappingState): string[] {
  const { scope, where, route, source, action, preset, kept } = mapping;
  const problem = asideText(mapping) ?? (kept === null ? undefined : `keeps the version before: ${kept}`);
  const taken = route ?? (source === null ? "any" : `source ${source}`);
  return [
    printable(scope, CELL_CHARS),
    where === null ? "no longer configured" : printable(taken, CELL_CHARS),
    action ?? "",
    preset ?? "",
    ...problemCells(mapping, lastCallText(mapping), problem),
  ];
}

function asideText({ broken }: { readonly broken: string | null }): string | undefined {
  return broken === null ? undefined : `set aside: ${broken}`;
}

/** A problem takes the place of the pause. */
function problemCells(state: ScopeState, lastCall: string, problem: string | undefined): readonly string[] {
  const [budget, paused] = stateCells(state);
  return [budget, lastCall, problem === undefined ? paused : printable(problem, 4 * CELL_CHARS)];
}

/** The latest of the calls since the start; a refusal that followed the last accepted one is what matters. */
function lastCallText({ lastAcceptedAt, lastRefused }: MappingState): string {
  const isRefused = lastRefused !== null && lastRefused.at > (lastAcceptedAt ?? "");
  return isRefused ? `${secondOf(lastRefused.at)} ${lastRefused.code}` : secondOf(lastAcceptedAt ?? "");
}

function stateCells({ budget, paused }: ScopeState): [string, string] {
  return [
    budgetText(budget),
    paused === null ? "" : printable(`since ${paused.since}: ${paused.reason}`, 2 * CELL_CHARS),
  ];
}

function budgetText(budget: BudgetUse | null): string {
  return budgetParts(budget)
    .map(({ used, limit, when }) => `${used} of ${limit} ${when}`)
    .join(", ");
}
