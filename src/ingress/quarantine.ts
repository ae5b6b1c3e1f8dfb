/** Events of too low a level, and replies that may not leave: held, released by a person, and ended when they were not released in time. */
import { isBelow } from "../config/mapping/actors.ts";
import type { MappingConfig } from "../config/mapping/schema.ts";
import type { Clock, Logger } from "../core/host.ts";
import type { Withdrawal } from "../dispatch/context.ts";
import { HELD_REPLY, QUARANTINE, type RunDetail } from "../core/run.ts";
import { belowText } from "../mapping/filter.ts";
import type { DeliveryStore } from "../storage/delivery-store.ts";
import type { Resolved } from "./stages/resolve.ts";

const EXPIRED = "quarantine: it was not released in time";
const EXPIRED_REPLY = "held reply: it was not released in time";
/** By the start of the reason for which a run is held. */
const ENDS = { [QUARANTINE]: EXPIRED, [HELD_REPLY]: EXPIRED_REPLY };
const CHECK_MS = 60_000;
const DEFAULT_AGE_MS = 7 * 86_400_000;
const PAGE = 200;

/** Why the runs of a request wait for a person; `undefined`: they begin at once. */
export function quarantineReason({ route, context }: Pick<Resolved, "route" | "context">): string | undefined {
  if (typeof route === "string") return undefined;
  const { leastLevel } = route.config;
  if (leastLevel?.below !== "quarantine" || !isBelow(context.actor, leastLevel)) return undefined;
  return `${QUARANTINE}${belowText(context.actor, leastLevel)}`;
}

export interface QuarantineOptions {
  readonly store: Pick<DeliveryStore, "list" | "get" | "settleAll">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly mappings: () => readonly Pick<MappingConfig, "id" | "maxAgeMs">[];
  /** Reports runs that have ended. */
  readonly withdraw: (withdrawal: Withdrawal) => void;
}

/** Ends what has been in quarantine for too long. */
export class QuarantineExpiry {
  readonly #options: QuarantineOptions;
  #timer: NodeJS.Timeout | undefined;
  #work: Promise<void> | undefined;
  #stopped = false;

  constructor(options: QuarantineOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#work ??= this.#check();
    }, CHECK_MS).unref();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#work;
  }

  async #check(): Promise<void> {
    try {
      await this.expire();
    } catch (error) {
      this.#options.logger.warn({ err: error }, "the quarantine could not be looked through");
    } finally {
      this.#work = undefined;
    }
  }

  /** Ends what is over its time now. Rejects with a `StoreError`. */
  async expire(): Promise<void> {
    const { store, clock, mappings, withdraw } = this.#options;
    const ages = new Map(mappings().map(({ id, maxAgeMs }) => [id, maxAgeMs]));
    const now = clock.now();
    let cursor: string | undefined;
    do {
      const page = await store.list({ state: "held", limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
      for (const { id, receivedAt, mappingId } of page.deliveries) {
        const ageMs = (mappingId === null ? undefined : ages.get(mappingId)) ?? DEFAULT_AGE_MS;
        // Nothing was held before its call came, so most are passed over without reading their runs.
        if (this.#stopped || Date.parse(receivedAt) + ageMs > now) continue;
        const runs = (await store.get(id))?.runs ?? [];
        const held = runs.filter(
          (run) => run.state === "held" && Date.parse(heldSince(run) ?? receivedAt) + ageMs <= now,
        );
        for (const [prefix, reason] of Object.entries(ENDS)) {
          const over = held.filter((run) => run.reason?.startsWith(prefix)).map((run) => run.id);
          if (over.length === 0) continue;
          await store.settleAll(over, { state: "skipped", reason, at: now });
          // One that was released in the meantime stays as it was.
          const ended = ((await store.get(id))?.runs ?? []).filter((run) => run.state === "skipped");
          const runIds = over.filter((runId) => ended.some((run) => run.id === runId));
          if (runIds.length > 0) withdraw({ runIds, state: "skipped", reason });
        }
      }
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined && !this.#stopped);
  }
}

/**
 * When a run began to wait, if that was not when its call came: a reply is held when the agent has answered, and its
 * run may have taken as long as a person has to release it.
 */
function heldSince({ reason, attempts }: RunDetail): string | undefined {
  return reason?.startsWith(HELD_REPLY) ? (attempts.at(-1)?.endedAt ?? undefined) : undefined;
}
