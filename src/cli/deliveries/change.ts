/** `reveille deliveries replay`, `release`, `cancel`, `purge` and `resolve`. */
import type { State } from "../../core/run.ts";
import { CliError } from "../errors.ts";
import type { GatewayAccess, GatewayCommandOptions } from "../gateway.ts";
import type { CliIo } from "../io.ts";
import { askGateway, reachGateway } from "../gateway-client.ts";
import { ProgressBar } from "../progress-bar.ts";
import { printable } from "../terminal-text.ts";
import { textTable } from "../text-table.ts";
import { type FilterOptions, filtersOf, secondOf } from "./list.ts";

export type DeliveryChange = "replay" | "release" | "cancel" | "purge" | "resolve";

/** A delivery of an answer of the API; see `src/api/deliveries.ts`. */
type ChangedDelivery = {
  readonly id: string;
  /** Of one that is there: as it was before. */
  readonly state?: State;
  readonly route?: string;
  readonly receivedAt?: string;
} & (
  | { readonly outcome: "replayed"; readonly replay: Replay }
  | { readonly outcome: "canceled" | "released"; readonly runs: number }
  | { readonly outcome: "planned"; readonly replay?: ReplayFacts }
  | { readonly outcome: "removed" | "resolved" | "emptied" | "unknown" }
  | { readonly outcome: "left"; readonly reason: string }
  | { readonly outcome: "refused"; readonly error: string }
);

interface Replay {
  readonly deliveryId: string;
  readonly state: State;
  /** The calls that its run had coalesced, if any. */
  readonly gathered?: readonly CoalescedCall[];
  /** Ids of those that were not reached. */
  readonly left?: readonly string[];
}

type CoalescedCall = { readonly id: string } & (
  | { readonly outcome: "replayed"; readonly replay: Pick<Replay, "deliveryId" | "state"> }
  | { readonly outcome: "refused"; readonly error: string }
);

/** The runs that a replay would start; see `src/ingress/operations/outcome.ts`. */
interface ReplayFacts {
  readonly runs: number;
  readonly repeated: number;
  readonly done: number;
  readonly calls: number;
}

/** The result of a dry run. */
const PLANNED = {
  replay: "would be replayed",
  release: "would be released",
  cancel: "would be canceled",
  purge: "would be removed",
  resolve: "would be marked as resolved",
} as const;

/** The outcome of one, in words that are not yet made printable. */
function outcomeText(change: DeliveryChange, delivery: ChangedDelivery | CoalescedCall): string {
  switch (delivery.outcome) {
    case "replayed":
      return `${change === "release" ? "released" : "replayed"} as ${delivery.replay.deliveryId} (${delivery.replay.state})`;
    case "canceled":
    case "released":
      return `${delivery.outcome} (${delivery.runs} ${delivery.runs === 1 ? "run" : "runs"})`;
    case "removed":
    case "resolved":
      return delivery.outcome;
    case "emptied":
      return "its request is removed; it stays listed for now: it is the newest delivery, or copies of it could arrive";
    case "planned":
      return `${PLANNED[change]}${delivery.replay === undefined ? "" : factsText(delivery.replay)}`;
    case "left":
      return `left alone: ${delivery.reason}`;
    case "refused":
      return `refused: ${delivery.error}`;
    case "unknown":
      return "there is no such delivery";
  }
}

function factsText({ runs, repeated, done, calls }: ReplayFacts): string {
  if (calls > 1) return `, with the ${calls} calls that its run serves`;
  if (repeated < runs) return `: ${repeated} of ${runs} items, the others are done`;
  if (runs > 1 && done > 0) return `: ${done} of ${runs} items were done and would run again`;
  return runs > 1 ? `: ${runs} items` : "";
}

/** The calls that were replayed together with it. */
function coalescedOf({ gathered = [] }: Replay): readonly CoalescedCall[] {
  return gathered;
}

export interface ChangeOptions extends GatewayCommandOptions, FilterOptions {
  readonly asAccepted?: boolean;
  readonly note?: string;
  readonly limit?: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/** The answer of the API; see `src/api/deliveries.ts`. */
interface ChangeAnswer {
  readonly ok: boolean;
  readonly dryRun: boolean;
  readonly matched: number;
  readonly more: boolean;
  readonly stopped: { readonly code: string; readonly error: string } | null;
  readonly deliveries: readonly ChangedDelivery[];
}

type DeliverySelection = { readonly ids: readonly string[] } | { readonly filter: object; readonly limit?: number };

/** A replay in one of these has run nothing, and nothing of it will run. */
const ENDED_AT_ONCE: ReadonlySet<State> = new Set(["filtered", "skipped", "failed"]);
/** Outcomes after which the exit code is 1. */
const FAILING: ReadonlySet<string> = new Set(["refused", "unknown"]);

/** Ids that the API takes at once. */
const MAX_IDS = 1_000;
/** Ids of one request where a person watches: it is answered soon. */
const WATCHED_IDS = 25;
const DETAIL_CHARS = 200;

/** Changes the deliveries that are named, or all that fit; resolves with the exit code. */
export async function changeDeliveries(
  change: DeliveryChange,
  ids: readonly string[],
  options: ChangeOptions,
  io: CliIo,
): Promise<number> {
  const which = readSelection(ids, options);
  const { dryRun = false } = options;
  const mustAsk = "filter" in which && !dryRun && options.yes !== true;
  if (mustAsk && io.confirm === undefined) {
    throw new CliError("This changes every delivery that fits. Look at them with --dry-run first, then add --yes.");
  }
  const access = await reachGateway(options, io);
  const bar = new ProgressBar(io, options.json === true);
  const ask = (which: DeliverySelection, dryRun: boolean) =>
    askFor(access, change, which, { ...options, dryRun, bar }).finally(() => bar.end());
  if (!mustAsk || io.confirm === undefined) return printOutcomes(change, await ask(which, dryRun), ids, options, io);

  const planned = await ask(which, true);
  const chosen = planned.deliveries.filter(({ outcome }) => outcome === "planned").map(({ id }) => id);
  if (chosen.length === 0) return printOutcomes(change, planned, ids, options, io);
  io.err(tableOf(change, planned));
  if (!(await io.confirm(`${countText(chosen.length)} ${PLANNED[change]}. Continue?`))) {
    io.err("Nothing was changed.\n");
    return 1;
  }
  // The deliveries that were shown are changed, whatever has arrived since.
  return printOutcomes(change, { ...(await ask({ ids: chosen }, false)), more: planned.more }, ids, options, io);
}

function readSelection(ids: readonly string[], options: ChangeOptions): DeliverySelection {
  const filter = filtersOf(options);
  const hasFilter = Object.keys(filter).length > 0;
  if (ids.length > 0 && (hasFilter || options.limit !== undefined)) {
    throw new CliError("Name deliveries either by their ids or with filters.");
  }
  if (ids.length > 0) return { ids };
  if (!hasFilter) throw new CliError("Name deliveries by their ids, or with filters such as --state failed.");
  return { filter, ...(options.limit === undefined ? {} : { limit: options.limit }) };
}

interface AskOptions extends Pick<ChangeOptions, "asAccepted" | "note"> {
  readonly dryRun: boolean;
  readonly bar: ProgressBar;
}

/** Ids that are more than the API takes at once go in several requests, until one is stopped. */
async function askFor(
  access: GatewayAccess,
  change: DeliveryChange,
  which: DeliverySelection,
  { dryRun, asAccepted, note, bar }: AskOptions,
): Promise<ChangeAnswer> {
  const common = {
    dryRun,
    ...(asAccepted === true ? { asAccepted } : {}),
    ...(note === undefined ? {} : { note }),
  };
  const post = (part: DeliverySelection) =>
    askGateway<ChangeAnswer>(access, `/deliveries/${change}`, { method: "POST", body: { ...part, ...common } });
  if ("filter" in which) return post(which);
  const atOnce = bar.isShown ? WATCHED_IDS : MAX_IDS;
  let sum: ChangeAnswer | undefined;
  for (let at = 0; at < which.ids.length && sum?.ok !== false; at += atOnce) {
    if (which.ids.length > atOnce) bar.show({ done: at, total: which.ids.length, what: "deliveries" });
    const next = await post({ ids: which.ids.slice(at, at + atOnce) });
    sum = sum === undefined ? next : { ...next, deliveries: [...sum.deliveries, ...next.deliveries] };
  }
  return { ...sum!, matched: which.ids.length };
}

/** Prints the outcome. The exit code is 1 when a delivery that was named, or the whole, was not changed. */
function printOutcomes(
  change: DeliveryChange,
  changed: ChangeAnswer,
  ids: readonly string[],
  options: ChangeOptions,
  io: CliIo,
): number {
  if (options.json === true) io.out(`${JSON.stringify(changed, undefined, 2)}\n`);
  else io.out(textOf(change, changed));
  const hasFailed = (delivery: ChangedDelivery): boolean =>
    FAILING.has(delivery.outcome) ||
    (delivery.outcome === "left" && ids.length > 0) ||
    (delivery.outcome === "replayed" && coalescedOf(delivery.replay).some(({ outcome }) => FAILING.has(outcome)));
  return changed.ok && !changed.deliveries.some(hasFailed) ? 0 : 1;
}

function textOf(change: DeliveryChange, changed: ChangeAnswer): string {
  const { deliveries, more, stopped, matched } = changed;
  if (deliveries.length === 0 && stopped === null) return "No delivery fits.\n";
  const missing = matched - deliveries.length;
  const left = missing === 0 ? "" : ` with ${countText(missing)} left`;
  return [
    deliveries.length === 0 ? "" : tableOf(change, changed),
    stopped === null ? "" : `\nIt stopped${left}: ${printable(stopped.error, DETAIL_CHARS)}\n`,
    more ? `\n${moreText(deliveries)}\n` : "",
  ].join("");
}

/** A delivery that was refused, or got no run, is as it was before: it would be taken first again. */
function moreText(deliveries: readonly ChangedDelivery[]): string {
  const isAsBefore = (delivery: ChangedDelivery): boolean =>
    delivery.outcome === "refused" || (delivery.outcome === "replayed" && ENDED_AT_ONCE.has(delivery.replay.state));
  return deliveries.some(isAsBefore)
    ? "More deliveries fit than were taken. Those that were refused or got no run would be taken first again: for the rest, narrow the search with --until."
    : "More deliveries fit than were taken; run it again for the rest, or narrow the search.";
}

function tableOf(change: DeliveryChange, { deliveries }: ChangeAnswer): string {
  return textTable(
    ["ID", "RECEIVED", "ROUTE", "STATE", "OUTCOME"],
    deliveries.flatMap((delivery) => [rowOf(change, delivery), ...rowsOfCoalesced(delivery)]),
  );
}

function rowOf(change: DeliveryChange, delivery: ChangedDelivery): string[] {
  return [
    printable(delivery.id, DETAIL_CHARS),
    delivery.receivedAt === undefined ? "" : secondOf(delivery.receivedAt),
    printable(delivery.route ?? "", DETAIL_CHARS),
    delivery.state ?? "",
    printable(outcomeText(change, delivery), DETAIL_CHARS),
  ];
}

/** The calls that its run had coalesced, below the delivery with which they were replayed. */
function rowsOfCoalesced(delivery: ChangedDelivery): string[][] {
  if (delivery.outcome !== "replayed") return [];
  const { route = "", replay } = delivery;
  const row = (id: string, outcome: string): string[] => [
    printable(id, DETAIL_CHARS),
    "",
    printable(route, DETAIL_CHARS),
    "coalesced",
    printable(outcome, DETAIL_CHARS),
  ];
  return [
    ...coalescedOf(replay).map((call) => row(call.id, outcomeText("replay", call))),
    ...(replay.left ?? []).map((id) => row(id, "not reached; replay it by this id")),
  ];
}

function countText(count: number): string {
  return count === 1 ? "1 delivery" : `${count} deliveries`;
}
