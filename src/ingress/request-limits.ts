import { type Refusal, refuse } from "../core/errors.ts";

/**
 * Bounds the bytes that requests hold in memory together before anyone has vouched for them. A single
 * request is let in however large it is, when no other holds anything: its own limit is that of its route.
 */
export class ByteBudget {
  readonly #limit: () => number;
  #reserved = 0;

  constructor(options: { readonly limit: () => number }) {
    this.#limit = options.limit;
  }

  /** Bytes that are held now. */
  get reserved(): number {
    return this.#reserved;
  }

  /** False, and nothing held, when the limit would be passed. */
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

/** Counts the requests under way and refuses those over a limit with BUSY (503). */
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

  /** Gives back the place of an admitted request. Throws when there is none to give back. */
  leave(): void {
    if (this.#count === 0) throw new Error("A request left that had not entered.");
    this.#count--;
  }
}
