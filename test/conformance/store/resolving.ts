import { expect, it } from "vitest";
import { RECEIVED_AT } from "./new-delivery.ts";
import { accept } from "./store-actions.ts";
import type { StoreUnderTest } from "./store-harness.ts";

const FAILED = { state: "failed", reason: "the agent failed" } as const;
const AT = RECEIVED_AT + 60_000;

/** A person's mark on a failed delivery. */
export function describeResolving(underTest: () => StoreUnderTest): void {
  it("marks a failed delivery with the time and the note, once, and keeps both after a restart", async () => {
    const { store } = underTest();
    const { deliveryId, runId } = await accept(store);
    await store.settle(runId, FAILED);
    expect((await store.get(deliveryId))?.resolved).toBeUndefined();
    expect(await store.resolve(deliveryId, { at: AT, note: "Done by hand." })).toBe(true);
    expect(await store.resolve(deliveryId, { at: AT + 1, note: "Again." })).toBe(false);
    const reopened = await underTest().reopen();
    const resolved = { at: new Date(AT).toISOString(), note: "Done by hand." };
    expect(await reopened.get(deliveryId)).toMatchObject({ state: "failed", reason: "the agent failed", resolved });
    expect((await reopened.list({ state: "failed", limit: 10 })).deliveries).toMatchObject([{ resolved }]);
  });

  it("marks one that failed at once, without a note", async () => {
    const { store } = underTest();
    const { deliveryId } = await accept(store, { runs: [], ended: { state: "failed", reason: "its transform" } });
    expect(await store.resolve(deliveryId, { at: AT, note: null })).toBe(true);
    expect((await store.get(deliveryId))?.resolved).toEqual({ at: new Date(AT).toISOString(), note: null });
  });

  it("marks no other delivery", async () => {
    const { store } = underTest();
    const open = await accept(store);
    const done = await accept(store);
    await store.settle(done.runId, { state: "done", reason: null });
    const filtered = await accept(store, { runs: [], ended: { state: "filtered", reason: "a clause" } });
    for (const { deliveryId } of [open, done, filtered]) {
      expect(await store.resolve(deliveryId, { at: AT, note: null })).toBe(false);
      expect((await store.get(deliveryId))?.resolved).toBeUndefined();
    }
    await expect(store.resolve("dlv_unknown", { at: AT, note: null })).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
}
