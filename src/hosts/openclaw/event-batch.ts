import { joinUntrusted } from "../../core/boundary/wrap-untrusted.ts";
import type { QueuedEvent } from "./state.ts";

/** Ours are one event of the host's queue: as many as fit these limits, and at least one. */
export const MAX_BATCH = 200;
const MAX_BATCH_CHARS = 65_536;

/** What the agent reads where every event was canceled: the host takes no empty text, and removes none on request. */
export const CANCELED = "A webhook event was canceled.";

/** An event that the host was given. */
export type EnqueuedEvent = Pick<QueuedEvent, "id" | "key">;

/** The oldest events, as many as go before the agent together. */
export function firstBatch(events: readonly QueuedEvent[]): readonly QueuedEvent[] {
  let chars = 0;
  const end = events.findIndex(({ text }, at) => (chars += text.length) > MAX_BATCH_CHARS && at > 0);
  return end === -1 ? events : events.slice(0, end);
}

export function textOf(batch: readonly QueuedEvent[]): string {
  return batch.length === 0 ? CANCELED : joinUntrusted(batch.map(({ text }) => text));
}

export function isSame(batch: readonly EnqueuedEvent[], other: readonly EnqueuedEvent[]): boolean {
  return batch.length === other.length && batch.every(({ id }, at) => id === other[at]?.id);
}

/** True when some of the events wait no more, although no turn has taken them. */
export function hasCanceled(events: readonly EnqueuedEvent[], waiting: readonly QueuedEvent[]): boolean {
  const ids = new Set(waiting.map(({ id }) => id));
  return events.some(({ id }) => !ids.has(id));
}

/** Of an event in the host's queue: it gives each an id; of one without, the text is compared. */
export function identityOf({ id, text = "" }: { readonly id?: string; readonly text?: string }): string {
  return id ?? text;
}
