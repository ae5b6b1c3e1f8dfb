import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { claimOperations, PURGE_GRACE_MS } from "../../../../src/store/sqlite/claim-operations.ts";
import { markMemory } from "../../../../src/store/sqlite/mark-memory.ts";
import { retentionOperations } from "../../../../src/store/sqlite/retention-operations.ts";
import { DONE, QUEUED } from "../../../../src/store/sqlite/sqlite-codes.ts";
import { openRetentionTables, type RowToRetain } from "./retention-tables.ts";

const done: RowToRetain = { receivedAt: 100, runs: [DONE] };
const young: RowToRetain = { receivedAt: 9000, runs: [DONE] };
const rangeOf = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe("prune by size", () => {
  it("removes the oldest until the file fits, whatever their age", async () => {
    const tables = await openRetentionTables();
    tables.insert(...rangeOf(100).map(() => ({ ...young, body: randomBytes(50_000) })));
    const used = tables.usedBytes();
    expect(tables.pruneAll({ maxBytes: used })).toEqual({ removed: 0, emptied: 0, steps: 1 });
    const { removed } = tables.pruneAll({ maxBytes: used / 2 });
    expect(tables.usedBytes()).toBeLessThanOrEqual(used / 2);
    expect(tables.usedBytes()).toBeGreaterThan(used / 2 - 2 * 57_344);
    expect(tables.listed()).toEqual(rangeOf(100).slice(removed));
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

  it("frees marks and claims with the delivery", async () => {
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
    retentionOperations(explaining, markMemory(database, claimOperations(database)));
    expect(plans.length).toBeGreaterThan(15);
    expect(plans.filter((plan) => plan.startsWith("SCAN ") || plan.includes("TEMP B-TREE"))).toEqual([]);
    expect(plans.some((plan) => plan.includes("runs_not_done (state=? AND id>? AND id<?)"))).toBe(true);
  });
});
