import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { DeliveryQuery } from "../../../../../src/storage/delivery-store.ts";
import { codeOfRunState } from "../../../../../src/storage/sqlite/codes.ts";
import { DigestUpkeep } from "../../../../../src/storage/sqlite/digest-upkeep.ts";
import { parseDeliveryId } from "../../../../../src/storage/sqlite/public-id.ts";
import { DeliveryList } from "../../../../../src/storage/sqlite/readers/delivery-list.ts";
import type { AddedDigests, NewDigests } from "../../../../../src/storage/sqlite/operations/digests.ts";
import { DigestBuilder, type StoredDigest } from "../../../../../src/storage/sqlite/readers/digest-builder.ts";
import { agentSpec, wakeSpec } from "../../../../conformance/store/new-delivery.ts";
import { openStoreTables, TAG } from "../store-in-thread.ts";

type Tables = Awaited<ReturnType<typeof openStoreTables>>;
const DONE = codeOfRunState("done");
const WORDS = ["refund", "Deploy", "merge", "Ärger", "😀 pay", "order 4711"];
const rangeOf = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

/** Adds digests that were read while the given writer was there, if any. */
const add = (tables: Tables, digests: readonly StoredDigest[] = [], writer?: string): AddedDigests =>
  tables.run("addDigests", { digests, writer } satisfies NewDigests) as AddedDigests;

/** Digests all that can be, and gives the blocks. */
function digest(tables: Tables): number[] {
  const builder = new DigestBuilder(tables.reader);
  const { writer } = add(tables);
  for (let from = 0, isLast = false; !isLast;) {
    const step = builder.step(from);
    add(tables, step.digests, writer);
    ({ next: from, isLast } = step);
  }
  return tables.reader
    .prepare("SELECT block FROM digests ORDER BY block")
    .all()
    .map(({ block }) => Number(block));
}

/** Digests behind the calls, with hardly a pause; `last` is the number of the last delivery. */
function upkeepOf(tables: Tables, last: () => number) {
  const builder = new DigestBuilder(tables.reader);
  const read = vi.fn<(read: string, args: unknown) => Promise<unknown>>(async (_, from) => builder.step(Number(from)));
  const write = async (operation: string, args: unknown): Promise<unknown> =>
    tables.run(operation.replace("store.", ""), args);
  const database = { read, write } as ConstructorParameters<typeof DigestUpkeep>[0];
  const upkeep = new DigestUpkeep(database, () => last() + 1, { busyMs: 1, idleMs: 5 });
  onTestFinished(() => upkeep.stop());
  const count = () => tables.reader.prepare("SELECT count(*) AS n FROM digests").get()?.["n"];
  return { upkeep, count, read };
}

function pagesOf(tables: Tables, query: Omit<DeliveryQuery, "limit">): (number | undefined)[][] {
  const list = new DeliveryList(tables.reader);
  const pages: (number | undefined)[][] = [];
  let cursor: string | undefined;
  do {
    const page = list.page({ ...query, limit: 50, ...(cursor !== undefined && { cursor }) });
    pages.push(page.deliveries.map((delivery) => parseDeliveryId(delivery.id)?.seq));
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return pages;
}

/** 3,000 deliveries that differ in all that can be searched. */
async function openVaried(): Promise<Tables> {
  const tables = await openStoreTables();
  tables.accept(3_000, (seq) => ({
    route: `route-${seq % 7}`,
    mappingId: `mapping-${seq % 3}`,
    name: seq === 700 ? "A rare name" : "Hook",
    event: seq % 11 === 0 ? "push" : null,
    actor: seq === 900 ? "Élodie" : `User${seq % 40}`,
    level: seq % 500 === 0 ? "owner" : "known",
    receivedAt: 10_000 + seq,
    ...(seq === 1_200
      ? { runs: [], ended: { state: "filtered", reason: "it says Nothing" } as const }
      : {
          runs: [
            {
              lane: "a",
              spec: agentSpec({
                message: `${WORDS[seq % WORDS.length]} number ${seq} ${seq === 5 ? "\ud800 lone" : ""}`,
              }),
            },
            ...(seq === 1_500 ? [{ lane: "a", spec: wakeSpec({ text: "second run" }) }] : []),
          ],
        }),
  }));
  tables.settle(
    rangeOf(3_000).filter((seq) => seq !== 1_200 && seq !== 2_000),
    DONE,
  );
  tables.run("settle", [codeOfRunState("failed"), "A reason of its own", null, 2_000 * 4096, TAG]);
  tables.run("settle", [DONE, null, null, 1_500 * 4096 + 1, TAG]);
  return tables;
}

const FILTERS: Omit<DeliveryQuery, "limit">[] = [
  ...["route-3", "route-9", "ROUTE-3"].map((route) => ({ route })),
  ...["user7", "USER39", "User99", "élodie", "ÉLODIE"].map((actor) => ({ actor })),
  ...(["owner", "unknown"] as const).map((level) => ({ level })),
  ...[
    "REFUND number 12",
    "rare NAME",
    "nothing",
    "second run",
    "reason of its own",
    "ärger",
    "😀 pay",
    "lone",
    "push",
    "71",
    "x",
    "",
  ].map((text) => ({ text })),
  { receivedFrom: 11_000, receivedBefore: 11_010 },
  { receivedFrom: 99_000 },
  { receivedBefore: 9_000 },
  { route: "route-3", actor: "user10", text: "number" },
  { state: "failed", route: "route-5" },
  { state: "filtered", text: "NOTHING" },
  { state: "done", level: "owner" },
];

describe("digests of deliveries", () => {
  it("change nothing of what a filter finds", { timeout: 120_000 }, async () => {
    const tables = await openVaried();
    const before = FILTERS.map((filter) => pagesOf(tables, filter).flat());
    expect(digest(tables)).toEqual(rangeOf(11).map((block) => block - 1));
    for (const [index, filter] of FILTERS.entries()) {
      expect([filter, pagesOf(tables, filter).flat()]).toEqual([filter, before[index]]);
    }
    expect(before.map((found) => found.length > 0)).toContain(false);
  });

  it("leave only the last block to read for a filter that matches nothing", async () => {
    const tables = await openStoreTables();
    tables.accept(9_216, (seq) => ({ runs: [{ lane: "a", spec: agentSpec({ message: `number ${seq}` }) }] }));
    tables.settle(rangeOf(9_216), DONE);
    const nothing = [{ route: "nowhere" }, { actor: "no one" }, { level: "owner" as const }, { text: "to be found" }];
    for (const filter of nothing) expect(pagesOf(tables, filter).length).toBeGreaterThan(2);
    digest(tables);
    for (const filter of nothing) expect([filter, pagesOf(tables, filter)]).toEqual([filter, [[], []]]);
    expect(pagesOf(tables, { text: "number 77 " }).flat()).toEqual([]);
    expect(pagesOf(tables, { text: "number 9001" }).flat()).toEqual([9001]);
  });

  it("are made of full blocks, whose runs may still wait", async () => {
    const tables = await openStoreTables();
    tables.accept(900);
    tables.settle(rangeOf(300), DONE);
    expect(digest(tables)).toEqual([0, 1, 2]);
    tables.settle(
      rangeOf(900).filter((seq) => seq > 300),
      DONE,
    );
    expect(digest(tables)).toEqual([0, 1, 2]);
  });

  it.each([
    ["postpone", [300 * 4096, TAG, 5, "the reason"]],
    ["hold", [300 * 4096, TAG, "the reason"]],
    ["settle", [codeOfRunState("failed"), "the reason", null, 300 * 4096, TAG]],
    ["settle", [codeOfRunState("skipped"), "the reason", null, 300 * 4096, TAG]],
  ])("lose the block in which a run gets a reason, by %s", async (operation, args) => {
    const tables = await openStoreTables();
    tables.accept(900);
    digest(tables);
    tables.run(operation, args);
    expect(pagesOf(tables, { text: "THE REASON" }).flat()).toEqual([300]);
    expect(add(tables).outdated).toBe(1);
    expect(add(tables).outdated).toBeUndefined();
    expect(digest(tables)).toEqual([0, 1, 2]);
    expect(pagesOf(tables, { text: "THE REASON" }).flat()).toEqual([300]);
  });

  it("are not added when a run got a reason after they were read", async () => {
    const tables = await openStoreTables();
    tables.accept(900);
    const { writer } = add(tables);
    const { digests } = new DigestBuilder(tables.reader).step(0);
    tables.run("hold", [300 * 4096, TAG, "the reason"]);
    expect(add(tables, digests, writer)).toEqual({ writer, outdated: 1 });
    expect(pagesOf(tables, { text: "the reason" }).flat()).toEqual([300]);
    expect(digest(tables)).toEqual([0, 1, 2]);
  });

  it("are not added by another writer than the one that was there when they were read", async () => {
    const tables = await openStoreTables();
    tables.accept(900);
    const { writer } = add(tables);
    const { digests } = new DigestBuilder(tables.reader).step(0);
    tables.run("hold", [300 * 4096, TAG, "the reason"]);
    await tables.renewWriter();
    expect(add(tables, digests, writer).writer).not.toBe(writer);
    expect(pagesOf(tables, { text: "the reason" }).flat()).toEqual([300]);
    expect(digest(tables)).toEqual([0, 1, 2]);
  });

  it("are all looked at again after the writer was another one, which does not know what lost its digest", async () => {
    const tables = await openStoreTables();
    tables.accept(600);
    const { upkeep, count, read } = upkeepOf(tables, () => 600);
    upkeep.start();
    await expect.poll(count).toBe(2);
    tables.run("hold", [500 * 4096, TAG, "the reason"]);
    await tables.renewWriter();
    expect(count()).toBe(1);
    read.mockClear();
    upkeep.noteReason();
    await expect.poll(count).toBe(2);
    expect(read.mock.calls).toEqual([["store.missingDigests", 0]]);
    expect(pagesOf(tables, { text: "the reason" }).flat()).toEqual([500]);
  });

  it("know what retention makes of a delivery, and go with their block", async () => {
    const tables = await openStoreTables();
    tables.accept(600, () => ({ mappingId: "the-mapping", name: "Made by a template" }));
    tables.settle(rangeOf(600), DONE);
    expect(digest(tables)).toEqual([0, 1]);
    const prune = (removeBefore: number, emptyBefore: number) =>
      tables.run("prune", [1e15, removeBefore, emptyBefore, null, 320]);
    for (let steps = 0; steps < 10; steps++) prune(0, 1e15);
    expect(pagesOf(tables, { text: "THE-MAPPING" }).flat()).toHaveLength(600);
    for (let steps = 0; steps < 10; steps++) prune(1e15, 1e15);
    expect(digest(tables)).toEqual([]);
  });

  it("are made behind the calls, again as soon as a block is full, and not while there is nothing new", async () => {
    const tables = await openStoreTables();
    let last = tables.accept(300);
    tables.settle(rangeOf(300), DONE);
    const { upkeep, count, read } = upkeepOf(tables, () => last);
    upkeep.start();
    await expect.poll(count).toBe(1);
    const looks = read.mock.calls.length;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(read.mock.calls.length).toBeLessThanOrEqual(looks + 1);
    last = tables.accept(300);
    await expect.poll(count).toBe(2);
    tables.run("hold", [500 * 4096, TAG, "the reason"]);
    expect(count()).toBe(1);
    const reads = read.mock.calls.length;
    upkeep.noteReason();
    await expect.poll(count).toBe(2);
    expect(read.mock.calls.slice(reads)).toEqual([["store.missingDigests", 1]]);
  });
});
