/** What has come of a wait, and whether that is all: pure, so that stored deliveries can be held against it as well. */
import type { SeenEvent, Wait, WaitList } from "../../core/wait.ts";

/** The place of a match in its wait. */
export interface WaitPlace {
  readonly list: WaitList;
  readonly index: number;
}

/** `fires`: the wait is fulfilled; `next` is what it waits for from then on, `null`: nothing. */
export interface WaitStep {
  readonly next: Wait | null;
  readonly fires: boolean;
  /** What it had seen when it fired. */
  readonly seen: readonly SeenEvent[];
}

type Event = Omit<SeenEvent, "list" | "index">;

/** The places of an event that change something; an event that has come already changes nothing. */
export function openPlaces(wait: Wait, places: readonly WaitPlace[]): readonly WaitPlace[] {
  return places.filter(({ list, index }) =>
    list === "none" ? wait.quietSince !== null : !wait.seen.some((seen) => seen.list === list && seen.index === index),
  );
}

/** The wait after an event that counts at these places, which are open. */
export function afterEvent(wait: Wait, places: readonly WaitPlace[], event: Event): WaitStep {
  const seen = [...wait.seen];
  for (const { list, index } of places) if (list !== "none") seen.push({ ...event, list, index });
  const complete = isComplete(wait, seen);
  const isDisturbed = places.some(({ list }) => list === "none");
  if (complete && wait.none.length === 0) return fired(wait, seen, event.at);
  const since = isDisturbed ? event.at : (wait.quietSince ?? event.at);
  return { next: { ...wait, seen, quietSince: complete ? since : null }, fires: false, seen };
}

/** The time at which the wait is fulfilled by itself, when nothing comes; `undefined`: more must come. */
export function quietUntil({ quietSince, quietMs, until }: Wait): number | undefined {
  const at = quietSince === null ? undefined : quietSince + quietMs;
  return at !== undefined && at <= until ? at : undefined;
}

/** The wait after its quiet time. */
export function afterQuiet(wait: Wait, at: number): WaitStep {
  return fired(wait, wait.seen, at);
}

/** As it begins: nothing has come. */
export function begun(wait: Wait, at: number): Wait {
  return { ...wait, seen: [], quietSince: isComplete(wait, []) ? at : null };
}

function fired(wait: Wait, seen: readonly SeenEvent[], at: number): WaitStep {
  const times = wait.times - 1;
  return { next: times === 0 ? null : begun({ ...wait, times }, at), fires: true, seen };
}

function isComplete({ all, any }: Wait, seen: readonly SeenEvent[]): boolean {
  const isSeen = (list: WaitList, index: number): boolean =>
    seen.some((event) => event.list === list && event.index === index);
  return (
    all.every((_, index) => isSeen("all", index)) && (any.length === 0 || any.some((_, index) => isSeen("any", index)))
  );
}
