/** The embedded gateway's channels: `console`, which keeps and prints what it is given, `webhook`, and those of the owner. */
import {
  type ChannelInfo,
  type ChannelMessage,
  type ChannelTarget,
  type Clock,
  HostError,
  type HostChannels,
  type LastRoute,
  type Logger,
} from "../../core/host.ts";
import type { OwnChannelConfig } from "./config/own-channel.ts";
import type { GatewayConfig } from "./config/file.ts";
import type { EmbeddedSessions } from "./sessions.ts";
import type { OutboxPage } from "./state/outbox-reads.ts";
import type { PageQuery } from "./state/page-cursor.ts";
import type { StateStore } from "./state/state-store.ts";
import { messageId } from "../../http/sign-message.ts";
import { emailSender } from "./channels/email.ts";
import { httpSender, namesRecipient } from "./channels/http.ts";
import { messageSize } from "./channels/message-size.ts";
import type { PartSender } from "./channels/message-part.ts";
import { Outbox } from "./channels/outbox.ts";
import { splitText } from "./channels/split-text.ts";
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
  /** Of each channel's configuration, which is another object after a reload. */
  readonly #senders = new WeakMap<OwnChannelConfig, PartSender>();
  /** Of the configuration that was asked for last: every accepted call asks. */
  #listed: { readonly config: GatewayConfig; readonly channels: readonly ChannelInfo[] } | undefined;

  constructor(options: {
    config: () => GatewayConfig;
    state: StateStore;
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
    const config = this.#config();
    if (this.#listed?.config !== config) this.#listed = { config, channels: listChannels(config) };
    return this.#listed.channels;
  }

  lastRoute(agentId: string): LastRoute | Promise<LastRoute> {
    return this.#sessions.lastRoute(agentId);
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
      const isFirst = this.#print !== undefined && !(await this.#outbox.wasSent(message));
      await this.#outbox.record(message, "sent");
      if (isFirst) this.#print?.(message);
      return;
    }
    if (await this.#outbox.wasSent(message)) return;
    const own = config.channels.own.get(message.channel);
    if (own !== undefined) {
      await this.#sendParts(own, message, options.signal);
      return;
    }
    await postMessage(message, { config: config.channels.webhook!, clock: this.#clock, signal: options.signal });
    await this.#recordSent(message);
  }

  /** Stores a message to whom the main session of an agent last talked; otherwise on the first channel with a recipient. */
  async queueForOwner(agentId: string, message: Omit<ChannelMessage, "channel" | "to">): Promise<void> {
    const target = (await this.#sessions.lastRoute(agentId)) ?? ownersTarget(this.list());
    if (target === undefined) throw new HostError("No channel has a recipient.", { retryable: false });
    await this.queue({ ...message, ...target });
  }

  /** Stores a message that is sent with the next ones of the outbox; one with a key that was stored before is dropped. */
  async queue(message: ChannelMessage): Promise<void> {
    await this.#outbox.record(message, "pending");
  }

  /** In order; what was sent of a message is not sent again. The last part has the key of the message itself. */
  async #sendParts(own: OwnChannelConfig, message: ChannelMessage, signal: AbortSignal | undefined): Promise<void> {
    const send = this.#senderOf(own);
    const sizeOf = own.kind === "http" ? (text: string) => messageSize(text, own) : undefined;
    const texts = splitText(message.text, own.maxChars, sizeOf);
    const { idempotencyKey: key } = message;
    for (let at = 1, current = texts.next(); current.done !== true; at++) {
      const next = texts.next();
      const isLast = next.done === true;
      const part = { ...message, text: current.value, idempotencyKey: isLast ? key : `${key}:part-${at}` };
      current = next;
      if (!isLast && (await this.#outbox.wasSent(part))) continue;
      await send({ ...part, id: messageId(part.idempotencyKey) }, signal);
      await this.#recordSent(part);
    }
  }

  #senderOf(own: OwnChannelConfig): PartSender {
    const known = this.#senders.get(own);
    if (known !== undefined) return known;
    const made = own.kind === "http" ? httpSender(own) : emailSender(own);
    this.#senders.set(own, made);
    return made;
  }

  async #recordSent(message: ChannelMessage): Promise<void> {
    try {
      await this.#outbox.record(message, "sent");
    } catch (error) {
      this.#logger.warn({ err: error, channel: message.channel }, "a message was sent but could not be recorded");
    }
  }

  /** The messages that the channels got, newest first. Rejects with `InvalidCursorError`. */
  outbox(query: PageQuery): Promise<OutboxPage> {
    return this.#outbox.page(query);
  }

  /** Messages that were left to be sent, oldest first, without those of channels that are busy. */
  unsent(limit: number, busy: readonly string[] = []): Promise<readonly ChannelMessage[]> {
    return this.#outbox.pending(limit, busy);
  }

  /** Rejects where another gateway may be sending what the outbox has. */
  confirmPlace(): Promise<void> {
    return this.#sessions.confirmPlace();
  }

  /** Ends the tries at a message that was left. Rejects with a `HostError`. */
  async settle(message: ChannelMessage, state: "sent" | "failed"): Promise<void> {
    await this.#outbox.record(message, state);
  }
}

/** The channels that a configuration enables. */
export function listChannels({ channels }: GatewayConfig): readonly ChannelInfo[] {
  const { webhook, own } = channels;
  return [
    ...(channels.console.enabled ? [{ id: "console", defaultTo: OWNER }] : []),
    ...(webhook === undefined
      ? []
      : [{ id: "webhook", ...(webhook.defaultTo === undefined ? {} : { defaultTo: webhook.defaultTo }) }]),
    ...Array.from(own, ([id, channel]) => {
      const defaultTo = channel.defaultTo ?? fixedRecipient(id, channel);
      return defaultTo === undefined ? { id } : { id, defaultTo };
    }),
  ];
}

/** The first channel that knows its recipient: the console, where it is enabled. */
function ownersTarget(channels: readonly ChannelInfo[]): ChannelTarget | undefined {
  const found = channels.find(({ defaultTo }) => defaultTo !== undefined);
  return found && { channel: found.id, to: found.defaultTo! };
}

/** Where the URL says where messages go, no call has to name a recipient. */
function fixedRecipient(id: string, channel: OwnChannelConfig): string | undefined {
  return channel.kind === "http" && !namesRecipient(channel) ? id : undefined;
}
