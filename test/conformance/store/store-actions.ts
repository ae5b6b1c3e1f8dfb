/** What tests do with a store again and again. */
import { expect } from "vitest";
import type { DeliveryStore } from "../../../src/storage/delivery-store.ts";
import type { OpenRun } from "../../../src/storage/open-run.ts";
import type { AcceptOutcome, NewDelivery } from "../../../src/storage/new-delivery.ts";
import { newDelivery } from "./new-delivery.ts";

/** Accepts a delivery that must be new. */
export async function accept(store: DeliveryStore, changes: Partial<NewDelivery> = {}) {
  return accepted(await store.accept(newDelivery(changes)));
}

/** The ids of a delivery that must have been accepted as new. */
export function accepted(outcome: AcceptOutcome): { deliveryId: string; runIds: readonly string[]; runId: string } {
  expect(outcome.kind).toBe("accepted");
  const runIds = outcome.kind === "accepted" ? outcome.runIds : [];
  return { deliveryId: outcome.deliveryId, runIds, runId: runIds[0] ?? "" };
}

export async function openRuns(store: DeliveryStore): Promise<OpenRun[]> {
  const runs: OpenRun[] = [];
  for await (const run of store.openRuns()) runs.push(run);
  return runs;
}

/** Every id of a list, in its order, page after page. */
export async function listAll(
  store: DeliveryStore,
  query: Omit<Parameters<DeliveryStore["list"]>[0], "cursor">,
): Promise<string[]> {
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.list({ ...query, ...(cursor !== undefined && { cursor }) });
    expect(page.deliveries.length).toBeLessThanOrEqual(query.limit);
    ids.push(...page.deliveries.map((delivery) => delivery.id));
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return ids;
}

/** A run as the list of open runs has it; `undefined` when it is not open. */
export async function openRun(store: DeliveryStore, runId: string): Promise<OpenRun | undefined> {
  return (await openRuns(store)).find((run) => run.runId === runId);
}
