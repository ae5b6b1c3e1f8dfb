import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { OperationalStateReader } from "../../../../../src/storage/sqlite/operational-state.ts";
import { openStoreTables } from "../store-in-thread.ts";

const DAY = 1440;

async function open() {
  const tables = await openStoreTables();
  const reader = new OperationalStateReader(tables.reader);
  /** Writes rows past the operations, many at once. */
  const fill = (insert: string) => {
    const other = new DatabaseSync(tables.file);
    const numbers = "WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers LIMIT 10000)";
    const [into, select] = insert.split(" SELECT ");
    other.exec(`${into} ${numbers} SELECT ${select}`);
    other.close();
  };
  return {
    ...tables,
    fill,
    state: reader,
    usage: () => reader.usageSince(0).map(({ scope, minute }) => [scope, minute]),
  };
}

describe("operational state in the writer thread", () => {
  it("refuses to pause more than 10,000 scopes, and lets none run on that is paused", async () => {
    const { run, state, fill } = await open();
    fill("INSERT INTO pauses SELECT 'm' || n, 'r', 1 FROM numbers WHERE n < 10000");
    expect(() => run("pause", ["one more", "r", 1])).toThrow("10000 scopes are paused already");
    expect(run("pause", ["m7", "r", 1])).toBe(false);
    expect(state.pauses()).toHaveLength(10_000);
    expect(run("resume", ["m7"])).toBe(true);
    expect(run("pause", ["one more", "r", 1])).toBe(true);
  });

  it("remembers at most 1,000 outages: the oldest makes room, never the new one", async () => {
    const { run, state, fill } = await open();
    fill("INSERT INTO outages SELECT 's' || n, 5000 - n FROM numbers WHERE n < 1000");
    expect(run("openOutage", ["s0", 1])).toBe(false);
    expect(run("openOutage", ["new", 1])).toBe(true);
    const subjects = state.outages();
    expect(subjects).toHaveLength(1000);
    expect(subjects).toContain("new");
    expect(subjects).not.toContain("s999");
  });

  it("forgets usage of more than 48 hours before, as it counts on", async () => {
    const { run, usage } = await open();
    run("addUsage", ["a", 1, 1, 0, 0, "a", 2, 1, 0, 0, "b", 2, 1, 0, 0]);
    run("addUsage", ["a", 2 + 2 * DAY, 1, 0, 0]);
    expect(usage()).toEqual([
      ["a", 2],
      ["b", 2],
      ["a", 2 + 2 * DAY],
    ]);
    run("addUsage", ["a", 3 + 2 * DAY, 1, 0, 0]);
    expect(usage().slice(0, 1)).toEqual([["a", 2 + 2 * DAY]]);
  });

  it("forgets usage that a clock far ahead has counted", async () => {
    const { run, usage } = await open();
    run("addUsage", ["a", 500_000, 1, 0, 0]);
    run("addUsage", ["a", 100, 1, 0, 0]);
    expect(usage()).toEqual([["a", 100]]);
    run("addUsage", ["a", 100 + 2 * DAY, 1, 0, 0, "a", 101, 1, 0, 0]);
    expect(usage()).toEqual([
      ["a", 100],
      ["a", 101],
      ["a", 100 + 2 * DAY],
    ]);
  });

  it("removes a few lapsed rows at a time, yet more than come", async () => {
    const { run, usage, fill } = await open();
    fill("INSERT INTO usage SELECT n, 'a', 1, 0, 0 FROM numbers WHERE n BETWEEN 1 AND 100");
    const left: number[] = [];
    for (let round = 0; round < 8; round++) {
      run("addUsage", ["a", 10_000 + round, 1, 0, 0]);
      left.push(usage().filter(([, minute]) => Number(minute) <= 100).length);
    }
    expect(left).toEqual([84, 68, 52, 36, 20, 4, 0, 0]);
    fill("INSERT INTO usage SELECT 20000 + n, 'b', 1, 0, 0 FROM numbers WHERE n BETWEEN 1 AND 80");
    run("addUsage", Array.from({ length: 50 }, (_, index) => [`s${index}`, 30_000, 1, 0, 0]).flat());
    expect(usage().filter(([, minute]) => Number(minute) < 30_000)).toEqual([]);
  });

  it("does nothing for no usage", async () => {
    const { run, usage } = await open();
    run("addUsage", ["a", 5, 1, 0, 0]);
    expect(run("addUsage", [])).toBeUndefined();
    expect(usage()).toEqual([["a", 5]]);
  });
});
