import { describe, expect, it, onTestFinished, vi } from "vitest";
import { DeliveryList } from "../../../../../src/storage/sqlite/readers/delivery-list.ts";
import { DigestBuilder } from "../../../../../src/storage/sqlite/readers/digest-builder.ts";
import { shareCore } from "../../../../../src/storage/sqlite/engine/share-core.ts";
import type { AddedDigests, NewDigests } from "../../../../../src/storage/sqlite/operations/digests.ts";
import { openStoreTables } from "../store-in-thread.ts";

/** Times that a read sleeps. */
function sleepsOf(read: () => unknown): number {
  const wait = vi.spyOn(Atomics, "wait");
  onTestFinished(() => wait.mockRestore());
  work(1);
  read();
  const { length } = wait.mock.calls;
  wait.mockRestore();
  return length;
}

function work(forMs: number): void {
  for (const endMs = performance.now() + forMs; performance.now() < endMs;);
}

describe("a long read", () => {
  it("sleeps for a moment now and then, not each time that it is asked to", () => {
    const calls = 1_000;
    const sleeps = sleepsOf(() => {
      for (let call = 0; call < calls; call++) {
        shareCore();
        work(0.005);
      }
    });
    expect(sleeps).toBeGreaterThan(4);
    expect(sleeps).toBeLessThan(calls / 2);
  });

  it("shares its core as a page, a search for a text, digests that are made, and a search by them", async () => {
    const tables = await openStoreTables();
    tables.accept(1_000);
    const list = new DeliveryList(tables.reader);
    expect(sleepsOf(() => list.page({ limit: 200 }))).toBeGreaterThan(0);
    expect(sleepsOf(() => list.page({ limit: 200, text: "nowhere" }))).toBeGreaterThan(0);
    const builder = new DigestBuilder(tables.reader);
    expect(sleepsOf(() => builder.step(0))).toBeGreaterThan(0);
    const { writer } = tables.run("addDigests", {
      digests: [],
      writer: undefined,
    } satisfies NewDigests) as AddedDigests;
    tables.run("addDigests", { digests: builder.step(0).digests, writer } satisfies NewDigests);
    expect(sleepsOf(() => list.page({ limit: 200, route: "nowhere" }))).toBeGreaterThan(0);
  });
});
