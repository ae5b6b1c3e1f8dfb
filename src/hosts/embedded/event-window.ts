/** Which of the events that wait a turn is given. */
import type { PendingEvent, TurnLimits } from "./state/session-reads.ts";

/** The most that one turn gets; the rest makes another turn immediately. */
const MOST: TurnLimits = { limit: 100, maxChars: 65_536 };
/** Of the events of a turn that failed, what the next one is given. */
const SHARE = 0.1;

/**
 * A turn may fail because of one event, and would at every other try: the event is too long for the model, or the
 * filter of its endpoint refuses it. So the tries after such a failure are given fewer, and an event that fails alone
 * is passed over for those behind it, after which it is tried again.
 */
export class EventWindow {
  #limit = MOST.limit;
  #after = 0;

  /** The events of the next turn: none only where none waits. */
  async next(read: (limits: TurnLimits) => Promise<readonly PendingEvent[]>): Promise<readonly PendingEvent[]> {
    const events = await read({ ...MOST, limit: this.#limit, after: this.#after });
    if (events.length > 0 || this.#after === 0) return events;
    this.#after = 0;
    return read(MOST);
  }

  /** A turn has taken its events. */
  taken(): void {
    this.#limit = MOST.limit;
  }

  /** A turn with these events has failed for a reason that does not pass. */
  refused(events: readonly PendingEvent[]): void {
    if (events.length === 0) return;
    const isAlone = events.length === 1;
    this.#limit = isAlone ? MOST.limit : Math.max(1, Math.floor(events.length * SHARE));
    if (isAlone) this.#after = events[0]!.id;
  }
}
