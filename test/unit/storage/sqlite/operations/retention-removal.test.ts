import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { claimOperations, PURGE_GRACE_MS } from "../../../../../src/storage/sqlite/operations/claims.ts";
import { replayKeyMemory } from "../../../../../src/storage/sqlite/operations/replay-key-memory.ts";
import { retentionOperations } from "../../../../../src/storage/sqlite/operations/retention.ts";
import { DONE, QUEUED } from "../../../../../src/storage/sqlite/codes.ts";
import { openRetentionTables, type RowToRetain } from "./retention-tables.ts";

const done: RowToRetain = { receivedAt: 100, runs: [DONE] };
const young: RowToRetain = { receivedAt: 9000, runs: [DONE] };
const rangeOf = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe("prune by size", () => {
  it("removes the oldest until the rest fits, whatever their age", async () => {
    const tables = await openRetentionTables();
    tables.insert(...rangeOf(100).map(() => ({ ...young, body: randomBytes(49_000) })));
    expect(tables.pruneAll({ maxBytes: 5_000_000 })).toEqual({ removed: 0, emptied: 0, steps: 1 });
    expect(tables.pruneAll({ maxBytes: 4_999_999 })).toMatchObject({ removed: 1 });
    expect(tables.pruneAll({ maxBytes: 2_500_000 })).toMatchObject({ removed: 49 });
    expect(tables.listed()).toEqual(rangeOf(100).slice(50));
    expect([tables.counted(), tables.addedUp()]).toEqual([2_500_000, 2_500_000]);
  });

  it("counts deliveries and nothing else that is in the file", async () => {
    const tables = await openRetentionTables();
    tables.insert(young, young);
    tables.database.exec("CREATE TABLE transcripts (text TEXT); INSERT INTO transcripts VALUES (zeroblob(5000000))");
    expect(tables.pruneAll({ maxBytes: 10_000 })).toEqual({ removed: 0, emptied: 0, steps: 1 });
  });

  it("counts 5,000 in a step, and those without a number as nothing, also when they go", async () => {
    const tables = await openRetentionTables();
    tables.insert(...rangeOf(7000).map(() => ({ ...young, runs: [], ended: 0, bytes: null, body: null })));
    tables.insert(...rangeOf(5000).map(() => ({ ...young, runs: [], ended: 0, bytes: 1000, body: null })));
    tables.pruneAll({});
    expect(tables.prune({ maxBytes: 4_000_000 })).toEqual([0, 0, 1]);
    expect(tables.counted()).toBe(0);
    expect(tables.pruneAll({ maxBytes: 5_000_000 })).toEqual({ removed: 0, emptied: 0, steps: 2 });
    expect([tables.counted(), tables.count("deliveries")]).toEqual([5_000_000, 12_000]);
    tables.pruneAll({ maxBytes: 4_998_500 });
    expect(tables.counted()).toBe(4_998_000);
    expect(tables.count("deliveries")).toBe(4998);
  });

  it("counts after a restart from where it was, and what came while there was no bound", async () => {
    const tables = await openRetentionTables();
    tables.insert(young, young);
    tables.pruneAll({ maxBytes: 1e9 });
    tables.insert({ ...young, body: randomBytes(700) }, young);
    tables.restart();
    tables.pruneAll({ removeBefore: 5000 });
    expect(tables.counted()).toBe(2004);
    expect(tables.remove(1, 1, 3)).toEqual([2, 0, 0]);
    expect([tables.counted(), tables.addedUp("counted")]).toEqual([1002, 1002]);
    tables.pruneAll({ maxBytes: 1e9 });
    expect([tables.counted(), tables.addedUp()]).toEqual([2004, 2004]);
  });

  it("takes away what a delivery loses with its request, once, and nothing when that is undone", async () => {
    const tables = await openRetentionTables();
    const large: RowToRetain = { ...done, body: randomBytes(10_000), markUntil: 1e14 };
    tables.insert(large, { ...large, bytes: 300 }, { ...large, bytes: null }, young);
    tables.pruneAll({ maxBytes: 1e9 });
    expect(tables.counted()).toBe(12_302);
    tables.prune({ emptyBefore: 5000 }, "ROLLBACK");
    expect(tables.counted()).toBe(12_302);
    expect(tables.pruneAll({ emptyBefore: 5000 })).toMatchObject({ emptied: 3 });
    expect(tables.remove(0, 1, 2, 3)).toEqual([0, 3, 0]);
    expect([tables.counted(), tables.addedUp()]).toEqual([2302, 2302]);
    expect(tables.remove(1e15, 1, 2, 3)).toEqual([3, 0, 0]);
    expect([tables.counted(), tables.addedUp()]).toEqual([1002, 1002]);
  });

  it("empties what copies could still arrive of, passes over what is open, and comes to an end", async () => {
    const tables = await openRetentionTables();
    const rows = rangeOf(900).map((seq): RowToRetain => {
      if (seq % 3 === 0) return { ...young, runs: [QUEUED] };
      return seq % 3 === 1 ? { ...young, markUntil: 1e14 } : young;
    });
    tables.insert(...rows);
    expect(tables.pruneAll({ now: 10_000, maxBytes: 0 })).toMatchObject({ removed: 300, emptied: 300 });
    expect(tables.pruneAll({ now: 10_000, maxBytes: 0 })).toMatchObject({ removed: 0, emptied: 0 });
    expect(tables.filled()).toEqual(rangeOf(900).filter((seq) => seq % 3 === 0));
    expect(tables.count("deliveries")).toBe(600);
  });
});

describe("remove", () => {
  it("removes what is closed, empties what copies could still arrive of, and leaves alone what is open or unknown", async () => {
    const tables = await openRetentionTables();
    tables.insert(
      done,
      { ...done, runs: [QUEUED] },
      { ...done, markUntil: 1e14 },
      { ...done, claimUntil: 1e14 },
      done,
      done,
    );
    expect(tables.remove(1000, 1, 2, 3, 4, 77)).toEqual([1, 2, 2]);
    expect([tables.listed(), tables.filled()]).toEqual([
      [2, 3, 4, 5, 6],
      [2, 5, 6],
    ]);
    expect(tables.remove(1000, 1, 3, 6)).toEqual([0, 2, 1]);
    expect(tables.remove(1e15, 3, 4, 5)).toEqual([3, 0, 0]);
    expect(tables.listed()).toEqual([2, 6]);
  });

  it("removes nothing under another tag, and nothing twice", async () => {
    const tables = await openRetentionTables();
    tables.insert(done, done, done);
    expect(tables.removeTagged(0, 1, "fedcba9876543210", 2, "")).toEqual([0, 0, 2]);
    expect(tables.remove(0, 2, 2)).toEqual([1, 0, 1]);
    expect(tables.removeTagged(0)).toEqual([0, 0, 0]);
    expect(tables.listed()).toEqual([1, 3]);
  });

  it("takes the replies of what stays listed, also when its request was gone before", async () => {
    const tables = await openRetentionTables();
    const marked: RowToRetain = { ...done, markUntil: 1e14, runs: [DONE, DONE] };
    tables.insert(marked, marked, done);
    const replies = () =>
      tables.database
        .prepare("SELECT run FROM attempts WHERE reply IS NOT NULL ORDER BY run")
        .all()
        .map(({ run }) => Math.floor(Number(run) / 4096));
    expect(tables.pruneAll({ emptyBefore: 5000 })).toMatchObject({ emptied: 3 });
    expect(replies()).toEqual([1, 1, 2, 2, 3]);
    expect(tables.remove(0, 2)).toEqual([0, 1, 0]);
    expect(replies()).toEqual([1, 1, 3]);
  });

  it("frees replay keys and claims with the delivery", async () => {
    const tables = await openRetentionTables();
    tables.insert({ ...done, claimUntil: 1000, markUntil: 1000 }, done);
    expect(tables.remove(1000 + PURGE_GRACE_MS - 1, 1)).toEqual([0, 1, 0]);
    expect(tables.count("claims")).toBe(1);
    expect(tables.remove(1000 + PURGE_GRACE_MS, 1)).toEqual([1, 0, 0]);
    expect(tables.count("claims")).toBe(0);
  });
});

describe("the statements of retention", () => {
  it("search by key or by index, never through a whole table", async () => {
    const { database } = await openRetentionTables();
    const plans: string[] = [];
    const explaining = new Proxy(database, {
      get(target, name) {
        if (name !== "prepare") return Reflect.get(target, name) as unknown;
        return (text: string) => {
          const isPragma = text.startsWith("PRAGMA");
          const rows = isPragma ? [] : target.prepare(`EXPLAIN QUERY PLAN ${text}`).all();
          plans.push(...rows.map((row) => String(row["detail"])));
          return target.prepare(text);
        };
      },
    });
    retentionOperations(explaining, replayKeyMemory(database, claimOperations(database)));
    expect(plans.length).toBeGreaterThan(15);
    expect(plans.filter((plan) => plan.startsWith("SCAN ") || plan.includes("TEMP B-TREE"))).toEqual([]);
    expect(plans.some((plan) => plan.includes("runs_not_done (state=? AND id>? AND id<?)"))).toBe(true);
  });
});
