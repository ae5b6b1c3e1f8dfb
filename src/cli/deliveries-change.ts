/** `reveille deliveries replay`, `cancel` and `purge`. */
import type { State } from "../delivery.ts";
import { CliError } from "./cli-error.ts";
import type { CliIo } from "./cli-io.ts";
import { filtersOf } from "./delivery-filters.ts";
import type { FilterOptions } from "./delivery-filters.ts";
import { secondOf } from "./deliveries-list.ts";
import { askGateway, gatewayAccess } from "./gateway-client.ts";
import type { GatewayAccess, GatewayOptions } from "./gateway-client.ts";
import { printable } from "./printable.ts";
import { textTable } from "./text-table.ts";

export type Change = "replay" | "cancel" | "purge";

export interface ChangeOptions extends GatewayOptions, FilterOptions {
  readonly asAccepted?: boolean;
  readonly limit?: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** What the API answers; see `src/embedded/api/outcome-json.ts`. */
interface Changed {
  readonly ok: boolean;
  readonly dryRun: boolean;
  readonly matched: number;
  readonly more: boolean;
  readonly stopped: { readonly code: string; readonly error: string } | null;
  readonly deliveries: readonly ChangedDelivery[];
}

type ChangedDelivery = {
  readonly id: string;
  /** Of one that is there: as it was before. */
  readonly state?: State;
  readonly route?: string;
  readonly receivedAt?: string;
} & (
  | { readonly outcome: "replayed"; readonly replay: { readonly deliveryId: string; readonly state: State } }
  | { readonly outcome: "canceled"; readonly runs: number }
  | { readonly outcome: "removed" | "emptied" | "planned" | "unknown" }
  | { readonly outcome: "left"; readonly reason: string }
  | { readonly outcome: "refused"; readonly error: string }
);

type Which = { readonly ids: readonly string[] } | { readonly filter: object; readonly limit?: number };

/** Ids that the API takes at once. */
const MAX_IDS = 1_000;
const DETAIL_CHARS = 200;
const PLANNED = { replay: "would be replayed", cancel: "would be canceled", purge: "would be removed" } as const;

/** Changes the deliveries that are named, or all that fit; resolves with the exit code. */
export async function changeDeliveries(
  change: Change,
  ids: readonly string[],
  options: ChangeOptions,
  io: CliIo,
): Promise<number> {
  const which = readWhich(ids, options);
  const { dryRun = false } = options;
  const mustAsk = "filter" in which && !dryRun && options.yes !== true;
  if (mustAsk && io.confirm === undefined) {
    throw new CliError("Every delivery that fits is meant: look at them with --dry-run first, then add --yes.");
  }
  const access = gatewayAccess(options, io);
  const ask = (which: Which, dryRun: boolean) => askFor(access, change, which, { ...options, dryRun });
  if (!mustAsk || io.confirm === undefined) return tell(change, await ask(which, dryRun), ids, options, io);

  const planned = await ask(which, true);
  const chosen = planned.deliveries.filter(({ outcome }) => outcome === "planned").map(({ id }) => id);
  if (chosen.length === 0) return tell(change, planned, ids, options, io);
  io.err(tableOf(change, planned));
  if (!(await io.confirm(`${countText(chosen.length)} ${PLANNED[change]}. Go on?`))) {
    io.err("Nothing was changed.\n");
    return 1;
  }
  // What was shown is what is changed, whatever has come in since.
  return tell(change, { ...(await ask({ ids: chosen }, false)), more: planned.more }, ids, options, io);
}

function readWhich(ids: readonly string[], options: ChangeOptions): Which {
  const filter = filtersOf(options);
  const hasFilter = Object.keys(filter).length > 0;
  if (ids.length > 0 && (hasFilter || options.limit !== undefined)) {
    throw new CliError("Name deliveries either by their ids or with filters.");
  }
  if (ids.length > 0) return { ids };
  if (!hasFilter) throw new CliError("Name deliveries by their ids, or with filters such as --state failed.");
  return { filter, ...(options.limit === undefined ? {} : { limit: options.limit }) };
}

/** Ids that are more than the API takes at once go in several requests, until one is stopped. */
async function askFor(
  access: GatewayAccess,
  change: Change,
  which: Which,
  { dryRun, asAccepted }: { readonly dryRun: boolean; readonly asAccepted?: boolean },
): Promise<Changed> {
  const common = { dryRun, ...(asAccepted === true ? { asAccepted } : {}) };
  const post = (part: Which) =>
    askGateway<Changed>(access, `/deliveries/${change}`, { method: "POST", body: { ...part, ...common } });
  if ("filter" in which) return post(which);
  let sum: Changed | undefined;
  for (let at = 0; at < which.ids.length && sum?.ok !== false; at += MAX_IDS) {
    const next = await post({ ids: which.ids.slice(at, at + MAX_IDS) });
    sum = sum === undefined ? next : { ...next, deliveries: [...sum.deliveries, ...next.deliveries] };
  }
  return { ...sum!, matched: which.ids.length };
}

/** Prints what came of it. The exit code is 1 when a delivery that was named, or the whole, was not changed. */
function tell(change: Change, changed: Changed, ids: readonly string[], options: ChangeOptions, io: CliIo): number {
  if (options.json === true) io.out(`${JSON.stringify(changed, undefined, 2)}\n`);
  else io.out(textOf(change, changed));
  const failing = new Set(["refused", "unknown", ...(ids.length > 0 ? ["left"] : [])]);
  return changed.ok && !changed.deliveries.some(({ outcome }) => failing.has(outcome)) ? 0 : 1;
}

function textOf(change: Change, changed: Changed): string {
  const { deliveries, more, stopped, matched } = changed;
  if (deliveries.length === 0 && stopped === null) return "No delivery fits.\n";
  const missing = matched - deliveries.length;
  return [
    deliveries.length === 0 ? "" : tableOf(change, changed),
    stopped === null ? "" : `\nIt stopped with ${countText(missing)} left: ${printable(stopped.error, DETAIL_CHARS)}\n`,
    more ? "\nMore deliveries fit than were taken; run it again for the rest, or narrow the search.\n" : "",
  ].join("");
}

function tableOf(change: Change, { deliveries }: Changed): string {
  return textTable(
    ["ID", "RECEIVED", "ROUTE", "STATE", "OUTCOME"],
    deliveries.map((delivery) => [
      printable(delivery.id, DETAIL_CHARS),
      delivery.receivedAt === undefined ? "" : secondOf(delivery.receivedAt),
      printable(delivery.route ?? "", DETAIL_CHARS),
      delivery.state ?? "",
      printable(outcomeText(change, delivery), DETAIL_CHARS),
    ]),
  );
}

function outcomeText(change: Change, delivery: ChangedDelivery): string {
  switch (delivery.outcome) {
    case "replayed":
      return `replayed as ${delivery.replay.deliveryId} (${delivery.replay.state})`;
    case "canceled":
      return `canceled (${delivery.runs} ${delivery.runs === 1 ? "run" : "runs"})`;
    case "removed":
      return "removed";
    case "emptied":
      return "its request is removed; it stays listed for now, since copies of it could arrive";
    case "planned":
      return PLANNED[change];
    case "left":
      return `left alone: ${delivery.reason}`;
    case "refused":
      return `refused: ${delivery.error}`;
    case "unknown":
      return "there is no such delivery";
  }
}

function countText(count: number): string {
  return count === 1 ? "1 delivery" : `${count} deliveries`;
}
