/** What an operator sees of calls whose transform failed, and does about them. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ActiveConfig } from "../../../../src/ingress/active-config.ts";
import { DeliveryOperations } from "../../../../src/ingress/operations/deliveries.ts";
import type { BulkOutcome, Target } from "../../../../src/ingress/operations/deliveries.ts";
import type { OperationOutcome } from "../../../../src/ingress/operations/outcome.ts";
import { callPipeline } from "../stages/pipeline-calls.ts";
import { StageBench } from "../stages/stage-bench.ts";

const REAL = { dryRun: false, asAccepted: false };
const DRY = { dryRun: true, asAccepted: false };
const FAILED: Target = { filter: { state: "failed" } };
const WORKING = "export default ({ payload }) => ({ message: `made of ${payload.text}` });";
const BROKEN = "export default ({ payload }) => payload.branch.name;";

const transform = { module: "build.js" };
const mapping = { id: "in", match: { path: "in" }, messageTemplate: "{{text}}", deliver: false, transform };
const gathering = { ...mapping, id: "burst", match: { path: "burst" }, coalesce: { windowSeconds: 3_600 } };

let folder: string;
let bench: StageBench;
let active: ActiveConfig;
let operations: DeliveryOperations;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "failed-transforms-"));
  mkdirSync(join(folder, "hooks", "transforms"), { recursive: true });
  bench = await StageBench.open();
  Object.assign(bench.ingress.host, { paths: { configDir: folder, stateDir: folder } });
  operations = new DeliveryOperations({ ingress: bench.ingress, active: () => active });
});
afterEach(async () => {
  await bench[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

/** Writes the module and loads the configuration that uses it. */
async function use(module: string, changes: object = {}): Promise<void> {
  writeFileSync(join(folder, "hooks", "transforms", "build.js"), module);
  const transforms = { isolation: "none" };
  active = await bench.active({ mappings: [mapping, { ...gathering, ...changes }], transforms });
}

async function send(path: string, text: string): Promise<number> {
  return (await callPipeline(bench, active, { path, body: JSON.stringify({ text }) })).status;
}

/** Ends the one run of a delivery as failed. */
async function fail(id: string): Promise<void> {
  const { store, dispatcher } = bench.ingress;
  const { runIds } = (await store.get(id))!;
  await store.stopCoalescing(runIds[0]!);
  await store.settle(runIds[0]!, { state: "failed", reason: "no model" });
  dispatcher.withdraw({ runIds, state: "canceled", reason: "" });
}

/** A failed run that stands for three calls. */
async function gathered(): Promise<string> {
  await use(WORKING);
  for (const text of ["one", "two", "three"]) expect(await send("burst", text)).toBe(202);
  const [first] = (await operations.list({ state: "queued", limit: 5 })).deliveries;
  await fail(first!.id);
  return first!.id;
}

/** Ids of what is failed, the newest first. */
async function failedIds(): Promise<string[]> {
  const { deliveries } = await operations.list({ state: "failed", limit: 50 });
  return deliveries.map(({ id }) => id);
}

function outcomesOf({ deliveries }: BulkOutcome): Record<string, OperationOutcome> {
  return Object.fromEntries(deliveries.map(({ delivery, outcome }) => [delivery.id, outcome]));
}

async function messageOf(outcome: OperationOutcome | undefined): Promise<string | undefined> {
  const spec = outcome?.kind === "replayed" ? (await operations.get(outcome.deliveryId))?.runs[0]?.spec : undefined;
  return spec?.kind === "agent" ? spec.message : undefined;
}

describe("a call whose transform failed", () => {
  it("is found by its state, and replayed from its bytes once the module is mended", async () => {
    await use(BROKEN);
    expect(await send("in", "one")).toBe(500);
    const [id = ""] = await failedIds();
    expect(await operations.get(id)).toMatchObject({ state: "failed", mappingId: "in", runs: [], relatedTo: null });
    expect(Buffer.from((await operations.body(id))!).toString()).toBe('{"text":"one"}');
    expect(outcomesOf(await operations.bulk("replay", FAILED, DRY))).toEqual({
      [id]: { kind: "planned", replay: { runs: 0, repeated: 0, done: 0, calls: 1 } },
    });
    await use(WORKING);
    const outcome = outcomesOf(await operations.bulk("replay", FAILED, REAL))[id];
    expect(outcome).toMatchObject({ kind: "replayed", state: "queued" });
    expect(await messageOf(outcome)).toBe("made of one");
    expect(outcomesOf(await operations.bulk("replay", FAILED, REAL))[id]).toMatchObject({
      kind: "left",
      reason: expect.stringContaining("replayed as"),
    });
  });

  it("is refused as long as the module fails, and is then taken by its latest replay, once", async () => {
    await use(BROKEN);
    await send("in", "one");
    await send("in", "two");
    const [two = "", one = ""] = await failedIds();
    expect(await operations.replay(one, { asAccepted: false })).toMatchObject({
      kind: "refused",
      refusal: { refused: "TRANSFORM_FAILED" },
    });
    const [again = ""] = await failedIds();
    expect(await operations.get(again)).toMatchObject({ relatedTo: { how: "replay", deliveryId: one }, runIds: [] });
    const bulk = await operations.bulk("replay", FAILED, REAL);
    expect(bulk).toMatchObject({ matched: 3, stopped: undefined });
    expect(outcomesOf(bulk)).toMatchObject({
      [one]: { kind: "left", reason: `its replay ${again} is replayed` },
      [two]: { kind: "refused", refusal: { refused: "TRANSFORM_FAILED" } },
      [again]: { kind: "refused", refusal: { refused: "TRANSFORM_FAILED" } },
    });
    await use(WORKING);
    const mended = Object.values(outcomesOf(await operations.bulk("replay", FAILED, REAL)));
    const messages = await Promise.all(mended.map(messageOf));
    expect(messages.filter((message) => message !== undefined)).toEqual(["made of two", "made of one"]);
    expect(bench.ingress.dispatcher.open).toBe(2);
  });

  it("has nothing that could be repeated as accepted, or canceled, and can be purged", async () => {
    await use(BROKEN);
    await send("in", "one");
    const [id = ""] = await failedIds();
    const asAccepted = 'it is failed and was accepted without a run; replay it without "as accepted"';
    expect(await operations.replay(id, { asAccepted: true })).toEqual({ kind: "left", reason: asAccepted });
    const bulk = await operations.bulk("replay", FAILED, { dryRun: false, asAccepted: true });
    expect(outcomesOf(bulk)).toEqual({ [id]: { kind: "left", reason: asAccepted } });
    const canceling = { kind: "left", reason: "it is failed; nothing of it is left to cancel" };
    expect(await operations.cancel(id)).toEqual(canceling);
    expect(outcomesOf(await operations.bulk("cancel", FAILED, REAL))).toEqual({ [id]: canceling });
    await use(WORKING);
    await send("in", "later");
    expect(await operations.purge(id)).toEqual({ kind: "removed" });
    expect(await failedIds()).toEqual([]);
  });

  it("and is a replay of many coalesced calls loses none of them: the first one is replayed again", async () => {
    const id = await gathered();
    await use(BROKEN);
    expect(outcomesOf(await operations.bulk("replay", FAILED, REAL))[id]).toMatchObject({ kind: "refused" });
    const [again = ""] = await failedIds();
    await use(WORKING);
    const outcomes = outcomesOf(await operations.bulk("replay", FAILED, REAL));
    expect(outcomes[again]).toEqual({
      kind: "left",
      reason: `it is a replay of ${id}, whose run serves 3 calls; replay that one`,
    });
    expect(outcomes[id]).toMatchObject({ kind: "replayed", gathered: { deliveries: [{}, {}], left: [] } });
    const after = outcomesOf(await operations.bulk("replay", FAILED, REAL));
    expect(Object.values(after).map(({ kind }) => kind)).toEqual(["left", "left"]);
  });
});

describe("a replay of many coalesced calls", () => {
  it("that had a run for all of them, and failed, is taken itself", async () => {
    const id = await gathered();
    const again = await operations.replay(id, { asAccepted: true });
    const replayed = again.kind === "replayed" ? again.deliveryId : "";
    await fail(replayed);
    expect(outcomesOf(await operations.bulk("replay", FAILED, DRY))).toMatchObject({
      [id]: { kind: "left", reason: `its replay ${replayed} is replayed` },
      [replayed]: { kind: "planned" },
    });
  });

  it("that was filtered is taken itself, since the others were replayed beside it", async () => {
    const id = await gathered();
    await use(WORKING, { when: "false" });
    const outcome = await operations.replay(id, { asAccepted: false });
    expect(outcome).toMatchObject({ kind: "replayed", state: "filtered", gathered: { left: [] } });
    const filtered = await operations.bulk("replay", { filter: { state: "filtered" } }, DRY);
    expect(Object.values(outcomesOf(filtered)).map(({ kind }) => kind)).toEqual(["planned", "planned", "planned"]);
  });
});
