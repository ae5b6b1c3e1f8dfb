import type { DatabaseSync } from "node:sqlite";
import { rowQuery } from "../engine/row-query.ts";
import { HOLDER_ROW, holderQuery, PURGE_GRACE_MS } from "./claims.ts";
import type { ClaimOperations, Holder } from "./claims.ts";
import type { PackedReplayKey } from "../replay-keys.ts";
import { readReplayKeys } from "../replay-keys.ts";

/** Replay keys that stay in memory; over that, this many of the oldest move to the table at once. */
const MAX_REMEMBERED_KEYS = 262_144;
const SPILL = 1_024;

interface RememberedKey {
  readonly seq: number;
  readonly expiresAt: number;
}

/** The replay keys of accepted deliveries; use it inside a transaction. */
export interface ReplayKeyMemory {
  /** The delivery that owns one of the replay keys at `now`; claims none. */
  holder(marks: readonly PackedReplayKey[], now: number): Holder | undefined;
  /** Claims every replay key for a delivery; or none, and returns the delivery that owns one of them. */
  claim(
    marks: readonly PackedReplayKey[],
    delivery: { readonly seq: number; readonly receivedAt: number },
  ): Holder | undefined;
  /** Frees the replay keys that the delivery still has. */
  release(marks: readonly PackedReplayKey[], seq: number): void;
}

/**
 * Prepares the memory of replay keys. They are random, so that each one in a table of its own would change a
 * page of its own, which costs more than all the rest of a delivery. Their rows in `deliveries` are the
 * durable record; the newest are held here, read again when the file is opened, and only what is more than
 * that goes to the table of claims.
 *
 * A transaction that is undone leaves replay keys behind whose delivery is not there: they count as free. What
 * goes to the table is forgotten here only once it was found there, one spill later.
 */
export function replayKeyMemory(
  database: DatabaseSync,
  claims: ClaimOperations,
  maxHeld = MAX_REMEMBERED_KEYS,
): ReplayKeyMemory {
  const held = new Map<string, RememberedKey>();
  const holderOf = rowQuery(database, HOLDER_ROW, holderQuery("?"));
  let spilled: readonly string[] = [];
  let deliveries = 0;
  for (const { seq, replayKeys: marks } of readReplayKeys(database, maxHeld + 4 * SPILL)) {
    deliveries++;
    for (const { key, expiresAt } of marks) held.set(key, { seq, expiresAt });
  }
  // With fewer deliveries than are held no mark can have gone to the table.
  let isTableUsed = deliveries > maxHeld;

  function holderOfOne(key: string, now: number): Holder | undefined {
    const mark = held.get(key);
    if (mark === undefined) return isTableUsed ? claims.holder(bytesOf(key), now) : undefined;
    return mark.expiresAt > now ? holderOf.get(mark.seq) : undefined;
  }

  function holder(marks: readonly PackedReplayKey[], now: number): Holder | undefined {
    for (const { key } of marks) {
      const found = holderOfOne(key, now);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  function forgetSpilled(): void {
    for (const key of spilled) {
      const mark = held.get(key);
      if (mark !== undefined && claims.has(bytesOf(key), mark.seq)) held.delete(key);
    }
  }

  function spill(now: number): void {
    forgetSpilled();
    const keys: string[] = [];
    for (const [key, { expiresAt }] of held) {
      if (expiresAt <= now - PURGE_GRACE_MS) held.delete(key);
      else if (keys.push(key) === SPILL) break;
    }
    // In their order, so that neighbors share a page.
    for (const key of keys.toSorted()) {
      const { seq, expiresAt } = held.get(key)!;
      claims.claim(bytesOf(key), expiresAt, seq, now);
    }
    spilled = keys;
    isTableUsed = true;
  }

  return {
    holder,
    claim(marks, { seq, receivedAt }) {
      const found = holder(marks, receivedAt);
      if (found !== undefined) return found;
      for (const { key, expiresAt } of marks) {
        held.delete(key);
        held.set(key, { seq, expiresAt });
      }
      if (held.size > maxHeld + spilled.length) spill(receivedAt);
      return undefined;
    },
    release(marks, seq) {
      for (const { key } of marks) {
        if (held.get(key)?.seq === seq) held.delete(key);
        if (isTableUsed) claims.release(bytesOf(key), seq);
      }
    },
  };
}

function bytesOf(key: string): Uint8Array {
  return Buffer.from(key, "latin1");
}
