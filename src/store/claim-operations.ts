import type { DatabaseSync } from "node:sqlite";

/** Claims between two looks for lapsed ones, and how many of these one look removes. */
const PURGE_EVERY = 32;
const PURGE_LIMIT = 128;

export interface Claim {
  readonly key: Uint8Array;
  readonly fingerprint: Uint8Array;
  readonly expiresAt: number;
}

export interface Claimant {
  readonly seq: number;
  readonly tag: string;
  readonly runs: number;
}

/** Who has the key, when it is not the one who asked. */
export interface Holder extends Claimant {
  readonly sameRequest: boolean;
}

/** What is remembered of callers' idempotency keys; to be used inside a transaction. */
export interface ClaimOperations {
  /** `undefined` when the key is now the claimant's: it was free, or its claim had lapsed at `now`. */
  claim(claim: Claim, claimant: Claimant, now: number): Holder | undefined;
  /** Frees the key if the delivery still has it. */
  release(key: Uint8Array, seq: number): void;
}

/**
 * Prepares the claims. Lapsed ones are removed a few at a time along with new ones, faster than
 * new ones come, so there is no timer and no commit has more to do than another.
 */
export function claimOperations(database: DatabaseSync): ClaimOperations {
  const insert = database.prepare(`
    INSERT INTO claims (key, expires_at, seq, runs, tag, fingerprint) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET expires_at = excluded.expires_at, seq = excluded.seq, runs = excluded.runs,
      tag = excluded.tag, fingerprint = excluded.fingerprint
    WHERE claims.expires_at <= ?`);
  const select = database.prepare("SELECT seq, tag, runs, fingerprint FROM claims WHERE key = ?");
  const remove = database.prepare("DELETE FROM claims WHERE key = ? AND seq = ?");
  const purge = database.prepare(`
    DELETE FROM claims WHERE key IN
      (SELECT key FROM claims WHERE expires_at <= ? ORDER BY expires_at LIMIT ${PURGE_LIMIT})`);
  let sincePurge = 0;

  return {
    claim({ key, fingerprint, expiresAt }, { seq, tag, runs }, now) {
      if (++sincePurge >= PURGE_EVERY) {
        sincePurge = 0;
        purge.run(now);
      }
      if (insert.run(key, expiresAt, seq, runs, tag, fingerprint, now).changes !== 0) return undefined;
      const holder = select.get(key) as unknown as Claimant & { fingerprint: Uint8Array };
      const sameRequest = Buffer.compare(holder.fingerprint, fingerprint) === 0;
      return { seq: holder.seq, tag: holder.tag, runs: holder.runs, sameRequest };
    },
    release(key, seq) {
      remove.run(key, seq);
    },
  };
}
