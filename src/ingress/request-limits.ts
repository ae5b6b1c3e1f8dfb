import type { Socket } from "node:net";
import { type Refusal, refuse } from "../core/errors.ts";
import type { Answer } from "../http/answer.ts";
import { onClientGone } from "./client-gone.ts";

/**
 * Bounds the total bytes of unverified bodies in memory. A single request is always admitted when no other
 * holds bytes: its route's limit bounds it.
 */
export class ByteBudget {
  readonly #limit: () => number;
  #reserved = 0;

  constructor(options: { readonly limit: () => number }) {
    this.#limit = options.limit;
  }

  /** Bytes that are reserved now. */
  get reserved(): number {
    return this.#reserved;
  }

  /** False, and nothing is reserved, when the limit would be exceeded. */
  reserve(bytes: number): boolean {
    if (this.#reserved > 0 && this.#reserved + bytes > this.#limit()) return false;
    this.#reserved += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#reserved -= bytes;
  }
}

const BUSY: Refusal = Object.freeze(refuse("BUSY"));

/** Counts the requests in flight and refuses those over a limit with BUSY (503). */
export class InFlight {
  readonly #limit: () => number;
  #count = 0;

  /** `limit` is asked at every request, so that the count outlives a change of configuration. */
  constructor(options: { limit: () => number }) {
    this.#limit = options.limit;
  }

  /** Requests that entered and have not left. */
  get count(): number {
    return this.#count;
  }

  /** Admits a request, which then has to leave exactly once; or refuses it. */
  enter(): Refusal | undefined {
    if (this.#count >= this.#limit()) return BUSY;
    this.#count++;
    return undefined;
  }

  /** Ends an admitted request. Throws when none was admitted. */
  leave(): void {
    if (this.#count === 0) throw new Error("A request left that had not entered.");
    this.#count--;
  }
}

/** Of the places for all requests, the part that requests may take whose sender is not verified yet. */
const UNVERIFIED_SHARE = 1 / 4;
/** Of the places for unverified requests, the part that one client may take. */
const CLIENT_SHARE = 1 / 8;

/**
 * Bounds the requests that send a body and are not verified yet, in all and for each client address, so that
 * strangers cannot take the places of verified calls. Refuses with BUSY (503).
 */
export class UnverifiedPlaces {
  readonly #maxInFlight: () => number;
  /** By client; there are no more of them than places. */
  readonly #byClient = new Map<string, number>();
  #count = 0;

  /** `maxInFlight` is the bound of all requests; it is asked each time. */
  constructor(options: { readonly maxInFlight: () => number }) {
    this.#maxInFlight = options.maxInFlight;
  }

  /** Requests that entered and have not left. */
  get count(): number {
    return this.#count;
  }

  /** Admits a request of a client, which then has to leave exactly once; or refuses it. */
  enter(client: string): Refusal | undefined {
    const places = Math.max(1, Math.floor(this.#maxInFlight() * UNVERIFIED_SHARE));
    const held = this.#byClient.get(client) ?? 0;
    if (this.#count >= places || held >= Math.max(1, Math.floor(places * CLIENT_SHARE))) return BUSY;
    this.#byClient.set(client, held + 1);
    this.#count++;
    return undefined;
  }

  leave(client: string): void {
    const held = this.#byClient.get(client);
    if (held === undefined) throw new Error("A request left that had not entered.");
    if (held === 1) this.#byClient.delete(client);
    else this.#byClient.set(client, held - 1);
    this.#count--;
  }
}

/** Answers to guesses from a locked address that are held at a time (each costs its sender a connection), and for how long. */
export const HELD_ANSWERS = { max: 256, ms: 1_000 };

/**
 * Holds the answers to wrong credentials from locked addresses for a second, so that a client that ignores 429
 * guesses slowly on each connection. Over the bound an answer is not held, and its connection closes instead. A
 * request whose answer is held has no place among the requests in flight.
 */
export class HeldAnswers {
  readonly #bounds: typeof HELD_ANSWERS;
  readonly #held = new Set<() => void>();
  #closed = false;

  constructor(bounds: typeof HELD_ANSWERS) {
    this.#bounds = bounds;
  }

  /** Answers that are held now. */
  get count(): number {
    return this.#held.size;
  }

  /** Resolves with the answer after its time, or once its client has gone or the gateway shuts down. */
  async hold(answer: Answer, socket: Socket): Promise<Answer> {
    if (this.#closed || this.#held.size >= this.#bounds.max) {
      return { ...answer, headers: { ...answer.headers, connection: "close" } };
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, this.#bounds.ms);
    const stay = onClientGone(socket, resolve);
    this.#held.add(resolve);
    await promise;
    this.#held.delete(resolve);
    stay();
    clearTimeout(timer);
    return answer;
  }

  /** Releases all, and holds no further ones. */
  close(): void {
    this.#closed = true;
    for (const release of this.#held) release();
  }
}
