import type { DatabaseSync } from "node:sqlite";
import { rowQuery, type RowOf, type RowShape } from "../engine/row-query.ts";
import { ENDED_COALESCED, FAILED, RUNS_PER_DELIVERY } from "../codes.ts";

/** Bytes of a claim's key that are stored: 128 bits of a hash are as good as all, in half the pages. */
const KEY_BYTES = 16;
/** Claims between two looks for lapsed ones, and how many of these one look removes. */
const PURGE_EVERY = 32;
const PURGE_LIMIT = 128;
/** A request counts as of the time it began; its body and its transform may take minutes after that. */
export const PURGE_GRACE_MS = 1_800_000;

/** A row of {@link holderQuery}. */
export const HOLDER_ROW = {
  seq: "integer",
  tag: "text",
  runs: "integer",
  /** Identifies the request that was accepted under the key; `null` when it had no idempotency key. */
  fingerprint: "blob?",
  ended: "integer?",
  /** The delivery that it is a part of when it was coalesced. */
  related: "integer?",
  related_tag: "text?",
} as const satisfies RowShape;
/** The owner of a key: the delivery that claimed it. */
export type Holder = RowOf<typeof HOLDER_ROW>;

/**
 * The delivery that holds a key, by its seq. A coalesced one whose run has failed holds nothing any more:
 * what came to nothing may be sent again.
 */
export function holderQuery(seq: string): string {
  return `SELECT seq, tag, runs, fingerprint, ended, related, related_tag FROM deliveries WHERE seq = ${seq}
    AND NOT (ended IS ${ENDED_COALESCED} AND EXISTS (
      SELECT 1 FROM runs WHERE id = related * ${RUNS_PER_DELIVERY} AND state = ${FAILED}))`;
}

/** The table of idempotency keys and of replay keys that no longer fit in memory; use it inside a transaction. */
export interface ClaimOperations {
  /** The key as it is stored. */
  storedKey(key: Uint8Array): Uint8Array;
  /** `undefined` when the stored key is now that of `seq`: it was free, or its claim had lapsed at `now`. */
  claim(storedKey: Uint8Array, expiresAt: number, seq: number, now: number): Holder | undefined;
  /** The owner of the stored key at `now`, if any. */
  holder(storedKey: Uint8Array, now: number): Holder | undefined;
  /** True when the stored key belongs to the delivery. */
  has(storedKey: Uint8Array, seq: number): boolean;
  /** Frees the stored key if the delivery still has it. */
  release(storedKey: Uint8Array, seq: number): void;
}

/**
 * Prepares the claims. Keys are random, so each new one changes a page of its own: rows are as small
 * as can be, and what is needed of the holder is read from its delivery. Lapsed claims are removed a
 * few at a time along with new ones, faster than these come: there is no timer, and no commit has
 * more to do than another.
 */
export function claimOperations(database: DatabaseSync): ClaimOperations {
  const insert = database.prepare(`
    INSERT INTO claims (key, expires_at, seq) VALUES (?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET expires_at = excluded.expires_at, seq = excluded.seq
    WHERE claims.expires_at <= ?`);
  const holderOf = rowQuery(database, HOLDER_ROW, holderQuery("(SELECT seq FROM claims WHERE key = ?)"));
  const unlapsed = rowQuery(
    database,
    HOLDER_ROW,
    holderQuery("(SELECT seq FROM claims WHERE key = ? AND expires_at > ?)"),
  );
  const isOf = database.prepare("SELECT 1 FROM claims WHERE key = ? AND seq = ?");
  const take = database.prepare("UPDATE claims SET expires_at = ?, seq = ? WHERE key = ?");
  const remove = database.prepare("DELETE FROM claims WHERE key = ? AND seq = ?");
  const purge = database.prepare(`
    DELETE FROM claims WHERE key IN
      (SELECT key FROM claims WHERE expires_at <= ? ORDER BY expires_at LIMIT ${PURGE_LIMIT})`);
  let sincePurge = 0;

  return {
    storedKey: (key) => key.subarray(0, KEY_BYTES),
    claim(key, expiresAt, seq, now) {
      if (++sincePurge >= PURGE_EVERY) {
        sincePurge = 0;
        purge.run(now - PURGE_GRACE_MS);
      }
      if (insert.run(key, expiresAt, seq, now).changes !== 0) return undefined;
      const holder = holderOf.get(key);
      // Without its delivery a claim has nothing to answer with.
      if (holder === undefined) take.run(expiresAt, seq, key);
      return holder;
    },
    holder: (key, now) => unlapsed.get(key, now),
    has: (key, seq) => isOf.get(key, seq) !== undefined,
    release(key, seq) {
      remove.run(key, seq);
    },
  };
}
