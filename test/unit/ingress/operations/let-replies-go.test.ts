import { expect, it, onTestFinished } from "vitest";
import { HELD_REPLY } from "../../../../src/core/run.ts";
import type { IngressContext } from "../../../../src/ingress/context.ts";
import { letRepliesGo } from "../../../../src/ingress/operations/let-replies-go.ts";
import { StoreError } from "../../../../src/storage/delivery-store.ts";
import type { OpenRun } from "../../../../src/storage/open-run.ts";
import { agentSpec, newDelivery } from "../../../conformance/store/new-delivery.ts";
import { MemoryDeliveryStore } from "../../../fixtures/memory-store/delivery-store.ts";

it("a reply that was let go is on its way, although the store then refuses the next, which a second release finds", async () => {
  const store = new MemoryDeliveryStore();
  onTestFinished(() => store.close());
  const runs = ["a", "b"].map((lane) => ({ lane, spec: agentSpec({}) }));
  const accepted = await store.accept(newDelivery({ runs }));
  if (accepted.kind !== "accepted") throw new Error(accepted.kind);
  const [first, second] = accepted.runIds;
  for (const runId of accepted.runIds) {
    await store.beginAttempt(runId, { number: 1, startedAt: 1 });
    await store.endAttempt(runId, { endedAt: 2, status: "ok", error: null, reply: "Done." });
    await store.hold(runId, `${HELD_REPLY}it has a link`);
  }
  let refuses = true;
  const refusing = new Proxy(store, {
    get: (target, name: keyof MemoryDeliveryStore) => {
      if (name !== "postpone") return (target[name] as () => unknown).bind(target);
      return async (...args: Parameters<typeof store.postpone>) => {
        if (refuses && args[0] === second) throw new StoreError("UNAVAILABLE", "The disk is full.");
        await store.postpone(...args);
      };
    },
  });
  const enqueued: OpenRun[] = [];
  let reserved = 0;
  const dispatcher = {
    reserve: (count: number) => ((reserved += count), true),
    release: (count: number) => (reserved -= count),
    enqueue: (released: readonly OpenRun[]) => enqueued.push(...released),
  };
  const context = { store: refusing, dispatcher, host: { clock: { now: () => 5 } } } as unknown as IngressContext;
  const release = async () => letRepliesGo(context, (await store.get(accepted.deliveryId))!, 10);

  await expect(release()).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(enqueued).toMatchObject([{ runId: first, replied: true, dueAt: 5 }]);
  refuses = false;
  expect(await release()).toEqual({ kind: "released", runs: 1 });
  expect(enqueued.map(({ runId }) => runId)).toEqual([first, second]);
  expect(reserved).toBe(0);
});
