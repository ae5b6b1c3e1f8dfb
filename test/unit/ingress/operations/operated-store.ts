/** A store in memory with the rest of an ingress as far as operations touch it. */
import { onTestFinished } from "vitest";
import type { Withdrawal } from "../../../../src/dispatch/context.ts";
import { Elsewhere } from "../../../../src/dispatch/elsewhere.ts";
import type { ActiveConfig } from "../../../../src/ingress/active-config.ts";
import { DeliveryOperations } from "../../../../src/ingress/operations/deliveries.ts";
import type { IngressContext } from "../../../../src/ingress/context.ts";
import type { DeliveryStore } from "../../../../src/storage/delivery-store.ts";
import type { NewDelivery } from "../../../../src/storage/new-delivery.ts";
import { newDelivery } from "../../../conformance/store/new-delivery.ts";
import { MemoryDeliveryStore } from "../../../fixtures/memory-store/delivery-store.ts";
import { recordingLogger } from "../../hosts/embedded/server/recording-logger.ts";

export async function operatedStore(changes: (store: DeliveryStore) => Partial<DeliveryStore> = () => ({})) {
  const logger = recordingLogger();
  const store = new MemoryDeliveryStore();
  onTestFinished(() => store.close());
  const changed = changes(store);
  const seen = new Proxy<DeliveryStore>(store, {
    get: (target, name: keyof DeliveryStore) => {
      const own = changed[name] ?? target[name];
      return typeof own === "function" ? (own.bind(target) as unknown) : own;
    },
  });
  const withdrawn: Withdrawal[] = [];
  const dispatcher = {
    elsewhere: new Elsewhere(),
    withdraw: (withdrawal: Withdrawal) => {
      withdrawn.push(withdrawal);
    },
  };
  const host = { clock: { now: () => Date.now() }, logger };
  const ingress = { store: seen, dispatcher, host } as unknown as IngressContext;
  const active = () => ({}) as ActiveConfig;
  return {
    store,
    withdrawn,
    elsewhere: dispatcher.elsewhere,
    operations: new DeliveryOperations({ ingress, active }),
    /** Accepts one and gives its ids. */
    accept: async (delivery: Partial<NewDelivery> = {}) => {
      const outcome = await store.accept(newDelivery(delivery));
      if (outcome.kind !== "accepted") throw new Error(outcome.kind);
      return { id: outcome.deliveryId, runIds: outcome.runIds };
    },
  };
}
