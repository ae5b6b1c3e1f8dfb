const FIRST_CAPACITY = 256;

/**
 * Rows of numbers, one typed array for each column: a row is 4 bytes a column, and no object. Row 0 is never given out.
 */
export class Columns<Name extends string> {
  readonly #names: readonly Name[];
  /** By name; replaced when there are more rows than it has room for. */
  of: Readonly<Record<Name, Uint32Array>>;
  #capacity = FIRST_CAPACITY;
  /** Rows that were given out at some time; those above are new. */
  #highest = 0;
  /** Rows that were freed, the latest last. */
  #free = new Uint32Array(FIRST_CAPACITY);
  #freed = 0;

  constructor(names: readonly Name[]) {
    this.#names = names;
    this.of = this.#arrays(FIRST_CAPACITY);
  }

  /** A row of zeros. */
  take(): number {
    if (this.#freed > 0) return this.#free[--this.#freed]!;
    if (++this.#highest >= this.#capacity) this.#resize(this.#capacity * 2);
    return this.#highest;
  }

  /** When the last row is freed, so is the memory of many. */
  free(row: number): void {
    for (const name of this.#names) this.of[name][row] = 0;
    this.#free[this.#freed++] = row;
    if (this.#freed < this.#highest) return;
    this.#freed = 0;
    this.#highest = 0;
    if (this.#capacity > FIRST_CAPACITY) this.#resize(FIRST_CAPACITY);
  }

  #resize(capacity: number): void {
    const { of } = this;
    const free = this.#free.subarray(0, this.#freed);
    this.#capacity = capacity;
    this.of = this.#arrays(capacity);
    this.#free = new Uint32Array(capacity);
    this.#free.set(free);
    for (const name of this.#names) this.of[name].set(of[name].subarray(0, this.#highest));
  }

  #arrays(capacity: number): Record<Name, Uint32Array> {
    const entries = this.#names.map((name) => [name, new Uint32Array(capacity)] as const);
    return Object.fromEntries(entries) as Record<Name, Uint32Array>;
  }
}
