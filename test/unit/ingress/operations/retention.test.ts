import { describe, expect, it, onTestFinished } from "vitest";
import type { RetentionConfig } from "../../../../src/config/retention.ts";
import { Retention } from "../../../../src/ingress/operations/retention.ts";
import type { PruneLimits } from "../../../../src/storage/delivery-store.ts";
import { StoreError } from "../../../../src/storage/delivery-store.ts";
import type { DeliveryStore } from "../../../../src/storage/delivery-store.ts";
import { newDelivery } from "../../../conformance/store/new-delivery.ts";
import { MemoryDeliveryStore } from "../../../fixtures/memory-store/delivery-store.ts";
import { recordingLogger } from "../../hosts/embedded/server/recording-logger.ts";

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 5, 1);
const PAUSES = { busyMs: 1, idleMs: 5 };

function retained(store: Pick<DeliveryStore, "prune">, limits: () => RetentionConfig | undefined) {
  const logger = recordingLogger();
  const retention = new Retention({ store, clock: { now: () => NOW }, logger, limits, pauses: PAUSES });
  onTestFinished(() => retention.stop());
  retention.start();
  return { retention, logger };
}

describe("retention", () => {
  it("removes settled deliveries after their time, their requests before that, and never an open one", async () => {
    const store = new MemoryDeliveryStore();
    onTestFinished(() => store.close());
    const ids: string[] = [];
    for (const age of [40, 40, 10, 1]) {
      const outcome = await store.accept(newDelivery({ receivedAt: NOW - age * DAY_MS }));
      if (outcome.kind !== "accepted") throw new Error(outcome.kind);
      ids.push(outcome.deliveryId);
      // The second one stays open.
      if (ids.length !== 2) await store.settle(outcome.runIds[0]!, { state: "done", reason: null });
    }
    const limits = { deliveriesMs: 30 * DAY_MS, payloadsMs: 7 * DAY_MS, maxBytes: undefined };
    const { retention } = retained(store, () => limits);
    const found = async () => {
      const deliveries = await Promise.all(ids.map((id) => store.get(id)));
      return deliveries.map((delivery) => delivery && [delivery.state, delivery.bodyBytes > 0]);
    };
    await expect.poll(found).toEqual([undefined, ["queued", true], ["done", false], ["done", true]]);
    await retention.stop();
  });

  it("follows the active configuration, and does nothing while it names no bounds", async () => {
    const seen: PruneLimits[] = [];
    const store = {
      prune: async (limits: PruneLimits) => {
        seen.push(limits);
        return { removed: 0, emptied: 0, more: false };
      },
    };
    const bounds = [undefined, undefined, { deliveriesMs: 2_000, payloadsMs: 1_000, maxBytes: 5_000_000 }];
    retained(store, () => (bounds.length > 1 ? bounds.shift() : bounds[0]));
    await expect.poll(() => seen.length).toBeGreaterThan(0);
    expect(bounds).toHaveLength(1);
    expect(seen[0]).toEqual({
      now: NOW,
      removeBefore: NOW - 2_000,
      emptyBefore: NOW - 1_000,
      maxBytes: 5_000_000,
      most: 320,
    });
  });

  it("logs a store that fails once, and tries again", async () => {
    let calls = 0;
    const store = {
      prune: async () => {
        calls++;
        throw new StoreError("UNAVAILABLE", "the disk is full");
      },
    };
    const { logger } = retained(store, () => ({ deliveriesMs: 1, payloadsMs: 1, maxBytes: undefined }));
    await expect.poll(() => calls).toBeGreaterThan(2);
    expect(logger.lines).toHaveLength(1);
    expect(logger.lines[0]?.message).toContain("old deliveries could not be removed");
  });
});
