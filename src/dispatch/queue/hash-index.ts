const FIRST_SIZE = 1_024;
/** Grows when more than half of it is used. */
const SPARE = 2;

/**
 * Finds numbers by a hash of what they stand for: two typed arrays, 16 bytes for each number. Whoever asks compares
 * what two numbers of the same hash stand for.
 */
export class HashIndex {
  #hashes = new Uint32Array(FIRST_SIZE);
  /** 0: free. */
  #values = new Uint32Array(FIRST_SIZE);
  #used = 0;

  /** The number with that hash that `is` what is looked for; 0 when there is none. */
  find(hash: number, is: (value: number) => boolean): number {
    const mask = this.#values.length - 1;
    for (let at = hash & mask; this.#values[at] !== 0; at = (at + 1) & mask) {
      if (this.#hashes[at] === hash && is(this.#values[at]!)) return this.#values[at]!;
    }
    return 0;
  }

  /** `value` is not 0, and not in the index. */
  add(hash: number, value: number): void {
    if (++this.#used * SPARE > this.#values.length) this.#resize(this.#values.length * 2);
    this.#put(hash, value);
  }

  /** Does nothing when it is not in the index. */
  delete(hash: number, value: number): void {
    const mask = this.#values.length - 1;
    let gap = hash & mask;
    while (this.#values[gap] !== value) {
      if (this.#values[gap] === 0) return;
      gap = (gap + 1) & mask;
    }
    this.#used--;
    // Those behind it that a search would not find any more move up.
    for (let at = (gap + 1) & mask; this.#values[at] !== 0; at = (at + 1) & mask) {
      const home = this.#hashes[at]! & mask;
      if (((at - home) & mask) < ((at - gap) & mask)) continue;
      this.#values[gap] = this.#values[at]!;
      this.#hashes[gap] = this.#hashes[at]!;
      gap = at;
    }
    this.#values[gap] = 0;
    if (this.#used === 0 && this.#values.length > FIRST_SIZE) this.#resize(FIRST_SIZE);
  }

  #put(hash: number, value: number): void {
    const mask = this.#values.length - 1;
    let at = hash & mask;
    while (this.#values[at] !== 0) at = (at + 1) & mask;
    this.#values[at] = value;
    this.#hashes[at] = hash;
  }

  #resize(size: number): void {
    const [hashes, values] = [this.#hashes, this.#values];
    this.#hashes = new Uint32Array(size);
    this.#values = new Uint32Array(size);
    for (let at = 0; at < values.length; at++) if (values[at] !== 0) this.#put(hashes[at]!, values[at]!);
  }
}

/** 32 bits of a text; another seed gives others. */
export function hashText(text: string, seed: number): number {
  let hash = seed;
  for (let at = 0; at < text.length; at++) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x5b_d1_e9_95);
    hash = (hash << 13) | (hash >>> 19);
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c_1b_3c_6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}
