import { refuse } from "../core/errors.ts";
import type { Refusal } from "../core/errors.ts";

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
