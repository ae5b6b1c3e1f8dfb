import type { DatabaseSync } from "node:sqlite";
import { asHolder, PURGE_GRACE_MS } from "./claim-operations.ts";
import type { ClaimOperations, Holder } from "./claim-operations.ts";
import { unpackMarks } from "./packed-marks.ts";
import type { PackedMark } from "./packed-marks.ts";

/** Marks that are held in memory, and how many of the oldest go to the table at once when there are more. */
const MAX_HELD = 65_536;
const SPILL = 1_024;

interface HeldMark {
  readonly seq: number;
  readonly expiresAt: number;
}

/** What is remembered of marks; to be used inside a transaction. */
export interface MarkMemory {
  /** Claims every mark for a delivery; or none, and says who has one of them. */
  claim(
    marks: readonly PackedMark[],
    delivery: { readonly seq: number; readonly receivedAt: number },
  ): Holder | undefined;
  /** Frees the marks that the delivery still has. */
  release(marks: readonly PackedMark[], seq: number): void;
}

/**
 * Prepares the memory of marks. They are random, so that each one in a table of its own would change a
 * page of its own, which costs more than all the rest of a delivery. Their rows in `deliveries` are the
 * durable record; the newest are held here, read again when the file is opened, and only what is more than
 * that goes to the table of claims.
 *
 * A transaction that is undone leaves marks behind whose delivery is not there: they count as free. What
 * goes to the table is forgotten here only once it was found there, one spill later.
 */
export function markMemory(database: DatabaseSync, claims: ClaimOperations, maxHeld = MAX_HELD): MarkMemory {
  const held = new Map<string, HeldMark>();
  const holderOf = database.prepare("SELECT seq, tag, runs, fingerprint FROM deliveries WHERE seq = ?");
  const newest = database.prepare(
    "SELECT seq, marks FROM deliveries WHERE marks IS NOT NULL ORDER BY seq DESC LIMIT ?",
  );
  let spilled: readonly string[] = [];
  const marked = newest.all(maxHeld + 4 * SPILL);
  // With fewer deliveries than are held no mark can have gone to the table.
  let isTableUsed = marked.length > maxHeld;
  for (const { seq, marks } of marked.toReversed()) {
    if (!(marks instanceof Uint8Array)) continue;
    for (const { key, expiresAt } of unpackMarks(marks)) held.set(textOf(key), { seq: Number(seq), expiresAt });
  }

  function holder(key: Uint8Array, now: number): Holder | undefined {
    const mark = held.get(textOf(key));
    if (mark === undefined) return isTableUsed ? claims.holder(key, now) : undefined;
    return mark.expiresAt > now ? asHolder(holderOf.get(mark.seq)) : undefined;
  }

  function forgetSpilled(): void {
    for (const text of spilled) {
      const mark = held.get(text);
      if (mark !== undefined && claims.has(bytesOf(text), mark.seq)) held.delete(text);
    }
  }

  function spill(now: number): void {
    forgetSpilled();
    const texts: string[] = [];
    for (const [text, { expiresAt }] of held) {
      if (expiresAt <= now - PURGE_GRACE_MS) held.delete(text);
      else if (texts.push(text) === SPILL) break;
    }
    // In their order, so that neighbors share a page.
    for (const text of texts.toSorted()) {
      const { seq, expiresAt } = held.get(text)!;
      claims.claim(bytesOf(text), expiresAt, seq, now);
    }
    spilled = texts;
    isTableUsed = true;
  }

  return {
    claim(marks, { seq, receivedAt }) {
      for (const { key } of marks) {
        const found = holder(key, receivedAt);
        if (found !== undefined) return found;
      }
      for (const { key, expiresAt } of marks) {
        const text = textOf(key);
        held.delete(text);
        held.set(text, { seq, expiresAt });
      }
      if (held.size > maxHeld + spilled.length) spill(receivedAt);
      return undefined;
    },
    release(marks, seq) {
      for (const { key } of marks) {
        const text = textOf(key);
        if (held.get(text)?.seq === seq) held.delete(text);
        if (isTableUsed) claims.release(key, seq);
      }
    },
  };
}

/** Each byte as a character: what a Map can look up. */
function textOf(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString("latin1");
}

function bytesOf(text: string): Uint8Array {
  return Buffer.from(text, "latin1");
}
