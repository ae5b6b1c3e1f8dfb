import { expect, it } from "vitest";
import type { Withdrawal } from "../../../src/dispatch/context.ts";
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
  const ended: Withdrawal[] = [];
  const withdraw = (withdrawal: Withdrawal): void => void ended.push(withdrawal);
  const expiry = new QuarantineExpiry({ store, clock: { now: () => 10 * DAY_MS }, logger, mappings, withdraw });
  await expiry.expire();
  const states = await Promise.all(ids.map(async (id) => (await store.get(id))?.state));
  expect(states).toEqual(["skipped", "held", "skipped", "held", "held", "skipped"]);
  expect((await store.get(ids[0]!))?.reason).toBe("quarantine: it was not released in time");
  expect((await store.get(ids[5]!))?.reason).toBe("held reply: it was not released in time");
  // Observers, the log and the metrics hear of each.
  const runIds = await Promise.all([5, 2, 0].map(async (at) => (await store.get(ids[at]!))!.runIds));
  expect(ended.flatMap((each) => [...each.runIds])).toEqual(runIds.flat());
  expect(new Set(ended.map(({ state }) => state))).toEqual(new Set(["skipped"]));
});

it("the time of a held reply counts from the end of its run, and that of a held event from its call", async () => {
  const store = new MemoryDeliveryStore();
  const CALLED_AT = 10 * DAY_MS;
  const ENDED_AT = CALLED_AT + 240_000;
  const MAX_AGE_MS = 300_000;
  const hold = async (reason: string): Promise<string> => {
    const runs = [{ lane: "", spec: agentSpec() }];
    const outcome = await store.accept(newDelivery({ receivedAt: CALLED_AT, mappingId: "short", runs }));
    if (outcome.kind !== "accepted") throw new Error(outcome.kind);
    const [runId] = outcome.runIds as [string];
    // An attempt that failed before counts for nothing.
    await store.beginAttempt(runId, { number: 1, startedAt: CALLED_AT });
    await store.endAttempt(runId, { endedAt: CALLED_AT + 1_000, status: "error", error: "x", reply: null });
    await store.beginAttempt(runId, { number: 2, startedAt: CALLED_AT + 2_000 });
    await store.endAttempt(runId, { endedAt: ENDED_AT, status: "ok", error: null, reply: "x" });
    await store.hold(runId, reason);
    return outcome.deliveryId;
  };
  const reply = await hold("held reply: it has a secret of the gateway");
  const event = await hold("quarantine: unknown");
  let now = CALLED_AT + MAX_AGE_MS;
  const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const mappings = () => [{ id: "short", maxAgeMs: MAX_AGE_MS }];
  const expiry = new QuarantineExpiry({ store, clock: { now: () => now }, logger, mappings, withdraw: () => {} });
  const states = async (at: number): Promise<unknown> => {
    now = at;
    await expiry.expire();
    return Promise.all([reply, event].map(async (id) => (await store.get(id))?.state));
  };
  expect(await states(CALLED_AT + MAX_AGE_MS)).toEqual(["held", "skipped"]);
  expect(await states(ENDED_AT + MAX_AGE_MS - 1)).toEqual(["held", "skipped"]);
  expect(await states(ENDED_AT + MAX_AGE_MS)).toEqual(["skipped", "skipped"]);
});
