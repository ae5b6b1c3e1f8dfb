import type { DatabaseSync } from "node:sqlite";
import type { StoredDigest } from "../readers/digest-builder.ts";
import { BLOCK } from "../readers/delivery-digest.ts";

/** The operations on the digests of deliveries, which searches read. */
export function digestOperations(database: DatabaseSync) {
  const insert = database.prepare("INSERT OR IGNORE INTO digests (block, earliest, latest, bits) VALUES (?, ?, ?, ?)");
  // Those of blocks whose deliveries are all gone.
  const forget = database.prepare(`DELETE FROM digests WHERE block < (SELECT min(seq) / ${BLOCK} FROM deliveries)`);
  return {
    addDigests(digests: readonly StoredDigest[]): void {
      for (const digest of digests) insert.run(...digest);
      forget.run();
    },
  };
}
