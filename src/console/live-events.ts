import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { GatewayHost, GatewayPlugin } from "../core/host.ts";
import { WebhookIngress } from "../index.ts";

const NAME = "reveille console";
/** A page that was away for longer than these reads its list again. */
const MAX_KEPT = 1_000;
const MAX_READERS = 50;
/** A reader that takes no more is dropped, and comes back by itself. */
const MAX_UNSENT_BYTES = 1_048_576;
const PING_MS = 15_000;

/** A change of a delivery or of one of its runs. */
interface Change {
  readonly delivery?: string;
  readonly run?: string;
}

/** Tells the open pages which deliveries changed, as server-sent events without a gap. */
export class LiveEvents implements GatewayPlugin {
  /** In the ids of the events: those of an earlier process are unknown. */
  readonly #process = randomUUID().slice(0, 8);
  /** Each with what says whether its sign-in still lasts. */
  readonly #readers = new Map<ServerResponse, () => boolean>();
  readonly #kept: Change[] = [];
  #count = 0;

  apply(host: GatewayHost): void {
    const hooks = WebhookIngress.hooks(host);
    hooks.accepted.tap(NAME, ({ deliveryId }) => {
      this.#add({ delivery: deliveryId });
    });
    hooks.dispatched.tap(NAME, ({ runId }) => {
      this.#add({ run: runId });
    });
    hooks.settled.tap(NAME, ({ runId }) => {
      this.#add({ run: runId });
    });
  }

  /**
   * Sends what happened since the last event that the reader has, and what happens from now on, as long as the
   * reader is admitted.
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
    res.write(this.#missedBy(req.headers["last-event-id"]));
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

  #add(change: Change): void {
    this.#count++;
    this.#kept.push(change);
    if (this.#kept.length > 2 * MAX_KEPT) this.#kept.splice(0, MAX_KEPT);
    if (this.#readers.size === 0) return;
    const text = this.#event(this.#count, change);
    for (const [reader, isAdmitted] of this.#readers) this.#send(reader, isAdmitted, text);
  }

  #send(reader: ServerResponse, isAdmitted: () => boolean, text: string): void {
    if (!isAdmitted() || reader.writableLength > MAX_UNSENT_BYTES) this.#drop(reader);
    else reader.write(text);
  }

  #event(number: number, change: Change): string {
    return `id: ${this.#process}.${number}\nevent: change\ndata: ${JSON.stringify(change)}\n\n`;
  }

  #missedBy(lastId: string | string[] | undefined): string {
    const [process, number = ""] = String(lastId ?? "").split(".");
    const seen = /^\d{1,15}$/u.test(number) ? Number(number) : -1;
    const missed = this.#count - seen;
    const isKnown = process === this.#process && missed >= 0 && missed <= this.#kept.length;
    if (!isKnown) return `id: ${this.#process}.${this.#count}\nevent: reset\ndata: {}\n\n`;
    return `:\n\n${this.#kept
      .slice(this.#kept.length - missed)
      .map((change, at) => this.#event(seen + 1 + at, change))
      .join("")}`;
  }

  #drop(reader: ServerResponse): void {
    this.#readers.delete(reader);
    reader.destroy();
  }
}
