/**
 * Bounds the bytes that requests hold in memory together before anyone has vouched for them. A single
 * request is let in however large it is, when no other holds anything: its own limit is that of its route.
 */
export class ByteBudget {
  readonly #limit: () => number;
  #held = 0;

  constructor(options: { readonly limit: () => number }) {
    this.#limit = options.limit;
  }

  /** Bytes that are held now. */
  get held(): number {
    return this.#held;
  }

  /** False, and nothing held, when the limit would be passed. */
  reserve(bytes: number): boolean {
    if (this.#held > 0 && this.#held + bytes > this.#limit()) return false;
    this.#held += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#held -= bytes;
  }
}
