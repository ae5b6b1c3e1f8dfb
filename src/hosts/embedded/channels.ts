/** The embedded gateway's channels: `console`, which keeps and prints what it is given, and `webhook`. */
import {
  type ChannelInfo,
  type ChannelMessage,
  type ChannelTarget,
  type Clock,
  HostError,
  type HostChannels,
  type Logger,
} from "../../core/host.ts";
import type { SqliteDatabase } from "../../storage/sqlite/engine/database.ts";
import type { GatewayConfig } from "./config/file.ts";
import type { EmbeddedSessions } from "./sessions.ts";
import type { PageQuery } from "./state/page-cursor.ts";
import { Outbox } from "./channels/outbox.ts";
import { postMessage } from "./channels/webhook.ts";

/** The console's one reader. */
const OWNER = "owner";
/** The longest message, in UTF-16 units. */
const MAX_MESSAGE_CHARS = 1_048_576;

/** Sends messages on the channels that the configuration of the moment enables. */
export class EmbeddedChannels implements HostChannels {
  readonly #config: () => GatewayConfig;
  readonly #sessions: EmbeddedSessions;
  readonly #outbox: Outbox;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #print: ((message: ChannelMessage) => void) | undefined;

  constructor(options: {
    config: () => GatewayConfig;
    database: SqliteDatabase;
    sessions: EmbeddedSessions;
    clock: Clock;
    logger: Logger;
    /** Prints a message of the console on the terminal that the gateway runs in. Absent: there is none. */
    print?: ((message: ChannelMessage) => void) | undefined;
  }) {
    this.#config = options.config;
    this.#sessions = options.sessions;
    this.#outbox = new Outbox(options);
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#print = options.print;
  }

  /** `console` first, when it is enabled. */
  list(): readonly ChannelInfo[] {
    return listChannels(this.#config());
  }

  lastRoute(agentId: string): Promise<ChannelTarget | undefined> {
    return Promise.resolve(this.#sessions.lastRoute(agentId));
  }

  /**
   * Sends one message, once for each idempotency key that the outbox remembers. The console has
   * taken a message when it is on disk; a webhook that was taken but could not be recorded may be
   * posted once more, with the same `webhook-id`. An abort of `signal` ends a try in progress, which
   * the receiver may have taken all the same.
   */
  async send(message: ChannelMessage, options: { signal?: AbortSignal } = {}): Promise<void> {
    const config = this.#config();
    if (!listChannels(config).some((channel) => channel.id === message.channel)) {
      throw new HostError(`The channel ${JSON.stringify(message.channel)} is not configured.`, { retryable: false });
    }
    if (message.text.length > MAX_MESSAGE_CHARS) {
      throw new HostError(`A message may have ${MAX_MESSAGE_CHARS} characters; this one has more.`, {
        retryable: false,
      });
    }
    if (message.channel === "console") {
      const isFirst = this.#print !== undefined && !this.#outbox.wasSent(message);
      await this.#outbox.record(message, "sent");
      if (isFirst) this.#print?.(message);
      return;
    }
    if (this.#outbox.wasSent(message)) {
      return;
    }
    await postMessage(message, { config: config.channels.webhook!, clock: this.#clock, signal: options.signal });
    try {
      await this.#outbox.record(message, "sent");
    } catch (error) {
      this.#logger.warn({ err: error, channel: message.channel }, "a message was sent but could not be recorded");
    }
  }

  /** The messages that the channels got, newest first. Throws `InvalidCursorError`. */
  outbox(query: PageQuery): ReturnType<Outbox["page"]> {
    return this.#outbox.page(query);
  }

  /** Messages that a turn left to be sent, oldest first; asked once, at start. */
  unsent(limit: number): readonly ChannelMessage[] {
    return this.#outbox.pending(limit);
  }

  /** Ends the tries at a message that a turn left. */
  async markFailed(message: ChannelMessage): Promise<void> {
    await this.#outbox.record(message, "failed");
  }
}

/** The channels that a configuration enables. */
export function listChannels({ channels }: GatewayConfig): readonly ChannelInfo[] {
  const { webhook } = channels;
  return [
    ...(channels.console.enabled ? [{ id: "console", defaultTo: OWNER }] : []),
    ...(webhook === undefined
      ? []
      : [{ id: "webhook", ...(webhook.defaultTo === undefined ? {} : { defaultTo: webhook.defaultTo }) }]),
  ];
}
