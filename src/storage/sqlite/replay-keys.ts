import type { ReplayKeyClaim } from "../new-delivery.ts";

const KEY_BYTES = 16;
const REPLAY_KEY_BYTES = KEY_BYTES + 8;
const MAX_REPLAY_KEYS = 8;

/** As much of a key of 32 bytes as identifies it, each byte as a character. */
export function packKey(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, KEY_BYTES).toString("latin1");
}

/** A key of {@link packKey} as bytes. */
export function unpackKey(packed: string): Buffer {
  return Buffer.from(packed, "latin1");
}

/** A mark as it is stored: as much of its key as identifies it. */
export interface PackedReplayKey {
  /** Each byte as a character: what a Map can look up. */
  readonly key: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/**
 * Packs marks for the way to the writer thread, each byte as a character (a text is cloned for much less
 * than a view of bytes); `null` when there are none. Throws a RangeError for more than eight.
 */
export function packReplayKeys(marks: readonly ReplayKeyClaim[] = []): string | null {
  if (marks.length === 0) return null;
  if (marks.length > MAX_REPLAY_KEYS) throw new RangeError(`A delivery has at most ${MAX_REPLAY_KEYS} marks.`);
  const packed = Buffer.allocUnsafe(marks.length * REPLAY_KEY_BYTES);
  let at = 0;
  for (const { key, expiresAt } of marks) {
    packed.set(key.subarray(0, KEY_BYTES), at);
    packed.writeDoubleBE(expiresAt, at + KEY_BYTES);
    at += REPLAY_KEY_BYTES;
  }
  return packed.toString("latin1");
}

/** Marks of {@link packReplayKeys} as the bytes that their delivery's row holds. */
export function storedReplayKeys(packed: string | null): Buffer | null {
  return packed === null ? null : Buffer.from(packed, "latin1");
}

/** The marks in the bytes of a row. */
export function unpackReplayKeys(stored: Uint8Array | null): readonly PackedReplayKey[] {
  if (stored === null) return NO_REPLAY_KEYS;
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  const marks: PackedReplayKey[] = [];
  for (let at = 0; at + REPLAY_KEY_BYTES <= bytes.length; at += REPLAY_KEY_BYTES) {
    marks.push({ key: bytes.toString("latin1", at, at + KEY_BYTES), expiresAt: bytes.readDoubleBE(at + KEY_BYTES) });
  }
  return marks;
}

const NO_REPLAY_KEYS: readonly PackedReplayKey[] = [];
