/** `reveille deliveries list`. */
import type { DeliverySummary } from "../../core/delivery.ts";
import type { CliIo } from "../cli-io.ts";
import { filtersOf } from "./delivery-filters.ts";
import type { FilterOptions } from "./delivery-filters.ts";
import { askGateway } from "../gateway-client.ts";
import type { GatewayCommandOptions } from "../cli-gateway.ts";
import { printable } from "../printable.ts";
import { textTable } from "../text-table.ts";

export interface ListOptions extends GatewayCommandOptions, FilterOptions {
  readonly limit: number;
  readonly json?: boolean;
}

interface Page {
  readonly deliveries: readonly DeliverySummary[];
  readonly nextCursor: string | null;
}

/** What the API gives in one page. */
const PAGE = 200;
const REASON_CHARS = 80;
const NAME_CHARS = 40;

/** Prints the newest deliveries that fit. */
export async function listDeliveries(options: ListOptions, io: CliIo): Promise<void> {
  const page = await read(options, io);
  if (options.json === true) {
    io.out(`${JSON.stringify(page, undefined, 2)}\n`);
    return;
  }
  const { deliveries, nextCursor } = page;
  if (deliveries.length === 0) {
    io.out("No delivery fits.\n");
    return;
  }
  io.out(textTable(["ID", "RECEIVED", "ROUTE", "STATE", "WHAT", "WHY"], deliveries.map(rowOf)));
  if (nextCursor !== null) io.out(`\nThere may be older ones: raise --limit, or narrow the search.\n`);
}

/** A page may hold fewer rows than were asked for and still not be the last. */
async function read(options: ListOptions, io: CliIo): Promise<Page> {
  const access = io.gateway.access(options);
  const deliveries: DeliverySummary[] = [];
  let nextCursor: string | null = null;
  do {
    const query = new URLSearchParams({
      ...filtersOf(options),
      limit: String(Math.min(PAGE, options.limit - deliveries.length)),
      ...(nextCursor === null ? {} : { cursor: nextCursor }),
    });
    const page: Page = await askGateway<Page>(access, `/deliveries?${query.toString()}`);
    deliveries.push(...page.deliveries);
    nextCursor = page.nextCursor;
  } while (nextCursor !== null && deliveries.length < options.limit);
  return { deliveries, nextCursor };
}

function rowOf({ id, receivedAt, route, state, name, event, sender, reason }: DeliverySummary): string[] {
  const what = `${event ?? name}${sender === null ? "" : ` by ${sender}`}`;
  return [
    id,
    secondOf(receivedAt),
    printable(route, NAME_CHARS),
    state,
    printable(what, NAME_CHARS),
    printable(reason ?? "", REASON_CHARS),
  ];
}

/** As it can be given to `--since`. */
export function secondOf(time: string): string {
  return `${time.slice(0, 19)}Z`;
}
