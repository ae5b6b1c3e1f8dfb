/** The record of what channels were, are to be, or could not be given. */
import type { ChannelMessage, Clock } from "../../../core/host.ts";
import type { SqliteDatabase } from "../../../storage/sqlite/engine/database.ts";
import { cutPage, pageSize, readCursor, type PageQuery } from "../state/page-cursor.ts";
import { shortKey, writeState } from "../../shared/write-state.ts";
import type { OutboxState } from "../state/operations.ts";

/** One message in the outbox, as a person sees it. */
export interface OutboxMessage {
  readonly id: number;
  readonly channel: string;
  readonly to: string;
  readonly text: string;
  /** The time of its latest change of state; ISO 8601 UTC. */
  readonly time: string;
  /** `pending`: not yet sent; `failed`: given up. */
  readonly state: OutboxState;
}

type OutboxRow = {
  readonly id: number;
  readonly channel: string;
  readonly key: string;
  readonly recipient: string;
  readonly at: number;
  readonly state: OutboxState;
  readonly text: string;
};

/** Messages in the order in which they came, each once by its channel and idempotency key. */
export class Outbox {
  readonly #database: SqliteDatabase;
  readonly #clock: Clock;
  readonly #page;
  readonly #find;
  readonly #pending;

  constructor(options: { database: SqliteDatabase; clock: Clock }) {
    this.#database = options.database;
    this.#clock = options.clock;
    const { reader } = options.database;
    this.#page = reader.prepare("SELECT * FROM embedded_outbox WHERE id < ? ORDER BY id DESC LIMIT ?");
    this.#find = reader.prepare("SELECT state FROM embedded_outbox WHERE channel = ? AND key = ?");
    this.#pending = reader.prepare("SELECT * FROM embedded_outbox WHERE state = 'pending' ORDER BY id LIMIT ?");
  }

  /** Stores the message, or moves a pending one to its new state. Rejects with a `HostError`. */
  async record(message: ChannelMessage, state: OutboxState): Promise<void> {
    const { channel, to, text, idempotencyKey } = message;
    const stored = { channel, to, text, idempotencyKey: shortKey(idempotencyKey) };
    const record = { message: stored, state, at: this.#clock.now() };
    await writeState(this.#database, "embedded.recordMessage", record, "The message");
  }

  /** True when a message with this key was sent on this channel and is still remembered. */
  async wasSent(message: ChannelMessage): Promise<boolean> {
    const row = this.#find.get(message.channel, shortKey(message.idempotencyKey)) as { state: OutboxState } | undefined;
    return row?.state === "sent";
  }

  /** The oldest messages that were stored to be sent and neither were nor were given up. */
  async pending(limit: number): Promise<readonly ChannelMessage[]> {
    return (this.#pending.all(limit) as OutboxRow[]).map(({ channel, recipient, text, key }) => ({
      channel,
      to: recipient,
      text,
      idempotencyKey: key,
    }));
  }

  /** Newest first. Rejects with `InvalidCursorError`. */
  async page(query: PageQuery): Promise<{ messages: readonly OutboxMessage[]; nextCursor: string | null }> {
    const size = pageSize(query);
    const [before = Number.MAX_SAFE_INTEGER] = readCursor(query, 1) ?? [];
    const rows = this.#page.all(before, size + 1) as OutboxRow[];
    const { page, nextCursor } = cutPage(rows, size, (row) => [row.id]);
    return {
      messages: page.map(({ id, channel, recipient, text, at, state }) => ({
        id,
        channel,
        to: recipient,
        text,
        time: new Date(at).toISOString(),
        state,
      })),
      nextCursor,
    };
  }
}
