import type { DeliveryDetail, DeliverySummary } from "../../core/delivery.ts";
import { AnswerError } from "../errors.ts";
import { askGateway, askGatewayForBytes } from "../gateway-client.ts";
import type { GatewayAccess } from "../gateway.ts";
import type { ProgressBar } from "../progress-bar.ts";
import type { MissedCall, Redelivery } from "./redelivery.ts";

interface Page {
  readonly deliveries: readonly DeliverySummary[];
  readonly nextCursor: string | null;
}

export interface Looking {
  readonly route: string;
  readonly calls: readonly MissedCall[];
  readonly redelivery: Redelivery;
  readonly bar: ProgressBar;
}

const PAGE_SIZE = 200;
const AT_A_TIME = 8;
/** The clocks of the sender and the gateway may differ. */
const TOLERANCE_MS = 600_000;

/**
 * Which of the calls are here: the gateway is asked for every delivery of the route since the oldest of them, since it
 * remembers a sender's ids for a day only.
 */
export async function idsHere(access: GatewayAccess, looking: Looking): Promise<ReadonlySet<string>> {
  const { route, calls, redelivery, bar } = looking;
  const here = new Set<string>();
  const missed = new Set(calls.map(({ id }) => id));
  const stored = calls.length === 0 ? [] : await storedIds(access, route, oldestOf(calls) - TOLERANCE_MS);
  for (let at = 0; at < stored.length && here.size < missed.size; at += AT_A_TIME) {
    bar.show({ done: at, total: stored.length, what: "deliveries that are here" });
    const ids = stored.slice(at, at + AT_A_TIME).map((id) => senderIdOf(access, id, redelivery));
    for (const id of await Promise.all(ids)) if (id !== undefined && missed.has(id)) here.add(id);
  }
  return here;
}

function oldestOf(calls: readonly MissedCall[]): number {
  const times = calls.map(({ at }) => Date.parse(at)).filter((time) => !Number.isNaN(time));
  return times.length === 0 ? 0 : Math.min(...times);
}

/** Of the calls themselves: a copy has no request of its own. */
async function storedIds(access: GatewayAccess, route: string, sinceMs: number): Promise<readonly string[]> {
  const ids = new Set<string>();
  let cursor: string | null = null;
  do {
    const query = new URLSearchParams({
      route,
      since: new Date(Math.max(0, sinceMs)).toISOString(),
      limit: String(PAGE_SIZE),
      ...(cursor === null ? {} : { cursor }),
    });
    const page: Page = await askGateway<Page>(access, `/deliveries?${query.toString()}`);
    for (const { id, state, relatedTo } of page.deliveries) {
      ids.add(state === "duplicate" ? (relatedTo?.deliveryId ?? id) : id);
    }
    cursor = page.nextCursor;
  } while (cursor !== null);
  return [...ids];
}

async function senderIdOf(access: GatewayAccess, id: string, redelivery: Redelivery): Promise<string | undefined> {
  try {
    const path = `/deliveries/${encodeURIComponent(id)}`;
    const { headers } = await askGateway<DeliveryDetail>(access, path);
    return await redelivery.idOf({
      headers,
      payload: async () => {
        const bytes = await askGatewayForBytes(access, `${path}/body`);
        return parse(Buffer.from(bytes).toString("utf8"));
      },
    });
  } catch (error) {
    // It has been removed in the meantime.
    if (error instanceof AnswerError) return undefined;
    throw error;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
