import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { DeliveryList } from "../../../../../src/storage/sqlite/readers/delivery-list.ts";
import type { DeliveryQuery } from "../../../../../src/storage/delivery-store.ts";
import { parseDeliveryId } from "../../../../../src/storage/sqlite/public-id.ts";
import { codeOfRunState } from "../../../../../src/storage/sqlite/codes.ts";
import { wakeSpec } from "../../../../conformance/store/new-delivery.ts";
import { openStoreTables, TAG } from "../store-in-thread.ts";

/** Every page of a list: the seqs on each. */
function pagesOf(list: DeliveryList, query: DeliveryQuery): (number | undefined)[][] {
  const pages: (number | undefined)[][] = [];
  let cursor: string | undefined;
  do {
    const page = list.page({ ...query, ...(cursor !== undefined && { cursor }) });
    pages.push(page.deliveries.map((delivery) => parseDeliveryId(delivery.id)?.seq));
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return pages;
}

/** A connection whose statements are replaced as they are prepared. */
function preparing(reader: DatabaseSync, replace: (statement: StatementSync, text: string) => unknown): DatabaseSync {
  return new Proxy(reader, {
    get(target, name) {
      if (name !== "prepare") return Reflect.get(target, name) as unknown;
      return (text: string) => replace(target.prepare(text), text.trim());
    },
  });
}

const ended = { runs: [], ended: { state: "filtered", reason: "r" } } as const;
const failed = { runs: [], ended: { state: "failed", reason: "r" } } as const;

describe("DeliveryList", () => {
  it("looks at a bounded number of rows a page: a rare route gives short pages with a way to continue", async () => {
    const tables = await openStoreTables();
    tables.accept(9000, (seq) => ({ route: seq === 3 || seq === 8999 ? "rare" : "usual" }));
    const pages = pagesOf(new DeliveryList(tables.reader), { limit: 10, route: "rare" });
    expect(pages).toEqual([[8999], [], [3]]);
  });

  it("searches window by window while there is time, each at a point in time of its own", async () => {
    const tables = await openStoreTables();
    tables.accept(9000, (seq) => ({ route: seq === 3 || seq === 8999 ? "rare" : "usual" }));
    const inTransaction: boolean[] = [];
    const beforeWindow = () => {
      inTransaction.push(tables.reader.isTransaction);
    };
    const list = new DeliveryList(tables.reader, { pageMs: 60_000, beforeWindow });
    expect(pagesOf(list, { limit: 10, route: "rare" })).toEqual([[8999, 3]]);
    expect(inTransaction).toEqual([false, false, false]);
    expect(pagesOf(list, { limit: 1, route: "rare" }).flat()).toEqual([8999, 3]);
  });

  it("bounds the search for done deliveries too", async () => {
    const tables = await openStoreTables();
    tables.accept(5000);
    tables.settle([1, 4999], codeOfRunState("done"));
    const pages = pagesOf(new DeliveryList(tables.reader), { limit: 10, state: "done" });
    expect(pages).toEqual([[4999], [1]]);
  });

  it("finds rare states at once, wherever they are", async () => {
    const tables = await openStoreTables();
    tables.accept(9000, (seq) => (seq % 4000 === 1 ? ended : {}));
    tables.settle(
      Array.from({ length: 9000 }, (_, index) => index + 1).filter((seq) => seq % 4000 !== 1 && seq % 3000 !== 2),
      codeOfRunState("done"),
    );
    tables.settle([2, 6002], codeOfRunState("failed"));
    const list = new DeliveryList(tables.reader);
    expect(pagesOf(list, { limit: 10, state: "failed" })).toEqual([[6002, 2]]);
    expect(pagesOf(list, { limit: 10, state: "queued" })).toEqual([[3002]]);
    expect(pagesOf(list, { limit: 2, state: "filtered" })).toEqual([[8001, 4001], [1]]);
  });

  it("bounds the search by route among runs in one state, and never cuts a delivery in two", async () => {
    const tables = await openStoreTables();
    const runs = Array.from({ length: 3 }, () => ({ lane: "a", spec: wakeSpec() }));
    tables.accept(1500, (seq) => ({ runs, route: seq % 500 === 1 ? "rare" : "usual" }));
    const pages = pagesOf(new DeliveryList(tables.reader), { limit: 10, state: "queued", route: "rare" });
    expect(pages.flat()).toEqual([1001, 501, 1]);
    expect(pages.length).toBeGreaterThan(3);
    const all = pagesOf(new DeliveryList(tables.reader), { limit: 200, state: "queued" }).flat();
    expect(all).toEqual(Array.from({ length: 1500 }, (_, index) => 1500 - index));
  });

  it("bounds the search by route among ended deliveries", async () => {
    const tables = await openStoreTables();
    tables.accept(4500, (seq) => ({ ...ended, route: seq === 5 ? "rare" : "usual" }));
    expect(pagesOf(new DeliveryList(tables.reader), { limit: 5, state: "filtered", route: "rare" })).toEqual([[], [5]]);
  });

  it("searches a text in fewer rows a page, and continues where it ended", async () => {
    const tables = await openStoreTables();
    tables.accept(1100, (seq) => ({ name: [3, 4, 1099].includes(seq) ? "Needle" : "Hay" }));
    const pages = pagesOf(new DeliveryList(tables.reader), { limit: 10, text: "needle" });
    expect(pages).toEqual([[1099], [], [], [], [4, 3]]);
    expect(pagesOf(new DeliveryList(tables.reader), { limit: 1, text: "needle" }).flat()).toEqual([1099, 4, 3]);
    expect(pagesOf(new DeliveryList(tables.reader), { limit: 200, text: "" }).flat()).toHaveLength(1100);
  });

  it("ends the search of a page after so many bytes of text, and reads each delivery once", async () => {
    const tables = await openStoreTables();
    const runs = [{ lane: "a", spec: wakeSpec({ text: `${"x".repeat(300_000)} end` }) }];
    tables.accept(9, () => ({ runs }));
    expect(pagesOf(new DeliveryList(tables.reader), { limit: 10, text: "nowhere" })).toEqual([[], [], []]);
    expect(pagesOf(new DeliveryList(tables.reader), { limit: 10, text: "END" })).toEqual([
      [9, 8, 7, 6],
      [5, 4, 3, 2],
      [1],
    ]);
  });

  it("finds what has failed by its runs and what has failed at once in one order, each on one page", async () => {
    const tables = await openStoreTables();
    tables.accept(40, (seq) => (seq % 3 === 0 ? failed : {}));
    const byRuns = Array.from({ length: 40 }, (_, index) => index + 1).filter((seq) => seq % 3 === 1);
    tables.settle(byRuns, codeOfRunState("failed"));
    const expected = Array.from({ length: 40 }, (_, index) => 40 - index).filter((seq) => seq % 3 !== 2);
    const list = new DeliveryList(tables.reader);
    for (const limit of [1, 2, 7, 200]) {
      const pages = pagesOf(list, { limit, state: "failed" });
      expect(pages.flat()).toEqual(expected);
      expect(Math.max(...pages.map((page) => page.length))).toBe(Math.min(limit, expected.length));
    }
  });

  it("ends a page of failed deliveries where the first of both searches ends, and loses none behind it", async () => {
    const tables = await openStoreTables();
    // Both searches are at their bound, at different depths.
    tables.accept(6500, (seq) => ({
      ...(seq % 4 > 0 && failed),
      route: [2, 1601, 4001, 6404].includes(seq) ? "rare" : "usual",
    }));
    const byRuns = Array.from({ length: 6500 }, (_, index) => index + 1).filter((seq) => seq % 4 === 0);
    tables.settle(byRuns, codeOfRunState("failed"));
    const list = new DeliveryList(tables.reader);
    const pages = pagesOf(list, { limit: 10, state: "failed", route: "rare" });
    expect(pages).toEqual([
      [6404, 4001],
      [1601, 2],
    ]);
    expect(pagesOf(list, { limit: 200, state: "failed" }).flat()).toHaveLength(6500);
    expect(pagesOf(list, { limit: 10, state: "failed", route: "rare", text: "hook" }).flat()).toEqual([
      6404, 4001, 1601, 2,
    ]);
  });

  it("searches a text within every state", async () => {
    const tables = await openStoreTables();
    tables.accept(600, (seq) => ({ ...(seq % 2 === 0 && ended), name: seq % 300 < 2 ? "Needle" : "Hay" }));
    tables.settle([1, 301], codeOfRunState("done"));
    const list = new DeliveryList(tables.reader);
    expect(pagesOf(list, { limit: 10, state: "done", text: "needle" })).toEqual([[301, 1]]);
    expect(pagesOf(list, { limit: 10, state: "filtered", text: "needle" }).flat()).toEqual([600, 300]);
    expect(pagesOf(list, { limit: 10, state: "queued", text: "needle" }).flat()).toEqual([]);
  });

  it("bounds the search by time: a page looks at a bounded number of rows, and none is taken for too young", async () => {
    const tables = await openStoreTables();
    tables.accept(8500, (seq) => ({ receivedAt: seq === 1 || seq === 8000 ? 5 : 1000 + (seq % 7) }));
    const pages = pagesOf(new DeliveryList(tables.reader), { limit: 10, receivedBefore: 1000 });
    expect(pages).toEqual([[8000], [], [1]]);
  });

  it("reads a page at one point in time: what is removed meanwhile is on it as it was", async () => {
    const tables = await openStoreTables();
    tables.accept(3);
    tables.settle([1, 2, 3], codeOfRunState("failed"));
    const removing = preparing(tables.reader, (statement, text) => {
      if (!text.startsWith("SELECT state, reason, settled_at FROM runs")) return statement;
      return {
        columns: () => statement.columns(),
        all: (...args: SQLInputValue[]) => {
          tables.run("remove", [1e15, 1, TAG, 2, TAG]);
          return statement.all(...args);
        },
      };
    });
    const page = new DeliveryList(removing).page({ limit: 10 });
    expect(page.deliveries.map((delivery) => delivery.state)).toEqual(["failed", "failed", "failed"]);
    expect(new DeliveryList(tables.reader).page({ limit: 10 }).deliveries).toHaveLength(1);
  });

  it("leaves no transaction open when a page fails", async () => {
    const tables = await openStoreTables();
    tables.accept(1);
    const failing = preparing(tables.reader, (statement, text) => {
      if (!text.startsWith("SELECT state, reason, settled_at FROM runs")) return statement;
      return { columns: () => statement.columns(), all: () => expect.unreachable("broken") };
    });
    expect(() => new DeliveryList(failing).page({ limit: 10 })).toThrow("broken");
    expect(tables.reader.isTransaction).toBe(false);
  });

  it("searches by key or by index for every filter, never through a whole table", async () => {
    const tables = await openStoreTables();
    tables.accept(10);
    const plans: string[] = [];
    const explaining = preparing(tables.reader, (statement, text) => {
      const rows = tables.reader.prepare(`EXPLAIN QUERY PLAN ${text}`).all();
      plans.push(...rows.map((row) => String(row["detail"])));
      return statement;
    });
    expect(new DeliveryList(explaining).page({ limit: 1 }).deliveries).toHaveLength(1);
    expect(plans.length).toBeGreaterThan(8);
    expect(plans.filter((plan) => plan.startsWith("SCAN "))).toEqual([]);
    expect(plans.filter((plan) => plan.includes("TEMP B-TREE"))).toEqual([]);
    expect(plans.some((plan) => plan.includes("runs_not_done"))).toBe(true);
    expect(plans.some((plan) => plan.includes("deliveries_ended"))).toBe(true);
  });
});
