/** Sends what turns left in the outbox. */
import { setTimeout as sleep } from "node:timers/promises";
import { type ChannelMessage, HostError, type Logger } from "../../../core/host.ts";
import type { EmbeddedChannels } from "../channels.ts";

/** Waits before the second and every further try; their number bounds the tries. */
const RETRY_DELAYS_MS: readonly number[] = [500, 1_000, 2_000, 4_000, 8_000];

/**
 * Sends the outbox's unsent messages one after the other, in their order. The rows on disk are the
 * queue: what is not sent when the process ends is sent by the next one, with the same key. A
 * message that cannot be sent is given up after a few tries.
 */
export class OutboxSender {
  readonly #channels: EmbeddedChannels;
  readonly #logger: Logger;
  readonly #retryDelaysMs: readonly number[];
  readonly #stopping = new AbortController();
  #work: Promise<void> | undefined;
  #again = false;

  constructor(options: { channels: EmbeddedChannels; logger: Logger; retryDelaysMs?: readonly number[] }) {
    this.#channels = options.channels;
    this.#logger = options.logger;
    this.#retryDelaysMs = options.retryDelaysMs ?? RETRY_DELAYS_MS;
  }

  /** Says that there may be something to send. */
  wake(): void {
    if (this.#stopping.signal.aborted) {
      return;
    }
    if (this.#work !== undefined) {
      this.#again = true;
      return;
    }
    this.#work = this.#sendAll()
      .catch((error: unknown) => {
        this.#logger.error({ err: error }, "the outbox could not be sent; the rest is sent with the next reply");
      })
      .finally(() => {
        this.#work = undefined;
        if (this.#again) {
          this.#again = false;
          this.wake();
        }
      });
  }

  /** Resolves when nothing is being sent. */
  async idle(): Promise<void> {
    while (this.#work !== undefined) {
      await this.#work;
    }
  }

  /** Ends the tries, also one in progress; what was not sent stays in the outbox. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.idle();
  }

  async #sendAll(): Promise<void> {
    const { signal } = this.#stopping;
    for (;;) {
      const [message] = await this.#channels.unsent(1);
      if (message === undefined || signal.aborted) {
        return;
      }
      await this.#channels.confirmPlace();
      try {
        await this.#send(message, signal);
      } catch (error) {
        if (signal.aborted) {
          return;
        }
        const { channel, to, idempotencyKey } = message;
        this.#logger.error({ err: error, channel, to, idempotencyKey }, "a reply could not be sent and was given up");
        await this.#channels.markFailed(message);
      }
    }
  }

  async #send(message: ChannelMessage, signal: AbortSignal): Promise<void> {
    for (const delayMs of this.#retryDelaysMs) {
      let askedMs = 0;
      try {
        await this.#channels.send(message, { signal });
        return;
      } catch (error) {
        if (!(error instanceof HostError) || !error.retryable) {
          throw error;
        }
        askedMs = error.retryAfterMs ?? 0;
      }
      await sleep(Math.max(delayMs, askedMs), undefined, { signal });
    }
    await this.#channels.send(message, { signal });
  }
}
