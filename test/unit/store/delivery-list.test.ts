import { describe, expect, it } from "vitest";
import { DeliveryList } from "../../../src/store/delivery-list.ts";
import type { DeliveryQuery } from "../../../src/store/delivery-store.ts";
import { parseDeliveryId } from "../../../src/store/public-id.ts";
import { codeOfRunState } from "../../../src/store/sqlite-codes.ts";
import { wakeSpec } from "../../conformance/store/new-delivery.ts";
import { openStoreTables } from "./store-in-thread.ts";

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

const ended = { runs: [], ended: { state: "filtered", reason: "r" } } as const;

describe("DeliveryList", () => {
  it("looks at a bounded number of rows a page: a rare route gives short pages with a way to go on", async () => {
    const tables = await openStoreTables();
    tables.accept(9000, (seq) => ({ route: seq === 3 || seq === 8999 ? "rare" : "usual" }));
    const pages = pagesOf(new DeliveryList(tables.reader), { limit: 10, route: "rare" });
    expect(pages).toEqual([[8999], [], [3]]);
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

  it("searches by key or by index for every filter, never through a whole table", async () => {
    const tables = await openStoreTables();
    tables.accept(10);
    const plans: string[] = [];
    const explaining = new Proxy(tables.reader, {
      get(target, name) {
        if (name !== "prepare") return Reflect.get(target, name) as unknown;
        return (text: string) => {
          const rows = target.prepare(`EXPLAIN QUERY PLAN ${text}`).all();
          plans.push(...rows.map((row) => String(row["detail"])));
          return target.prepare(text);
        };
      },
    });
    expect(new DeliveryList(explaining).page({ limit: 1 }).deliveries).toHaveLength(1);
    expect(plans.length).toBeGreaterThan(8);
    expect(plans.filter((plan) => plan.startsWith("SCAN "))).toEqual([]);
    expect(plans.filter((plan) => plan.includes("TEMP B-TREE"))).toEqual([]);
    expect(plans.some((plan) => plan.includes("runs_not_done"))).toBe(true);
    expect(plans.some((plan) => plan.includes("deliveries_ended"))).toBe(true);
  });
});
