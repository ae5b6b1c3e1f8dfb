import { type Refusal, refuse } from "../core/errors.ts";

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
