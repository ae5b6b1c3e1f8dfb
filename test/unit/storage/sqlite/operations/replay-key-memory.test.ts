import { randomBytes } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { claimOperations } from "../../../../../src/storage/sqlite/operations/claims.ts";
import { replayKeyMemory } from "../../../../../src/storage/sqlite/operations/replay-key-memory.ts";
import { packReplayKeys, storedReplayKeys, unpackReplayKeys } from "../../../../../src/storage/sqlite/replay-keys.ts";
import { RECEIVED_AT } from "../../../../conformance/store/new-delivery.ts";
import { openStoreTables } from "../store-in-thread.ts";

const HOUR = 3_600_000;
const mark = (expiresAt = RECEIVED_AT + 24 * HOUR) => ({ key: randomBytes(16), expiresAt });

/** A memory of 10 marks on real tables, and the deliveries that they belong to. */
async function open() {
  const { file } = await openStoreTables();
  const database = new DatabaseSync(file);
  database.exec("PRAGMA synchronous = OFF");
  const claims = claimOperations(database);
  const insert = database.prepare(
    "INSERT INTO deliveries (seq, tag, received_at, route, name, runs, marks) VALUES (?, 't', ?, 'r', 'n', 1, ?)",
  );
  let memory = replayKeyMemory(database, claims, 10);
  let seq = 0;
  return {
    database,
    /** Accepts a delivery with these marks; gives the seq of the one that has one of them already. */
    accept(marks: readonly ReturnType<typeof mark>[], receivedAt = RECEIVED_AT): number | undefined {
      seq++;
      const stored = storedReplayKeys(packReplayKeys(marks));
      const holder = memory.claim(unpackReplayKeys(stored), { seq, receivedAt });
      if (holder === undefined) insert.run(seq, receivedAt, stored);
      return holder?.seq;
    },
    /** Gives the seq of the delivery that has one of these marks, and takes none of them. */
    lookUp: (marks: readonly ReturnType<typeof mark>[], now = RECEIVED_AT): number | undefined =>
      memory.holder(unpackReplayKeys(storedReplayKeys(packReplayKeys(marks))), now)?.seq,
    /** Claims without a delivery, as a transaction leaves it that was undone. */
    undone(marks: readonly ReturnType<typeof mark>[]): void {
      memory.claim(unpackReplayKeys(storedReplayKeys(packReplayKeys(marks))), {
        seq: 1_000_000 + seq++,
        receivedAt: RECEIVED_AT,
      });
    },
    release: (marks: readonly ReturnType<typeof mark>[], of: number): void =>
      memory.release(unpackReplayKeys(storedReplayKeys(packReplayKeys(marks))), of),
    reopen(): void {
      memory = replayKeyMemory(database, claimOperations(database), 10);
    },
    inTable: (): number => Number(database.prepare("SELECT count(*) AS n FROM claims").get()?.["n"]),
  };
}

describe("the memory of replay keys", () => {
  it("knows every copy, of the newest and of those that went to the table", async () => {
    const store = await open();
    const marks = Array.from({ length: 3_000 }, () => mark());
    for (const each of marks) expect(store.accept([each])).toBeUndefined();
    expect(store.inTable()).toBeGreaterThan(1_000);
    expect(marks.map((each) => store.accept([each]))).toEqual(marks.map((_, at) => at + 1));
  });

  it("says who has a replay key without taking it, of the newest and of those in the table", async () => {
    const store = await open();
    const marks = Array.from({ length: 3_000 }, () => mark());
    for (const each of marks) store.accept([each]);
    const free = mark();
    for (let round = 0; round < 2; round++) {
      expect(marks.map((each) => store.lookUp([free, each]))).toEqual(marks.map((_, at) => at + 1));
      expect([store.lookUp([free]), store.lookUp([])]).toEqual([undefined, undefined]);
      expect([marks[0]!, marks.at(-1)!].map((each) => store.lookUp([each], each.expiresAt))).toEqual([
        undefined,
        undefined,
      ]);
      store.reopen();
    }
    expect(store.accept([free])).toBeUndefined();
  });

  it("writes none to the table as long as memory has room", async () => {
    const store = await open();
    for (let count = 0; count < 10; count++) store.accept([mark()]);
    expect(store.inTable()).toBe(0);
  });

  it("knows them after it was opened again, whatever had gone to the table", async () => {
    for (const count of [5, 11, 1_100, 3_000]) {
      const store = await open();
      const marks = Array.from({ length: count }, () => mark());
      for (const each of marks) store.accept([each]);
      store.reopen();
      expect(marks.every((each, at) => store.accept([each]) === at + 1)).toBe(true);
    }
  });

  it("takes the replay key of a delivery that was rolled back for a free one", async () => {
    const store = await open();
    const once = mark();
    store.undone([once]);
    expect(store.accept([once])).toBeUndefined();
    expect(store.accept([once])).toBe(2);
  });

  it("keeps what went to the table in a transaction that was undone", async () => {
    const store = await open();
    const marks = Array.from({ length: 10 }, () => mark());
    for (const each of marks) store.accept([each]);
    store.database.exec("BEGIN");
    store.accept([mark()]);
    expect(store.inTable()).toBe(11);
    store.database.exec("ROLLBACK");
    expect(store.inTable()).toBe(0);
    for (let count = 0; count < 3_000; count++) store.accept([mark()]);
    expect(marks.map((each) => store.accept([each]))).toEqual(marks.map((_, at) => at + 1));
  });

  it("frees them at their time, and forgets them half an hour later", async () => {
    const store = await open();
    const short = mark(RECEIVED_AT + 1_000);
    store.accept([short]);
    expect(store.accept([short], RECEIVED_AT + 999)).toBe(1);
    expect(store.accept([short], RECEIVED_AT + 1_000)).toBeUndefined();
    const old = Array.from({ length: 9 }, () => mark(RECEIVED_AT + 2_000));
    for (const each of old) store.accept([each]);
    // The tenth that is more than there is room for: what has lapsed does not go to the table.
    store.accept([mark()], RECEIVED_AT + HOUR);
    expect(store.inTable()).toBe(1);
  });

  it("releases those of a delivery, in memory and in the table, and no others", async () => {
    const store = await open();
    const marks = Array.from({ length: 1_100 }, () => mark());
    for (const each of marks) store.accept([each]);
    const [first, last] = [marks[0]!, marks.at(-1)!];
    store.release([first], 2);
    expect(store.accept([first])).toBe(1);
    store.release([first], 1);
    store.release([last], 1_100);
    expect([store.accept([first]), store.accept([last])]).toEqual([undefined, undefined]);
  });
});
