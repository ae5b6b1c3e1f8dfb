/** The record of what channels were, are to be, or could not be given. */
import type { ChannelMessage, Clock } from "../../../core/host.ts";
import { shortKey } from "../../shared/write-state.ts";
import type { OutboxState } from "../state/operations.ts";
import type { OutboxPage } from "../state/outbox-reads.ts";
import type { PageQuery } from "../state/page-cursor.ts";
import { type StateStore, writeTo } from "../state/state-store.ts";

/** Messages in the order in which they came, each once by its channel and idempotency key. */
export class Outbox {
  readonly #state: StateStore;
  readonly #clock: Clock;

  constructor({ state, clock }: { state: StateStore; clock: Clock }) {
    this.#state = state;
    this.#clock = clock;
  }

  /** Stores the message, or moves a pending one to its new state. Rejects with a `HostError`. */
  async record(message: ChannelMessage, state: OutboxState): Promise<void> {
    const { channel, to, text, idempotencyKey } = message;
    const stored = { channel, to, text, idempotencyKey: shortKey(idempotencyKey) };
    const record = { message: stored, state, at: this.#clock.now() };
    await writeTo(this.#state, "The message", "recordMessage", record);
  }

  /** True when a message with this key was sent on this channel and is still remembered. */
  wasSent({ channel, idempotencyKey }: ChannelMessage): Promise<boolean> {
    return this.#state.read("wasSent", channel, shortKey(idempotencyKey));
  }

  /** The oldest messages that were stored to be sent and neither were nor were given up, without those of busy channels. */
  pending(limit: number, busy: readonly string[]): Promise<readonly ChannelMessage[]> {
    return this.#state.read("unsent", limit, busy);
  }

  /** Newest first. Rejects with `InvalidCursorError`. */
  page(query: PageQuery): Promise<OutboxPage> {
    return this.#state.read("outbox", query);
  }
}
