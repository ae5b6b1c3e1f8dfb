import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { GatewayHost, GatewayPlugin } from "../core/host.ts";
import { WebhookIngress } from "../index.ts";

const NAME = "reveille console";
const MAX_READERS = 50;
/** A reader that takes no more is dropped, and comes back by itself. */
const MAX_UNSENT_BYTES = 1_048_576;
const PING_MS = 15_000;
/** Changes within this time are one event: with an open page a call costs what it costs without (`npm run bench -- watched`). */
const FLUSH_MS = 250;

/**
 * Notifies open pages that deliveries have changed, as server-sent events. A page then reads its list again, so an event
 * has the number of changes so far as its id, and nothing else: after a lost connection a page gets one when it missed any.
 */
export class LiveEvents implements GatewayPlugin {
  /** In the ids of the events: those of an earlier process are unknown. */
  readonly #process = randomUUID().slice(0, 8);
  /** Each with what says whether its sign-in still lasts. */
  readonly #readers = new Map<ServerResponse, () => boolean>();
  #count = 0;
  #isDue = false;

  apply(host: GatewayHost): void {
    const hooks = WebhookIngress.hooks(host);
    for (const hook of [hooks.accepted, hooks.dispatched, hooks.settled]) hook.tap(NAME, () => this.#changed());
  }

  /**
   * Sends an event when there were changes since the last one that the reader has, and one for changes from now on, as
   * long as the reader is admitted.
   */
  stream(req: IncomingMessage, res: ServerResponse, isAdmitted: () => boolean): void {
    for (const oldest of this.#readers.keys()) {
      if (this.#readers.size < MAX_READERS) break;
      this.#drop(oldest);
    }
    res.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
      "x-content-type-options": "nosniff",
    });
    const seen = req.headers["last-event-id"];
    res.write(seen === this.#id ? ":\n\n" : this.#event());
    this.#readers.set(res, isAdmitted);
    const ping = setInterval(() => this.#send(res, isAdmitted, ":\n\n"), PING_MS).unref();
    res.once("close", () => {
      clearInterval(ping);
      this.#readers.delete(res);
    });
  }

  /** Ends every stream; the pages connect again and are asked to sign in where they must. */
  close(): void {
    for (const reader of this.#readers.keys()) this.#drop(reader);
  }

  #changed(): void {
    this.#count++;
    if (this.#readers.size === 0 || this.#isDue) return;
    this.#isDue = true;
    setTimeout(() => this.#flush(), FLUSH_MS).unref();
  }

  #flush(): void {
    this.#isDue = false;
    const event = this.#event();
    for (const [reader, isAdmitted] of this.#readers) this.#send(reader, isAdmitted, event);
  }

  #send(reader: ServerResponse, isAdmitted: () => boolean, text: string): void {
    if (!isAdmitted() || reader.writableLength > MAX_UNSENT_BYTES) this.#drop(reader);
    else reader.write(text);
  }

  get #id(): string {
    return `${this.#process}.${this.#count}`;
  }

  #event(): string {
    return `id: ${this.#id}\nevent: change\ndata: {}\n\n`;
  }

  #drop(reader: ServerResponse): void {
    this.#readers.delete(reader);
    reader.destroy();
  }
}
