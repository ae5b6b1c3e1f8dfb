import { expect, it, onTestFinished } from "vitest";
import { deliveriesAfter } from "../../../../../src/hosts/embedded/offered-events/occurrence.ts";
import { SettledIds } from "../../../../../src/hosts/embedded/offered-events/settled-ids.ts";
import type { DeliveryReader, DeliverySummary } from "../../../../../src/index.ts";
import { recordingLogger } from "../server/recording-logger.ts";

const POLL = { timeout: 15_000, interval: 20 };
const EVENT = { name: "built", description: "", mapping: "builds", path: "builds" };

const delivery = (id: string, changes: Partial<DeliverySummary> = {}): DeliverySummary => ({
  id,
  state: "done",
  reason: null,
  route: "builds",
  mappingId: "builds",
  name: "Hook",
  receivedAt: "2026-11-26T10:00:00.000Z",
  runIds: [],
  event: null,
  actor: null,
  level: null,
  relatedTo: null,
  ...changes,
});

/** What is committed, the newest first. */
function readerOf(committed: readonly DeliverySummary[]): DeliveryReader {
  const list = () =>
    Promise.resolve({ deliveries: committed.toSorted((one, other) => (one.id < other.id ? 1 : -1)), nextCursor: null });
  return { list } as unknown as DeliveryReader;
}

it("an id that another gateway commits after a later one is told as well", async () => {
  const committed = [delivery("dlv_1")];
  const told: string[] = [];
  let position = { id: "", at: 0 };
  const settled = new SettledIds({
    reader: () => readerOf(committed),
    logger: recordingLogger(),
    settleMs: 3_000,
    onChange: () => {},
  });
  expect(settled.upTo).toBeUndefined();
  settled.start();
  onTestFinished(() => settled.stop());
  const tell = async () => {
    const { deliveries } = await deliveriesAfter(readerOf(committed), EVENT, position, settled.upTo);
    for (const { id } of deliveries) {
      told.push(id);
      position = { id, at: 0 };
    }
    return told;
  };
  expect(await tell()).toEqual([]);
  await expect.poll(tell, POLL).toEqual(["dlv_1"]);
  committed.push(delivery("dlv_3"));
  expect(await tell()).toEqual(["dlv_1"]);
  committed.push(delivery("dlv_2"));
  await expect.poll(tell, POLL).toEqual(["dlv_1", "dlv_2", "dlv_3"]);
});

it("looks again after a failure, and says when further ids count", async () => {
  let failures = 1;
  let changes = 0;
  const settled = new SettledIds({
    reader: () => ({
      list: (query) => (failures-- > 0 ? Promise.reject(new Error("away")) : readerOf([delivery("dlv_1")]).list(query)),
    }),
    logger: recordingLogger(),
    settleMs: 0,
    onChange: () => changes++,
  });
  settled.start();
  onTestFinished(() => settled.stop());
  await expect.poll(() => settled.upTo, POLL).toBe("dlv_1");
  await expect.poll(() => changes, POLL).toBe(1);
});

it("a delivery whose reply is held is told, and one that is held for its level is not", async () => {
  const committed = [
    delivery("dlv_1", { state: "held", reason: "held reply: it has a secret" }),
    delivery("dlv_2", { state: "held", reason: "quarantine: of unknown level" }),
    delivery("dlv_3", { state: "filtered", reason: "events" }),
    delivery("dlv_4"),
  ];
  const { deliveries } = await deliveriesAfter(readerOf(committed), EVENT, { id: "", at: 0 });
  expect(deliveries.map(({ id }) => id)).toEqual(["dlv_1", "dlv_4"]);
});
