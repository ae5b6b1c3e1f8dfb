/** Sends what turns and notices left in the outbox. */
import { setTimeout as sleep } from "node:timers/promises";
import { type ChannelMessage, HostError, type Logger } from "../../../core/host.ts";
import type { EmbeddedChannels } from "../channels.ts";

/** Waits before the second and every further try; their number bounds the tries. */
const RETRY_DELAYS_MS: readonly number[] = [500, 1_000, 2_000, 4_000, 8_000];
/** After a failure of the database. */
const RECORD_DELAY_MS = 5_000;

interface OutboxSenderOptions {
  readonly channels: EmbeddedChannels;
  readonly logger: Logger;
  readonly retryDelaysMs?: readonly number[];
  readonly recordDelayMs?: number;
}

/**
 * Sends the outbox's unsent messages, those of a channel one after the other in their order: a platform that asks for
 * time holds up its own messages only. The rows on disk are the queue: what is not sent when the process ends is sent by
 * the next one, with the same key. A message that cannot be sent is given up after a few tries.
 */
export class OutboxSender {
  readonly #options: Required<OutboxSenderOptions>;
  readonly #stopping = new AbortController();
  /** By channel. */
  readonly #sending = new Map<string, Promise<void>>();
  /** The last message of each channel that was sent or given up. Its row may not say so yet. */
  readonly #settled = new Map<string, { readonly key: string; readonly state: "sent" | "failed" }>();
  #reading: Promise<void> | undefined;
  #again = false;
  /** Of the database so far: a pass ends with the first, so that it does not begin with the same message again. */
  #failures = 0;
  #later: NodeJS.Timeout | undefined;

  constructor(options: OutboxSenderOptions) {
    this.#options = { retryDelaysMs: RETRY_DELAYS_MS, recordDelayMs: RECORD_DELAY_MS, ...options };
  }

  /** Says that there may be something to send. */
  wake(): void {
    if (this.#stopping.signal.aborted) {
      return;
    }
    if (this.#reading !== undefined) {
      this.#again = true;
      return;
    }
    this.#reading = this.#readAll()
      .catch((error: unknown) => {
        this.#failed(error);
      })
      .finally(() => {
        this.#reading = undefined;
        if (this.#again) {
          this.#again = false;
          this.wake();
        }
      });
  }

  /** Resolves when nothing is being sent. */
  async idle(): Promise<void> {
    while (this.#reading !== undefined || this.#sending.size > 0) {
      await Promise.all([this.#reading, ...this.#sending.values()]);
    }
  }

  /** Ends the tries, also one in progress; what was not sent stays in the outbox. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#later);
    await this.idle();
  }

  /** Begins with the oldest message of each channel that is not busy. */
  async #readAll(): Promise<void> {
    const before = this.#failures;
    for (;;) {
      const [message] = await this.#options.channels.unsent(1, [...this.#sending.keys()]);
      if (message === undefined || this.#stopping.signal.aborted || this.#failures > before) return;
      const { channel } = message;
      const sent = this.#sendOne(message).then(
        () => {
          this.#sending.delete(channel);
          this.wake();
        },
        (error: unknown) => {
          this.#sending.delete(channel);
          this.#failed(error);
        },
      );
      this.#sending.set(channel, sent);
    }
  }

  /** Rejects when the database fails, or where another gateway may be sending what the outbox has. */
  async #sendOne(message: ChannelMessage): Promise<void> {
    const { channels, logger } = this.#options;
    const { channel, to, idempotencyKey: key } = message;
    await channels.confirmPlace();
    const settled = this.#settled.get(channel);
    // It is here again because it could not be recorded: to send it once more would make a copy.
    if (settled?.key === key) return await channels.settle(message, settled.state);
    try {
      await this.#send(message);
      this.#settled.set(channel, { key, state: "sent" });
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      logger.error({ err: error, channel, to, idempotencyKey: key }, "a reply could not be sent and was given up");
      this.#settled.set(channel, { key, state: "failed" });
      await channels.settle(message, "failed");
    }
  }

  async #send(message: ChannelMessage): Promise<void> {
    const { signal } = this.#stopping;
    for (const delayMs of this.#options.retryDelaysMs) {
      let askedMs = 0;
      try {
        await this.#options.channels.send(message, { signal });
        return;
      } catch (error) {
        if (!(error instanceof HostError) || !error.retryable) {
          throw error;
        }
        askedMs = error.retryAfterMs ?? 0;
      }
      await sleep(Math.max(delayMs, askedMs), undefined, { signal });
    }
    await this.#options.channels.send(message, { signal });
  }

  #failed(error: unknown): void {
    const { logger, recordDelayMs } = this.#options;
    this.#failures++;
    logger.error({ err: error }, "sending the outbox failed, retrying shortly");
    clearTimeout(this.#later);
    if (this.#stopping.signal.aborted) return;
    this.#later = setTimeout(() => {
      this.wake();
    }, recordDelayMs).unref();
  }
}
