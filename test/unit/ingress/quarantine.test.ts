import { expect, it } from "vitest";
import { QuarantineExpiry } from "../../../src/ingress/quarantine.ts";
import { newDelivery, agentSpec } from "../../conformance/store/new-delivery.ts";
import { MemoryDeliveryStore } from "../../fixtures/memory-store/delivery-store.ts";

const DAY_MS = 86_400_000;

it("what is not released in time ends as skipped, and nothing else does", async () => {
  const store = new MemoryDeliveryStore();
  const hold = async (age: number, mappingId: string, held = "quarantine: unknown"): Promise<string> => {
    const runs = [{ lane: "", spec: agentSpec() }];
    const outcome = await store.accept(newDelivery({ receivedAt: 10 * DAY_MS - age, mappingId, runs, held }));
    return outcome.kind === "accepted" ? outcome.deliveryId : "";
  };
  const ids = [
    await hold(8 * DAY_MS, "gone"),
    await hold(6 * DAY_MS, "gone"),
    await hold(2_000, "short"),
    await hold(500, "short"),
    await hold(9 * DAY_MS, "gone", "interrupted"),
    await hold(8 * DAY_MS, "gone", "held reply: it has a secret of the gateway"),
  ];
  const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const mappings = () => [{ id: "short", maxAgeMs: 1_000 }];
  const expiry = new QuarantineExpiry({ store, clock: { now: () => 10 * DAY_MS }, logger, mappings });
  await expiry.expire();
  const states = await Promise.all(ids.map(async (id) => (await store.get(id))?.state));
  expect(states).toEqual(["skipped", "held", "skipped", "held", "held", "skipped"]);
  expect((await store.get(ids[0]!))?.reason).toBe("quarantine: it was not released in time");
  expect((await store.get(ids[5]!))?.reason).toBe("held reply: it was not released in time");
});
