import { randomUUID } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { RUNS_PER_DELIVERY } from "../codes.ts";
import { rowQuery } from "../engine/row-query.ts";
import type { StoredDigest } from "../readers/digest-builder.ts";
import { BLOCK } from "../readers/delivery-digest.ts";

const OUTDATED_ROW = { block: "integer?" } as const;

/** Digests to be added. */
export interface NewDigests {
  readonly digests: readonly StoredDigest[];
  /** The writer that answered the call before they were read; `undefined`: none did, and there are none. */
  readonly writer: string | undefined;
}

export interface AddedDigests {
  /** The writer that answers. When it is another one than before, nothing was added. */
  readonly writer: string;
  /** The first block that lost its digest since the call before, or did not get it. */
  readonly outdated: number | undefined;
}

/** The operations on the digests of deliveries, which searches read. */
export function digestOperations(database: DatabaseSync) {
  // A reason is all the text that a delivery gets once it is stored. The digest may have been read, and not added yet.
  const blockOfRun = `new.id / ${BLOCK * RUNS_PER_DELIVERY}`;
  database.exec(`
    CREATE TEMP TABLE outdated_blocks (block INTEGER PRIMARY KEY);
    CREATE TEMP TRIGGER outdate_block AFTER UPDATE OF reason ON main.runs WHEN new.reason IS NOT NULL BEGIN
      DELETE FROM digests WHERE block = ${blockOfRun};
      INSERT OR IGNORE INTO outdated_blocks VALUES (${blockOfRun});
    END`);
  // The table above ends with this connection: the next one does not know which blocks got a reason before it.
  const writer = randomUUID();
  const insert = database.prepare(`
    INSERT OR IGNORE INTO digests (block, earliest, latest, bits)
    SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS (SELECT 1 FROM outdated_blocks WHERE block = ?1)`);
  const outdated = rowQuery(database, OUTDATED_ROW, "SELECT min(block) AS block FROM outdated_blocks");
  const forgetOutdated = database.prepare("DELETE FROM outdated_blocks");
  // Those of blocks whose deliveries are all gone.
  const forget = database.prepare(`DELETE FROM digests WHERE block < (SELECT min(seq) / ${BLOCK} FROM deliveries)`);
  return {
    /** Adds digests that were read after the last call of this operation had ended. */
    addDigests({ digests, writer: known }: NewDigests): AddedDigests {
      if (known === writer) for (const digest of digests) insert.run(...digest);
      const first = outdated.get()?.block ?? undefined;
      if (first !== undefined) forgetOutdated.run();
      forget.run();
      return { writer, outdated: first };
    },
  };
}
