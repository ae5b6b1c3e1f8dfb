import type { DeliveryMark } from "./delivery-store.ts";

const KEY_BYTES = 16;
const MARK_BYTES = KEY_BYTES + 8;
const MAX_MARKS = 8;

/** A mark as it is stored: as much of its key as identifies it. */
export interface PackedMark {
  readonly key: Uint8Array;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Packs marks into one value for the writer thread and the delivery's row; `null` when there are none. */
export function packMarks(marks: readonly DeliveryMark[] = []): Uint8Array | null {
  if (marks.length === 0) return null;
  if (marks.length > MAX_MARKS) throw new RangeError(`A delivery has at most ${MAX_MARKS} marks.`);
  const packed = new Uint8Array(marks.length * MARK_BYTES);
  const view = new DataView(packed.buffer);
  for (const [at, { key, expiresAt }] of marks.entries()) {
    packed.set(key.subarray(0, KEY_BYTES), at * MARK_BYTES);
    view.setFloat64(at * MARK_BYTES + KEY_BYTES, expiresAt);
  }
  return packed;
}

/** The marks of {@link packMarks}. */
export function unpackMarks(packed: Uint8Array | null): readonly PackedMark[] {
  if (packed === null) return NO_MARKS;
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  const marks: PackedMark[] = [];
  for (let at = 0; at + MARK_BYTES <= packed.length; at += MARK_BYTES) {
    marks.push({ key: packed.subarray(at, at + KEY_BYTES), expiresAt: view.getFloat64(at + KEY_BYTES) });
  }
  return marks;
}

const NO_MARKS: readonly PackedMark[] = [];
