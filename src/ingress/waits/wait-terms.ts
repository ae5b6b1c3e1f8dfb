import { randomBytes } from "node:crypto";
import {
  readWaitCondition,
  unknownHook,
  type WaitCondition,
  WaitRefused,
  type WaitWish,
} from "../../config/wait-wish.ts";
import type { WaitsConfig } from "../../config/waits.ts";
import type { Wait } from "../../core/wait.ts";
import type { NoRoom, StoredWait, WaitBounds } from "../../storage/wait-store.ts";
import type { ActiveConfig } from "../active-config.ts";
import { begun } from "./progress.ts";

/** For whom the wait is made, and what is left to the run that ends it. */
export type Waiter = Pick<
  Wait,
  "agentId" | "sessionKey" | "level" | "rights" | "madeBy" | "mapping" | "delivery" | "fallback"
>;

/** Reads a wish. Throws a {@link WaitRefused}. */
export function waitOf({ config }: Pick<ActiveConfig, "config">, wish: WaitWish, waiter: Waiter, now: number): Wait {
  const { maxDays } = config.waits;
  if (wish.withinSeconds > maxDays * 86_400) {
    throw new WaitRefused(`withinSeconds is longer than ${maxDays} days (hooks.waits.maxDays).`);
  }
  return newWait(conditionOf(config.mappings, wish), wish, waiter, now);
}

/** What is waited for, of hooks that there are. Throws a {@link WaitRefused}. */
export function conditionOf(
  mappings: Parameters<typeof unknownHook>[0],
  wish: Parameters<typeof readWaitCondition>[0],
): WaitCondition {
  const condition = readWaitCondition(wish);
  const problem = unknownHook(mappings, condition);
  if (problem !== undefined) throw new WaitRefused(problem);
  return condition;
}

export function boundsOf({ max, maxPerSession }: WaitsConfig): WaitBounds {
  return { total: max, ofSession: maxPerSession };
}

/** Why there is no room for a further one. */
export function noRoomText(why: NoRoom, { total, ofSession }: WaitBounds): string {
  return why === "full"
    ? `${total} waits are open already (hooks.waits.max); cancel some.`
    : `The session has ${ofSession} waits already (hooks.waits.maxPerSession); cancel some.`;
}

/** As the store keeps a new one. */
export function storedWait(wait: Wait): StoredWait {
  return { id: wait.id, session: wait.sessionKey, version: 1, content: JSON.stringify(wait) };
}

/** A wait that begins now; its terms were read before. */
export function newWait(
  condition: WaitCondition,
  { note, withinSeconds, minLevel, instead, times }: WaitWish,
  waiter: Waiter,
  now: number,
): Wait {
  const wait: Wait = {
    ...waiter,
    ...condition,
    id: `wait_${randomBytes(12).toString("hex")}`,
    note: note ?? "",
    until: now + withinSeconds * 1_000,
    minLevel: minLevel ?? "unknown",
    instead: instead ?? false,
    createdAt: now,
    times: times ?? 1,
    seen: [],
    quietSince: null,
  };
  return begun(wait, now);
}
