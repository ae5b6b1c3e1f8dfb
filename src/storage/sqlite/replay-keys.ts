import type { DatabaseSync } from "node:sqlite";
import type { ReplayKeyClaim } from "../new-delivery.ts";
import { rowQuery, type RowShape } from "./engine/row-query.ts";

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

/** A replay key as it is stored: as much of its key as identifies it. */
export interface PackedReplayKey {
  /** Each byte as a character: what a Map can look up. */
  readonly key: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/**
 * Packs replay keys for the way to the writer thread, each byte as a character (a text is cloned for much less
 * than a view of bytes); `null` when there are none. Throws a RangeError for more than eight.
 */
export function packReplayKeys(marks: readonly ReplayKeyClaim[] = []): string | null {
  if (marks.length === 0) return null;
  if (marks.length > MAX_REPLAY_KEYS) throw new RangeError(`A delivery has at most ${MAX_REPLAY_KEYS} replay keys.`);
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

/** The replay keys in the bytes of a row. */
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

/** Deliveries that are read in one row. */
const BLOCK = 1_000;

/** Marks of one delivery. */
interface DeliveryReplayKeys {
  readonly seq: number;
  readonly replayKeys: readonly PackedReplayKey[];
}

/**
 * Marks of the newest deliveries that have some, oldest first; to be read when a file is opened.
 *
 * A thousand deliveries come as one row of text: a row each would take ten times as long, and hundreds of
 * thousands of them stand between the start of the process and its first call.
 */
export function* readReplayKeys(database: DatabaseSync, maxDeliveries: number): Generator<DeliveryReplayKeys> {
  const nth = rowQuery(
    database,
    { seq: "integer" },
    "SELECT seq FROM deliveries WHERE marks IS NOT NULL ORDER BY seq DESC LIMIT 1 OFFSET ?",
  );
  const block = rowQuery(
    database,
    BLOCK_ROW,
    `SELECT max(seq) AS last, group_concat(seq) AS seqs, group_concat(length(marks)) AS lengths,
      group_concat(hex(marks), '') AS marks
    FROM (SELECT seq, marks FROM deliveries WHERE marks IS NOT NULL AND seq >= ? ORDER BY seq LIMIT ${BLOCK})
    HAVING count(*) > 0`,
  );
  for (let from = nth.get(maxDeliveries - 1)?.seq ?? 0; ;) {
    const row = block.get(from);
    if (row === undefined) return;
    from = row.last + 1;
    const bytes = Buffer.from(row.marks, "hex");
    const sizes = row.lengths.split(",");
    let at = 0;
    for (const [index, seq] of row.seqs.split(",").entries()) {
      const end = at + Number(sizes[index]);
      yield { seq: Number(seq), replayKeys: unpackReplayKeys(bytes.subarray(at, end)) };
      at = end;
    }
  }
}

/** The three texts have one order. */
const BLOCK_ROW = {
  last: "integer",
  seqs: "text",
  lengths: "text",
  marks: "text",
} as const satisfies RowShape;
