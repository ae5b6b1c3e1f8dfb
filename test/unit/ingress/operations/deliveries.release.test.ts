import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ActiveConfig } from "../../../../src/ingress/active-config.ts";
import { DeliveryOperations } from "../../../../src/ingress/operations/deliveries.ts";
import { StoreError } from "../../../../src/storage/delivery-store.ts";
import { agentSpec, newDelivery } from "../../../conformance/store/new-delivery.ts";
import { RECEIVED_AT, StageBench } from "../stages/stage-bench.ts";

const QUARANTINED = "quarantine: the actor is unknown, which is below trusted";
const mapping = { id: "in", match: { path: "in" }, messageTemplate: "{{text}}", deliver: false };

let bench: StageBench;
let active: ActiveConfig;
let operations: DeliveryOperations;

beforeEach(async () => {
  bench = await StageBench.open();
  active = await bench.active({ mappings: [mapping] });
  operations = new DeliveryOperations({ ingress: bench.ingress, active: () => active });
});
afterEach(() => bench[Symbol.asyncDispose]());

/** A held delivery, or a replay of one as it ends by the configuration of the day. */
async function stored(changes: Parameters<typeof newDelivery>[0]): Promise<string> {
  const runs = [{ lane: "a", spec: agentSpec() }];
  const outcome = await bench.ingress.store.accept(newDelivery({ receivedAt: RECEIVED_AT, runs, ...changes }));
  if (outcome.kind !== "accepted") throw new Error(outcome.kind);
  return outcome.deliveryId;
}

const replays = async (id: string): Promise<number> => (await bench.ingress.store.replaysOf(id)).length;

describe("releasing", () => {
  it.each<[string, (held: string) => Promise<unknown>]>([
    ["held again", (replayOf) => stored({ replayOf, held: QUARANTINED })],
    ["filtered", (replayOf) => stored({ replayOf, runs: [], ended: { state: "filtered", reason: "events: none" } })],
    ["canceled", async (replayOf) => operations.cancel(await stored({ replayOf }))],
    ["carried out as it was accepted", (held) => operations.replay(held, { asAccepted: true })],
  ])("begins the runs of a held delivery also when a replay of it was %s before", async (_case, replay) => {
    const held = await stored({ held: QUARANTINED });
    await replay(held);
    const outcome = await operations.release(held);
    expect(outcome).toMatchObject({ kind: "replayed", runIds: [expect.any(String)], state: "queued" });
    expect(await replays(held)).toBe(2);
    const { deliveryId = "" } = outcome as { deliveryId?: string };
    expect(await bench.ingress.store.get(held)).toMatchObject({
      state: "canceled",
      reason: `released as ${deliveryId}`,
    });
    expect((await bench.ingress.store.get(deliveryId))?.runs).toHaveLength(1);
  });

  it("begins the runs once when two gateways release it at the same time", async () => {
    const held = await stored({ held: QUARANTINED });
    const second = new DeliveryOperations({ ingress: bench.ingress, active: () => active });
    const outcomes = await Promise.all([operations.release(held), second.release(held)]);
    const ids = outcomes.map((outcome) => ("deliveryId" in outcome ? outcome.deliveryId : outcome.kind));
    expect(ids[0]).toBe(ids[1]);
    const { deliveries } = await bench.ingress.store.list({ limit: 10, state: "queued" });
    expect(deliveries.map(({ id }) => id)).toEqual([ids[0]]);
    expect(await bench.ingress.store.get(held)).toMatchObject({ state: "canceled", reason: `released as ${ids[0]}` });
  });

  it("begins no second run when the process ended before the held delivery did, whatever was replayed since", async () => {
    const held = await stored({ held: QUARANTINED });
    const { store } = bench.ingress;
    const settleAll = store.settleAll.bind(store);
    store.settleAll = () => Promise.reject(new StoreError("UNAVAILABLE", "the process ends"));
    expect(await operations.release(held)).toMatchObject({ kind: "refused" });
    store.settleAll = settleAll;
    const [begun] = await store.replaysOf(held);
    expect(await store.get(held)).toMatchObject({ state: "held" });
    await stored({ replayOf: held, held: QUARANTINED });
    expect(await operations.release(held)).toMatchObject({ kind: "replayed", deliveryId: begun!.id, runIds: [] });
    expect(await replays(held)).toBe(2);
    expect(await store.get(held)).toMatchObject({ state: "canceled", reason: `released as ${begun!.id}` });
  });
});
