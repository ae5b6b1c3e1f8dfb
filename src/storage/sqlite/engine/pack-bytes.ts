/** Writes made ready for another thread. */
export interface PackedArguments {
  readonly args: readonly unknown[];
  readonly transfer: ArrayBuffer[];
}

/**
 * Copies all bytes in the arguments into one buffer that is handed over instead of cloned.
 *
 * A cloned view takes its whole underlying buffer along, which for a Buffer is a slab shared with
 * strangers. Looks at each argument, at the items of an array and at the values of an object, not
 * deeper. The caller's arrays and objects are left as they are.
 */
export function packBytes(args: readonly unknown[]): PackedArguments {
  let total = 0;
  for (const value of args) total += bytesIn(value);
  if (total === 0) return { args, transfer: [] };
  const packer = new Packer(Buffer.allocUnsafeSlow(total));
  const packed: unknown[] = [];
  // Arrays made by map() count as sparse, and these are cloned item by item like objects.
  for (const value of args) packed.push(packer.replace(value));
  return { args: packed, transfer: [packer.buffer] };
}

function bytesIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  if (value instanceof Uint8Array) return value.byteLength;
  let total = 0;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index++) total += bytesOf(value[index]);
  } else {
    for (const item of Object.values(value)) total += bytesOf(item);
  }
  return total;
}

function bytesOf(value: unknown): number {
  return value instanceof Uint8Array ? value.byteLength : 0;
}

class Packer {
  readonly #target: Buffer<ArrayBuffer>;
  #offset = 0;

  constructor(target: Buffer<ArrayBuffer>) {
    this.#target = target;
  }

  get buffer(): ArrayBuffer {
    return this.#target.buffer;
  }

  replace(value: unknown): unknown {
    if (value instanceof Uint8Array) return this.#copy(value);
    if (bytesIn(value) === 0) return value;
    if (Array.isArray(value)) {
      const items: unknown[] = [];
      for (const item of value) items.push(this.#copyIfBytes(item));
      return items;
    }
    return Object.fromEntries(Object.entries(value as object).map(([key, item]) => [key, this.#copyIfBytes(item)]));
  }

  #copyIfBytes(value: unknown): unknown {
    return value instanceof Uint8Array ? this.#copy(value) : value;
  }

  #copy(bytes: Uint8Array): Uint8Array {
    const offset = this.#offset;
    this.#target.set(bytes, offset);
    this.#offset += bytes.byteLength;
    return new Uint8Array(this.#target.buffer, offset, bytes.byteLength);
  }
}
