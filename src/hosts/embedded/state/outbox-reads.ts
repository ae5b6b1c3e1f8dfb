/** Reads of what channels were, are to be, or could not be given. */
import type { ChannelMessage } from "../../../core/host.ts";
import type { OutboxState } from "./operations.ts";
import { cutPage, pageSize, readCursor, type PageQuery } from "./page-cursor.ts";
import { first, namesOf, query, rows, type StateTask } from "./state-task.ts";

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

export interface OutboxPage {
  readonly messages: readonly OutboxMessage[];
  readonly nextCursor: string | null;
}

const OUTBOX_ROW = {
  id: "integer",
  channel: "text",
  key: "text",
  recipient: "text",
  at: "integer",
  state: "text",
  text: "text",
} as const;

const before = query(OUTBOX_ROW, "SELECT * FROM embedded_outbox WHERE id < $1 ORDER BY id DESC LIMIT $2");
const stateOf = query({ state: "text" }, "SELECT state FROM embedded_outbox WHERE channel = $1 AND key = $2");
const pending = query(
  OUTBOX_ROW,
  namesOf(
    "$2",
    (busy) => `SELECT * FROM embedded_outbox WHERE state = 'pending' AND channel NOT IN ${busy} ORDER BY id LIMIT $1`,
  ),
);

export const outboxReads = {
  /** Newest first. */
  *outbox(page: PageQuery): StateTask<OutboxPage> {
    const size = pageSize(page);
    const [last = Number.MAX_SAFE_INTEGER] = readCursor(page, 1) ?? [];
    const found = yield* rows(before, last, size + 1);
    const { page: shown, nextCursor } = cutPage(found, size, (row) => [row.id]);
    return {
      messages: shown.map(({ id, channel, recipient, text, at, state }) => ({
        id,
        channel,
        to: recipient,
        text,
        time: new Date(at).toISOString(),
        state: state as OutboxState,
      })),
      nextCursor,
    };
  },

  /** True when a message with this key was sent on this channel and is still remembered. */
  *wasSent(channel: string, key: string): StateTask<boolean> {
    return (yield* first(stateOf, channel, key))?.state === "sent";
  },

  /** The oldest messages that were stored to be sent and neither were nor were given up, without those of some channels. */
  *unsent(limit: number, busy: readonly string[]): StateTask<readonly ChannelMessage[]> {
    return (yield* rows(pending, limit, JSON.stringify(busy))).map(({ channel, recipient, text, key }) => ({
      channel,
      to: recipient,
      text,
      idempotencyKey: key,
    }));
  },
};
