import { HashIndex, hashText } from "./hash-index.ts";
import type { Place } from "./lanes.ts";

/** Bytes of a place: one for the length, the others for the id. */
const CELL = 48;
const FIRST_CELLS = 256;
/** What one byte a character holds. */
const NARROW = /^[\0-\u00ff]+$/;

/** The ids of runs by the places where they wait, in one buffer: 64 bytes for a run, and no object. */
export class RunIds {
  #bytes = Buffer.alloc(CELL * FIRST_CELLS);
  readonly #places = new HashIndex();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Whether an id has room; every store's own ids do. */
  static fits(runId: string): boolean {
    return runId.length < CELL && NARROW.test(runId);
  }

  /** `runId` {@link RunIds.fits}, and nothing stands at the place. */
  set(place: Place, runId: string): void {
    const at = place * CELL;
    if (at + CELL > this.#bytes.length) this.#resize(2 ** Math.ceil(Math.log2(at + CELL)));
    this.#bytes[at] = runId.length;
    this.#bytes.write(runId, at + 1, "latin1");
    this.#places.add(hashText(runId, 0), place);
    this.#size++;
  }

  /** The id that stands at a place; `undefined` when none does. */
  at(place: Place): string | undefined {
    const at = place * CELL;
    const length = this.#bytes[at] ?? 0;
    return length === 0 ? undefined : this.#bytes.toString("latin1", at + 1, at + 1 + length);
  }

  find(runId: string): Place | undefined {
    return this.#places.find(hashText(runId, 0), (place) => this.at(place) === runId) || undefined;
  }

  /** Does nothing when no id stands there. */
  delete(place: Place): void {
    const runId = this.at(place);
    if (runId === undefined) return;
    this.#bytes[place * CELL] = 0;
    this.#places.delete(hashText(runId, 0), place);
    if (--this.#size === 0 && this.#bytes.length > CELL * FIRST_CELLS) this.#bytes = Buffer.alloc(CELL * FIRST_CELLS);
  }

  #resize(bytes: number): void {
    const grown = Buffer.alloc(bytes);
    this.#bytes.copy(grown);
    this.#bytes = grown;
  }
}
