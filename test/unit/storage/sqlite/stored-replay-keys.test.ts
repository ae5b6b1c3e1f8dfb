import fc from "fast-check";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { packReplayKeys, storedReplayKeys } from "../../../../src/storage/sqlite/replay-keys.ts";
import { readReplayKeys } from "../../../../src/storage/sqlite/replay-keys.ts";
import { openStoreTables } from "./store-in-thread.ts";

/** Deliveries with so many marks each, by their seqs; the n-th mark of a delivery says so. */
async function open() {
  const { file } = await openStoreTables();
  const database = new DatabaseSync(file);
  onTestFinished(() => database.close());
  const insert = database.prepare(
    "INSERT INTO deliveries (seq, tag, received_at, route, name, runs, marks) VALUES (?, 't', 0, 'r', 'n', 1, ?)",
  );
  return {
    database,
    put: (counts: readonly number[]): void => {
      database.exec("BEGIN; DELETE FROM deliveries");
      for (const [index, count] of counts.entries()) {
        const seq = index + 1;
        const marks = Array.from({ length: count }, (_, at) => ({ key: keyOf(seq, at), expiresAt: seq * 10 + at }));
        insert.run(seq, storedReplayKeys(packReplayKeys(marks)));
      }
      database.exec("COMMIT");
    },
  };
}

function keyOf(seq: number, at: number): Buffer {
  const key = Buffer.alloc(32, 0xff);
  key.writeUInt32BE(seq, 0);
  key[4] = at;
  return key;
}

/** What {@link readReplayKeys} is to give of them. */
function expected(counts: readonly number[], maxDeliveries: number): unknown[] {
  const all = counts.map((count, index) => ({
    seq: index + 1,
    replayKeys: Array.from({ length: count }, (_, at) => ({
      key: keyOf(index + 1, at).toString("latin1", 0, 16),
      expiresAt: (index + 1) * 10 + at,
    })),
  }));
  return all.filter(({ replayKeys }) => replayKeys.length > 0).slice(-maxDeliveries);
}

describe("stored replay keys", () => {
  it("are read of the newest deliveries that have some, oldest first, each with its own", async () => {
    const { database, put } = await open();
    const counts = fc.array(fc.integer({ min: 0, max: 8 }), { maxLength: 40 });
    fc.assert(
      fc.property(counts, fc.integer({ min: 1, max: 50 }), (counts, maxDeliveries) => {
        put(counts);
        expect([...readReplayKeys(database, maxDeliveries)]).toEqual(expected(counts, maxDeliveries));
      }),
      { numRuns: 50 },
    );
  });

  it("are read block after block", async () => {
    const { database, put } = await open();
    const counts = Array.from({ length: 2500 }, (_, index) => index % 3);
    put(counts);
    expect([...readReplayKeys(database, 10_000)]).toEqual(expected(counts, 10_000));
  });
});
