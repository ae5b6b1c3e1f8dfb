import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SettledState } from "../../../../src/core/run.ts";
import type { ActiveConfig } from "../../../../src/ingress/active-config.ts";
import { DeliveryOperations } from "../../../../src/ingress/operations/deliveries.ts";
import type { BulkOutcome, Target } from "../../../../src/ingress/operations/deliveries.ts";
import type { OperationOutcome } from "../../../../src/ingress/operations/outcome.ts";
import { callPipeline } from "../stages/pipeline-calls.ts";
import { RECEIVED_AT, StageBench } from "../stages/stage-bench.ts";

const REAL = { dryRun: false, asAccepted: false };
const DRY = { dryRun: true, asAccepted: false };
const FAILED: Target = { filter: { state: "failed" } };
const mapping = { id: "in", match: { path: "in" }, messageTemplate: "{{text}}", deliver: false };
const items = { ...mapping, id: "many", match: { path: "many" }, messageTemplate: "{{items[0]}}", forEach: "items" };
const gathering = { ...mapping, id: "burst", match: { path: "burst" }, coalesce: { windowSeconds: 3_600 } };

let bench: StageBench;
let active: ActiveConfig;
let operations: DeliveryOperations;

beforeEach(async () => {
  bench = await StageBench.open();
  await configure({ mappings: [mapping, items, gathering] });
  operations = new DeliveryOperations({ ingress: bench.ingress, active: () => active });
});
afterEach(() => bench[Symbol.asyncDispose]());

async function configure(block: object): Promise<void> {
  active = await bench.active(block);
}

async function send(path: string, payload: object): Promise<string> {
  const body = JSON.stringify(payload);
  const answer = await callPipeline(bench, active, { path, body });
  return (JSON.parse(answer.payload) as { deliveryId: string }).deliveryId;
}

/** Ends the runs of a delivery, each in its state; the last one given holds for the rest. */
async function settle(id: string, ...states: readonly SettledState[]): Promise<void> {
  const { store, dispatcher } = bench.ingress;
  const { runIds } = (await store.get(id))!;
  await store.stopCoalescing(runIds[0]!);
  for (const [at, runId] of runIds.entries()) {
    await store.settle(runId, { state: states[at] ?? states.at(-1)!, reason: null });
  }
  dispatcher.withdraw({ runIds, state: "canceled", reason: "" });
}

async function sent(path: string, payload: object, ...states: readonly SettledState[]): Promise<string> {
  const id = await send(path, payload);
  await settle(id, ...states);
  return id;
}

async function failures(count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) ids.push(await sent("in", { text: `call ${n}` }, "failed"));
  return ids;
}

/** Three calls whose common run has failed. */
async function deadLetter(): Promise<string[]> {
  const ids: string[] = [];
  for (const text of ["one", "two", "three"]) ids.push(await send("burst", { text }));
  await settle(ids[0]!, "failed");
  return ids;
}

function kinds({ deliveries }: BulkOutcome): Record<string, string> {
  return Object.fromEntries(deliveries.map(({ delivery, outcome }) => [delivery.id, outcome.kind]));
}

function outcomeOf({ deliveries }: BulkOutcome, id: string): OperationOutcome | undefined {
  return deliveries.find(({ delivery }) => delivery.id === id)?.outcome;
}

function newIdOf(bulk: BulkOutcome, id: string): string {
  const outcome = outcomeOf(bulk, id);
  if (outcome?.kind !== "replayed") throw new Error(`${id} was not replayed`);
  return outcome.deliveryId;
}

describe("a replay of all that fit", () => {
  it("leaves those alone whose replay is open or done, and says which one that is", async () => {
    const [id] = await failures(1);
    const again = newIdOf(await operations.bulk("replay", FAILED, REAL), id!);
    const whileOpen = { kind: "left", reason: `replayed as ${again} (queued)` };
    for (const options of [REAL, DRY]) {
      expect(outcomeOf(await operations.bulk("replay", FAILED, options), id!)).toEqual(whileOpen);
    }
    await settle(again, "done");
    expect(outcomeOf(await operations.bulk("replay", FAILED, REAL), id!)).toEqual({
      kind: "left",
      reason: `replayed as ${again} (done)`,
    });
    expect(kinds(await operations.bulk("replay", { ids: [id!] }, REAL))).toEqual({ [id!]: "replayed" });
    expect((await operations.replay(id!, { asAccepted: true })).kind).toBe("replayed");
  });

  it("takes what failed again once, by its latest replay", async () => {
    const [id] = await failures(1);
    const second = newIdOf(await operations.bulk("replay", FAILED, REAL), id!);
    await settle(second, "failed");
    const again = await operations.bulk("replay", FAILED, REAL);
    expect(kinds(again)).toEqual({ [id!]: "left", [second]: "replayed" });
    expect(outcomeOf(again, id!)).toEqual({ kind: "left", reason: `its replay ${second} is replayed` });
    const third = newIdOf(again, second);
    await settle(third, "done");
    expect(kinds(await operations.bulk("replay", FAILED, REAL))).toEqual({ [id!]: "left", [second]: "left" });
  });

  it("knows what was replayed beside it, and takes a failed replay of what was done", async () => {
    const [id] = await failures(1);
    const second = newIdOf(await operations.bulk("replay", FAILED, REAL), id!);
    await settle(second, "failed");
    const third = newIdOf(await operations.bulk("replay", { ids: [id!] }, REAL), id!);
    expect(outcomeOf(await operations.bulk("replay", FAILED, REAL), second)).toEqual({
      kind: "left",
      reason: `replayed as ${third} (queued)`,
    });
    await settle(third, "done");
    const wished = newIdOf(await operations.bulk("replay", { ids: [third] }, REAL), third);
    await settle(wished, "failed");
    expect(kinds(await operations.bulk("replay", FAILED, DRY))).toMatchObject({ [wished]: "planned" });
  });

  it("continues with the rest each time it is run, until nothing is left", async () => {
    const ids = await failures(5);
    const replayed: string[][] = [];
    const more: boolean[] = [];
    for (let round = 0; round < 3; round++) {
      const outcome = await operations.bulk("replay", { ...FAILED, limit: 2 }, REAL);
      more.push(outcome.more);
      replayed.push(
        outcome.deliveries.filter((each) => each.outcome.kind === "replayed").map((each) => each.delivery.id),
      );
    }
    expect(more).toEqual([true, true, false]);
    expect(replayed).toEqual([ids.slice(3), ids.slice(1, 3), ids.slice(0, 1)]);
    expect(await operations.bulk("replay", { ...FAILED, limit: 2 }, REAL)).toMatchObject({ matched: 5, more: false });
  });

  it("leaves one alone that was replayed too often to be sure", async () => {
    const [id] = await failures(1);
    const { store } = bench.ingress;
    const endless = Array.from({ length: 200 }, (_, n) => `dlv_z${String(n).padStart(3, "0")}`);
    store.replaysOf = async (of) => [{ id: endless[endless.indexOf(of) + 1]!, state: "failed" }];
    expect(outcomeOf(await operations.bulk("replay", FAILED, REAL), id!)).toEqual({
      kind: "left",
      reason: "replayed as dlv_z099 (failed)",
    });
  });

  it("comes to an end for deliveries that are done, whose replays are done as well", async () => {
    const id = await sent("in", { text: "x" }, "done");
    const DONE: Target = { filter: { state: "done" } };
    const again = newIdOf(await operations.bulk("replay", DONE, REAL), id);
    await settle(again, "done");
    const next = await operations.bulk("replay", DONE, REAL);
    expect(kinds(next)).toEqual({ [id]: "left", [again]: "left" });
    expect(outcomeOf(next, again)).toEqual({
      kind: "left",
      reason: `it is a replay of ${id} and is done; to run it once more, name it by its id`,
    });
    await bench.ingress.store.remove([id], RECEIVED_AT);
    expect(outcomeOf(await operations.bulk("replay", FAILED, REAL), again)).toBeUndefined();
  });

  it("runs each once when two are in progress at the same time", async () => {
    const ids = await failures(4);
    const outcomes = await Promise.all([
      operations.bulk("replay", FAILED, REAL),
      operations.bulk("replay", FAILED, REAL),
    ]);
    expect(new Set(Object.values(kinds(outcomes[0])))).toEqual(new Set(["replayed"]));
    expect(new Set(Object.values(kinds(outcomes[1])))).toEqual(new Set(["left"]));
    expect(bench.ingress.dispatcher.open).toBe(ids.length);
  });

  it("is not kept from its turn by one before it that has failed", async () => {
    await failures(1);
    const { store } = bench.ingress;
    const list = store.list.bind(store);
    store.list = () => Promise.reject(new Error("a defect"));
    const first = operations.bulk("replay", FAILED, REAL);
    await expect(first).rejects.toThrow("a defect");
    store.list = list;
    expect(await operations.bulk("replay", FAILED, REAL)).toMatchObject({ matched: 1, stopped: undefined });
  });
});

describe("a replay of calls that were coalesced", () => {
  it("gives the new delivery of each, and takes none of them twice", async () => {
    const ids = await deadLetter();
    const outcome = await operations.bulk("replay", { filter: { route: "burst" } }, REAL);
    expect(kinds(outcome)).toEqual({ [ids[0]!]: "replayed", [ids[1]!]: "left", [ids[2]!]: "left" });
    expect(outcomeOf(outcome, ids[0]!)).toMatchObject({
      state: "queued",
      gathered: {
        deliveries: [
          { of: ids[1], result: { state: "coalesced", deliveryId: expect.any(String) } },
          { of: ids[2], result: { state: "coalesced" } },
        ],
        left: [],
        stopped: undefined,
      },
    });
    expect(outcomeOf(outcome, ids[1]!)).toMatchObject({ reason: expect.stringContaining("name this one by its id") });
    const named = await operations.bulk("replay", { ids }, REAL);
    expect(kinds(named)).toEqual({ [ids[0]!]: "replayed", [ids[1]!]: "left", [ids[2]!]: "left" });
    expect(outcomeOf(named, ids[1]!)).toMatchObject({ reason: expect.stringContaining("which is replayed") });
    expect(kinds(await operations.bulk("replay", { ids: ids.slice(1) }, REAL))).toEqual({
      [ids[1]!]: "replayed",
      [ids[2]!]: "replayed",
    });
  });

  it("takes one that was coalesced by a run that is gone", async () => {
    const ids = await deadLetter();
    const { store } = bench.ingress;
    const get = store.get.bind(store);
    store.get = (id) => (id === ids[0] ? Promise.resolve(undefined) : get(id));
    const outcome = await operations.bulk("replay", { filter: { state: "coalesced" } }, DRY);
    expect(kinds(outcome)).toEqual({ [ids[1]!]: "planned", [ids[2]!]: "planned" });
  });

  it("stops where the queue is full, and names those that were not reached", async () => {
    const ids = await deadLetter();
    const [later, replayedBefore] = await failures(2);
    const before = newIdOf(await operations.bulk("replay", { ids: [replayedBefore!] }, REAL), replayedBefore!);
    await settle(before, "done");
    await configure({ mappings: [mapping, { ...gathering, coalesce: undefined }], maxQueuedRuns: 2 });
    const outcome = await operations.bulk("replay", FAILED, REAL);
    expect(outcome).toMatchObject({ matched: 3, stopped: { refused: "QUEUE_FULL" } });
    expect(kinds(outcome)).toEqual({ [ids[0]!]: "replayed", [replayedBefore!]: "left" });
    expect(outcomeOf(outcome, ids[0]!)).toMatchObject({
      gathered: { deliveries: [{ of: ids[1] }], left: [ids[2]], stopped: { refused: "QUEUE_FULL" } },
    });
    expect(outcomeOf(outcome, later!)).toBeUndefined();
  });

  it("says of one that is refused why, next to those that are not", async () => {
    const ids = await deadLetter();
    const { store } = bench.ingress;
    const read = store.replayable.bind(store);
    store.replayable = (id) => (id === ids[1] ? Promise.resolve(undefined) : read(id));
    expect(await operations.replay(ids[0]!, { asAccepted: false })).toMatchObject({
      gathered: {
        deliveries: [{ of: ids[1], result: { refused: "DELIVERY_NOT_FOUND" } }, { result: { state: "coalesced" } }],
      },
    });
  });

  it("counts as made for a call whose replay became a part of another's run", async () => {
    const first = await sent("burst", { text: "one" }, "failed");
    const second = await sent("burst", { text: "two" }, "failed");
    const outcome = await operations.bulk("replay", FAILED, REAL);
    expect(kinds(outcome)).toEqual({ [first]: "replayed", [second]: "replayed" });
    const carrier = newIdOf(outcome, first);
    const part = newIdOf(outcome, second);
    expect(outcomeOf(outcome, second)).toMatchObject({ state: "coalesced" });
    expect(outcomeOf(await operations.bulk("replay", FAILED, REAL), second)).toEqual({
      kind: "left",
      reason: `replayed as ${part} (coalesced)`,
    });
    await settle(carrier, "failed");
    const again = await operations.bulk("replay", FAILED, REAL);
    expect(kinds(again)).toEqual({ [first]: "left", [second]: "left", [carrier]: "replayed" });
    await settle(newIdOf(again, carrier), "done");
    expect(new Set(Object.values(kinds(await operations.bulk("replay", FAILED, REAL))))).toEqual(new Set(["left"]));
  });
});

describe("the plan of a replay", () => {
  async function planOf(id: string, asAccepted = false): Promise<OperationOutcome | undefined> {
    return outcomeOf(await operations.bulk("replay", { ids: [id] }, { dryRun: true, asAccepted }), id);
  }

  it("says how many runs there are, and how many are done and would run again", async () => {
    const id = await sent("many", { items: ["a", "b", "c"] }, "done", "failed", "done");
    expect(await planOf(id)).toEqual({ kind: "planned", replay: { runs: 3, repeated: 3, done: 2, calls: 1 } });
    expect(await planOf(id, true)).toEqual({ kind: "planned", replay: { runs: 3, repeated: 1, done: 2, calls: 1 } });
    const done = await sent("many", { items: ["a", "b"] }, "done");
    expect(await planOf(done, true)).toEqual({ kind: "planned", replay: { runs: 2, repeated: 2, done: 2, calls: 1 } });
  });

  it("says how many calls a run coalesced, and counts one that was coalesced alone", async () => {
    const ids = await deadLetter();
    expect(await planOf(ids[0]!)).toMatchObject({ replay: { runs: 1, calls: 3 } });
    for (const asAccepted of [false, true]) {
      expect(await planOf(ids[1]!, asAccepted)).toMatchObject({ replay: { runs: 1, repeated: 1, done: 0, calls: 1 } });
    }
  });

  it("says what cannot be done, since the request is not kept any more", async () => {
    const [id] = await failures(1);
    const { store } = bench.ingress;
    const later = RECEIVED_AT + 1;
    for (let more = true; more;) {
      ({ more } = await store.prune({ now: later, removeBefore: 0, emptyBefore: later, maxBytes: null }));
    }
    expect(await planOf(id!)).toMatchObject({ kind: "refused", refusal: { refused: "PAYLOAD_GONE" } });
    expect(await planOf(id!, true)).toMatchObject({ kind: "refused", refusal: { refused: "PAYLOAD_GONE" } });
    const real = await operations.bulk("replay", FAILED, REAL);
    expect(kinds(real)).toEqual({ [id!]: "refused" });
  });

  it("takes a body without a byte for one that is kept", async () => {
    const outcome = await bench.ingress.store.accept({
      receivedAt: RECEIVED_AT,
      route: "in",
      mappingId: "in",
      name: "Empty",
      headers: {},
      query: {},
      body: new Uint8Array(),
      runs: [],
      ended: { state: "filtered", reason: "when" },
    });
    expect(await planOf(outcome.deliveryId)).toEqual({
      kind: "planned",
      replay: { runs: 0, repeated: 0, done: 0, calls: 1 },
    });
  });

  it("of one that is removed meanwhile says that there is none", async () => {
    const [id] = await failures(1);
    const { store } = bench.ingress;
    const get = store.get.bind(store);
    let reads = 0;
    store.get = (wanted) => (++reads > 1 ? Promise.resolve(undefined) : get(wanted));
    expect(await planOf(id!)).toEqual({ kind: "unknown" });
  });
});
