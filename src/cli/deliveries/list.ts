/** `reveille deliveries list`. */
import type { DeliveryDetail, DeliverySummary } from "../../core/delivery.ts";
import type { GatewayAccess, GatewayCommandOptions } from "../gateway.ts";
import type { CliIo } from "../io.ts";
import { askGateway, reachGateway } from "../gateway-client.ts";
import { printable, printableLines } from "../terminal-text.ts";
import { textTable } from "../text-table.ts";

export interface FilterOptions {
  readonly state?: string;
  readonly route?: string;
  readonly actor?: string;
  readonly level?: string;
  readonly chain?: string;
  readonly sender?: string;
  readonly since?: string;
  readonly until?: string;
  readonly text?: string;
}

const NAMES = ["state", "route", "actor", "level", "chain", "sender", "since", "until", "text"] as const;

/** The given options; the gateway checks them. */
export function filtersOf(options: FilterOptions): Readonly<Record<string, string>> {
  const given = NAMES.flatMap((name) => {
    const value = options[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(given);
}

export interface ListCommandOptions extends GatewayCommandOptions, FilterOptions {
  /** Only dead letters that neither a replay nor a person has resolved. */
  readonly open?: boolean;
  readonly limit: number;
  readonly follow?: boolean;
  readonly json?: boolean;
}

interface Page {
  readonly deliveries: readonly DeliverySummary[];
  readonly nextCursor: string | null;
}

/** One page of the API. */
const PAGE = 200;
const REASON_CHARS = 80;
const NAME_CHARS = 40;

/** Prints the newest deliveries that fit. */
export async function listDeliveries(options: ListCommandOptions, io: CliIo): Promise<void> {
  const access = await reachGateway(options, io);
  const page = await read(options, access);
  if (options.json === true) {
    io.out(`${JSON.stringify(page, undefined, 2)}\n`);
    return;
  }
  const { deliveries, nextCursor } = page;
  if (deliveries.length === 0) {
    io.out(options.open === true ? "No dead letter is open.\n" : "No delivery fits.\n");
    return;
  }
  io.out(textTable(["ID", "RECEIVED", "ROUTE", "STATE", "WHAT", "WHY"], deliveries.map(rowOf)));
  io.out(countOf(deliveries, options));
  // Who decides about them reads them first.
  if (options.state === "held") for (const { id } of deliveries) io.out(await heldText(access, id));
  if (nextCursor !== null) io.out(`\nThere may be older ones: raise --limit, or narrow the search.\n`);
}

const TEXT_CHARS = 1_000;

/** What a held delivery would give to its agent. */
async function heldText(access: GatewayAccess, id: string): Promise<string> {
  const { runs } = await askGateway<DeliveryDetail>(access, `/deliveries/${id}`);
  const texts = runs.map(({ spec }) => (spec.kind === "wake" ? spec.text : spec.message).trim());
  const lines = texts.flatMap((text) => printableLines(shortened(text)).split("\n"));
  return `\n${id}\n${lines.map((line) => `  ${line}\n`).join("")}`;
}

function shortened(text: string): string {
  if (text.length <= TEXT_CHARS) return text;
  return `${text.slice(0, TEXT_CHARS).toWellFormed()}… (${text.length} characters; reveille deliveries show has all)`;
}

/** The number of listed dead letters that need nothing more. */
function countOf(deliveries: readonly DeliverySummary[], { open }: ListCommandOptions): string {
  const failed = deliveries.filter(({ state }) => state === "failed");
  const resolved = failed.filter((each) => each.replayedAs?.state === "done" || each.resolved !== undefined).length;
  if (open === true) return `\n${failed.length} open.\n`;
  return resolved === 0 ? "" : `\n${failed.length} failed, ${resolved} of them resolved; --open leaves those out.\n`;
}

/** A page may hold fewer rows than were asked for and still not be the last. */
async function read(options: ListCommandOptions, access: GatewayAccess): Promise<Page> {
  const deliveries: DeliverySummary[] = [];
  let nextCursor: string | null = null;
  do {
    const query = new URLSearchParams({
      ...filtersOf(options),
      ...(options.open === true ? { open: "true" } : {}),
      limit: String(Math.min(PAGE, options.limit - deliveries.length)),
      ...(nextCursor === null ? {} : { cursor: nextCursor }),
    });
    const page: Page = await askGateway<Page>(access, `/deliveries?${query.toString()}`);
    deliveries.push(...page.deliveries);
    nextCursor = page.nextCursor;
  } while (nextCursor !== null && deliveries.length < options.limit);
  return { deliveries, nextCursor };
}

/** The cells of a delivery in a list. */
export function rowOf({ id, receivedAt, route, state, name, event, actor, ...why }: DeliverySummary): string[] {
  const what = `${event ?? name}${actor === null ? "" : ` by ${actor}`}`;
  return [
    id,
    secondOf(receivedAt),
    printable(route, NAME_CHARS),
    state,
    printable(what, NAME_CHARS),
    printable(reasonCell(why), REASON_CHARS),
  ];
}

function reasonCell({
  reason,
  replayedAs,
  resolved,
}: Pick<DeliverySummary, "reason" | "replayedAs" | "resolved">): string {
  if (resolved !== undefined) {
    const note = resolved.note === null ? "" : ` (${resolved.note})`;
    return `resolved at ${secondOf(resolved.at)}${note}${reason === null ? "" : `; ${reason}`}`;
  }
  if (replayedAs === undefined) return reason ?? "";
  return `replayed as ${replayedAs.deliveryId} (${replayedAs.state})${reason === null ? "" : `; ${reason}`}`;
}

/** As it can be given to `--since`. */
export function secondOf(time: string): string {
  return time === "" ? "" : `${time.slice(0, 19)}Z`;
}
