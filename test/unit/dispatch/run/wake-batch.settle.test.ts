import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { settleKnown } from "../../../../src/dispatch/run/wake-batch.ts";
import { StoreError } from "../../../../src/storage/delivery-store.ts";
import { DispatchBench, failing, wakeSpec } from "../dispatch-bench.ts";

const DONE = { state: "done", reason: null } as const;

describe("many runs that end together", () => {
  const { signal: abandon } = new AbortController();
  let bench: DispatchBench;
  let runIds: readonly string[];
  const parts = () => ({ store: bench.store, clock: { now: () => bench.now() }, abandon });

  beforeEach(async () => {
    bench = await DispatchBench.open();
    runIds = (await Promise.all([1, 2, 3].map(() => bench.accept(wakeSpec())))).flat();
  });
  afterEach(() => bench.close());

  async function purge(runId: string): Promise<void> {
    const { deliveryId } = await bench.store.loadRun(runId);
    await bench.store.settle(runId, { state: "canceled", reason: "by the operator" });
    await bench.store.remove([deliveryId], bench.now());
  }

  const states = async (ids: readonly string[]): Promise<readonly string[]> =>
    Promise.all(ids.map(async (runId) => (await bench.detail(runId)).state));

  it("are settled although one of them was removed in between", async () => {
    await purge(runIds[1]!);
    await settleKnown(parts(), runIds, DONE);
    expect(await states([runIds[0]!, runIds[2]!])).toEqual(["done", "done"]);
  });

  it("are no error when all of them are gone", async () => {
    await purge(runIds[0]!);
    await settleKnown(parts(), runIds.slice(0, 1), DONE);
    await expect(bench.store.loadRun(runIds[0]!)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("are settled when the store can write again, and rejected when it never can", async () => {
    const full = { count: 1, error: new StoreError("UNAVAILABLE", "the disk is full") };
    await settleKnown({ ...parts(), store: failing(bench.store, "settleAll", full) }, runIds, DONE);
    expect(await states(runIds)).toEqual(["done", "done", "done"]);
    const closed = { count: 1, error: new StoreError("CLOSED", "the store is closing") };
    const settling = settleKnown({ ...parts(), store: failing(bench.store, "settleAll", closed) }, runIds, DONE);
    await expect(settling).rejects.toBe(closed.error);
  });
});
