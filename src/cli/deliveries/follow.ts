/** `reveille deliveries list --follow`. */
import { setTimeout as sleep } from "node:timers/promises";
import type { DeliverySummary } from "../../core/delivery.ts";
import type { State } from "../../core/run.ts";
import { untilSignal } from "../end-signals.ts";
import { askGateway, reachGateway } from "../gateway-client.ts";
import type { GatewayAccess } from "../gateway.ts";
import type { CliIo } from "../io.ts";
import { filtersOf, type ListCommandOptions, rowOf } from "./list.ts";

const EVERY_MS = 1_000;
/** The newest are looked at: with more in a second, the rest of them is not printed but counted. */
const PAGE = 200;
/** A delivery that waits longer than so many others is forgotten. */
const MAX_WATCHED = 5_000;

interface Page {
  readonly deliveries: readonly DeliverySummary[];
  readonly nextCursor: string | null;
}

/** Prints each delivery that fits when it arrives and when its state changes, until a signal or the end of its reader. */
export async function followDeliveries(options: ListCommandOptions, io: CliIo): Promise<number> {
  const access = await reachGateway(options, io);
  return untilSignal(io, async (interrupted) => {
    const known = new Map<string, State>();
    const { deliveries } = await newest(access, options);
    for (const { id, state } of deliveries) known.set(id, state);
    print(deliveries.slice(0, options.limit).toReversed(), options, io);
    while (!interrupted.aborted && !io.isUnread()) {
      await sleep(EVERY_MS, undefined, { signal: interrupted }).catch(() => {});
      if (interrupted.aborted) break;
      print(changes(known, (await newest(access, options)).deliveries), options, io);
    }
    return 0;
  });
}

function newest(access: GatewayAccess, options: ListCommandOptions): Promise<Page> {
  const query = new URLSearchParams({ ...filtersOf(options), limit: String(PAGE) });
  if (options.open === true) query.set("open", "true");
  return askGateway<Page>(access, `/deliveries?${query.toString()}`);
}

/** Those that are new or have another state, the oldest first. */
function changes(known: Map<string, State>, deliveries: readonly DeliverySummary[]): readonly DeliverySummary[] {
  const changed = deliveries.filter(({ id, state }) => known.get(id) !== state).toReversed();
  for (const { id, state } of changed) {
    known.delete(id);
    known.set(id, state);
  }
  for (const oldest of known.keys()) {
    if (known.size <= MAX_WATCHED) break;
    known.delete(oldest);
  }
  return changed;
}

function print(deliveries: readonly DeliverySummary[], options: ListCommandOptions, io: CliIo): void {
  for (const delivery of deliveries) {
    io.out(options.json === true ? `${JSON.stringify(delivery)}\n` : lineOf(delivery));
  }
}

/** A line cannot wait for those that follow to be aligned with them. */
function lineOf(delivery: DeliverySummary): string {
  const cells = rowOf(delivery).map((cell, at) => cell.padEnd(WIDTHS[at] ?? 0));
  return `${cells.join("  ").trimEnd()}\n`;
}

/** Of id, time, route, state and what happened; the reason has the rest of the line. */
const WIDTHS = [28, 20, 16, 9, 24] as const;
