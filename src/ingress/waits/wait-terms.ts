import { randomBytes } from "node:crypto";
import { readCondition } from "../../config/condition-syntax.ts";
import type { Wait, WaitMatch } from "../../core/wait.ts";
import type { ActiveConfig } from "../active-config.ts";
import { begun } from "./progress.ts";
import { WaitRefused, type WaitRequest, type WaitWish } from "./wait-request.ts";

type Condition = Pick<Wait, "all" | "any" | "none" | "quietMs">;
type Known = Pick<ActiveConfig, "config">;

/** For whom the wait is made, and what is left to the run that ends it. */
export type Waiter = Pick<Wait, "agentId" | "sessionKey" | "level" | "rights" | "madeBy" | "delivery" | "fallback">;

/** Reads a wish. Throws a {@link WaitRefused}. */
export function waitOf(active: Known, wish: WaitWish, waiter: Waiter, now: number): Wait {
  const { maxDays } = active.config.waits;
  const withinMs = wish.withinSeconds * 1_000;
  if (withinMs > maxDays * 86_400_000) {
    throw new WaitRefused(`withinSeconds is longer than ${maxDays} days (hooks.waits.maxDays).`);
  }
  const condition = conditionOf(active, wish);
  if (condition.quietMs > withinMs) throw new WaitRefused("quietSeconds is longer than withinSeconds.");
  const wait: Wait = {
    ...waiter,
    ...condition,
    id: `wait_${randomBytes(12).toString("hex")}`,
    note: wish.note ?? "",
    until: now + withinMs,
    minLevel: wish.minLevel ?? "unknown",
    instead: wish.instead ?? false,
    createdAt: now,
    times: wish.times ?? 1,
    seen: [],
    quietSince: null,
  };
  return begun(wait, now);
}

/** What is waited for. Throws a {@link WaitRefused}. */
export function conditionOf(
  active: Known,
  wish: Pick<
    WaitRequest,
    "hook" | "sender" | "event" | "when" | "correlation" | "all" | "any" | "none" | "quietSeconds"
  >,
): Condition {
  const { all = [], any = [], none = [], quietSeconds, hook, sender, event, when, correlation } = wish;
  const hasOne = [hook, sender, event, when, correlation].some((part) => part !== undefined);
  if (hasOne && all.length + any.length > 0) {
    throw new WaitRefused("Write the event either by itself or in all and any.");
  }
  const condition = { all: hasOne ? [{ hook, sender, event, when, correlation }] : all, any, none };
  if (Object.values(condition).every((list) => list.length === 0)) {
    throw new WaitRefused("It waits for nothing: name a hook or a sender.");
  }
  if (none.length > 0 !== (quietSeconds !== undefined)) {
    throw new WaitRefused("none and quietSeconds go together: none of these for so long.");
  }
  for (const [list, matches] of Object.entries(condition)) {
    for (const match of matches) checkMatch(active, match, hasOne && list === "all" ? "the event" : list);
  }
  return { ...condition, quietMs: (quietSeconds ?? 0) * 1_000 };
}

function checkMatch({ config: { mappings } }: Known, { hook, sender, when }: WaitMatch, where: string): void {
  if ((hook === undefined) === (sender === undefined)) {
    throw new WaitRefused(`In ${where}: name either a hook or a sender.`);
  }
  const isKnown = mappings.some(({ id, preset }) => (hook === undefined ? preset === sender : id === hook));
  if (!isKnown) {
    const what =
      hook === undefined
        ? `no mapping has the preset ${JSON.stringify(sender)}`
        : `there is no mapping ${JSON.stringify(hook)}`;
    throw new WaitRefused(`In ${where}: ${what}.`);
  }
  const syntax = when === undefined ? undefined : readCondition(when);
  if (syntax?.ok === false) throw new WaitRefused(`In ${where}: when ${syntax.problem}.`);
}
