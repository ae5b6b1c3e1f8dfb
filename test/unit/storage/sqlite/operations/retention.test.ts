import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { PURGE_GRACE_MS } from "../../../../../src/storage/sqlite/operations/claims.ts";
import { restoreSpec, storeSpec } from "../../../../../src/storage/sqlite/stored-spec.ts";
import {
  DONE,
  ENDED_COALESCED,
  ENDED_FILTERED,
  ENDED_SKIPPED,
  FAILED,
  HELD,
  QUEUED,
  RUNNING,
  RUNS_PER_DELIVERY,
} from "../../../../../src/storage/sqlite/codes.ts";
import { agentSpec, wakeSpec } from "../../../../conformance/store/new-delivery.ts";
import { openRetentionTables, type RowToRetain } from "./retention-tables.ts";

const done: RowToRetain = { receivedAt: 100, runs: [DONE] };
const young: RowToRetain = { receivedAt: 9000, runs: [DONE] };
const rangeOf = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe("prune", () => {
  it("removes a delivery with all that belongs to it", async () => {
    const tables = await openRetentionTables();
    tables.insert({ ...done, runs: [DONE, FAILED], claimUntil: 200, markUntil: 200 }, young);
    expect(tables.count("claims")).toBe(1);
    expect(tables.prune({ removeBefore: 101 })).toEqual([1, 0, 0]);
    expect(["deliveries", "runs", "contents", "attempts", "claims"].map(tables.count)).toEqual([1, 1, 1, 1, 0]);
    expect(tables.listed()).toEqual([2]);
  });

  it("keeps what was received at the bound or later", async () => {
    const tables = await openRetentionTables();
    tables.insert({ ...done, receivedAt: 99 }, { ...done, receivedAt: 100 }, { ...done, receivedAt: 101 }, young);
    tables.pruneAll({ removeBefore: 100, emptyBefore: 101 });
    expect(tables.listed()).toEqual([2, 3, 4]);
    expect(tables.filled()).toEqual([3, 4]);
  });

  it.each([QUEUED, RUNNING, HELD])("leaves a delivery alone that has a run in the open state %i", async (state) => {
    const tables = await openRetentionTables();
    tables.insert({ ...done, runs: [DONE, state] }, { ...done, runs: [state, FAILED] }, young);
    const everything = { removeBefore: 5000, emptyBefore: 5000, maxBytes: 0 };
    tables.insert(young);
    expect(tables.pruneAll(everything)).toMatchObject({ removed: 1, emptied: 1 });
    expect([tables.listed(), tables.filled()]).toEqual([
      [1, 2, 4],
      [1, 2],
    ]);
    tables.settle(1, DONE);
    tables.settle(2, DONE);
    expect(tables.pruneAll(everything)).toMatchObject({ removed: 2, emptied: 0 });
    expect(tables.listed()).toEqual([4]);
  });

  it("leaves a coalesced delivery alone while the run is open that its call is a part of", async () => {
    const tables = await openRetentionTables();
    const part: RowToRetain = { receivedAt: 100, ended: ENDED_COALESCED, related: 1 };
    tables.insert({ ...done, runs: [QUEUED] }, part, { ...part, related: 99 }, young);
    tables.pruneAll({ removeBefore: 5000, emptyBefore: 5000, maxBytes: 0 });
    expect(tables.listed()).toEqual([1, 2, 4]);
    expect(tables.filled()).toEqual([1, 2]);
    tables.settle(1, DONE);
    tables.pruneAll({ removeBefore: 5000 });
    expect(tables.listed()).toEqual([4]);
  });

  it("empties a delivery instead of removing it until half an hour after its claim and replay keys have lapsed", async () => {
    const tables = await openRetentionTables();
    tables.insert({ ...done, claimUntil: 2000 }, { ...done, markUntil: 3000 }, young);
    const [claimLapses, markLapses] = [2000 + PURGE_GRACE_MS, 3000 + PURGE_GRACE_MS];
    expect(tables.pruneAll({ now: claimLapses - 1, removeBefore: 5000 })).toMatchObject({ removed: 0, emptied: 2 });
    expect([tables.listed(), tables.filled()]).toEqual([[1, 2, 3], [3]]);
    expect(tables.pruneAll({ now: claimLapses, removeBefore: 5000 })).toMatchObject({ removed: 1, emptied: 0 });
    expect(tables.pruneAll({ now: markLapses - 1, removeBefore: 5000 })).toMatchObject({ removed: 0, emptied: 0 });
    expect(tables.pruneAll({ now: markLapses, removeBefore: 5000 })).toMatchObject({ removed: 1, emptied: 0 });
    expect(tables.listed()).toEqual([3]);
  });

  it("removes a delivery whose claim another one has taken over, and leaves the claim to that one", async () => {
    const tables = await openRetentionTables();
    tables.insert({ ...done, claimUntil: 1e14 }, young);
    tables.database.exec("UPDATE claims SET seq = 2");
    expect(tables.pruneAll({ now: 0, removeBefore: 5000 })).toMatchObject({ removed: 1 });
    expect(tables.count("claims")).toBe(1);
  });

  it("never removes the newest delivery of all, whose number would be given out again", async () => {
    const tables = await openRetentionTables();
    tables.insert(done, done);
    expect(tables.pruneAll({ removeBefore: 5000, maxBytes: 0 })).toMatchObject({ removed: 1, emptied: 1 });
    expect([tables.listed(), tables.filled()]).toEqual([[2], []]);
    tables.insert(done);
    expect(tables.pruneAll({ removeBefore: 5000 })).toMatchObject({ removed: 1, emptied: 1 });
    expect(tables.listed()).toEqual([3]);
  });

  it("empties once: the request and the texts go, what else a list shows and the specs stay", async () => {
    const tables = await openRetentionTables();
    const specs = [agentSpec({ message: "secret text" }), wakeSpec({ text: "not \ud800 well-formed" })];
    const [first, second] = specs.map(storeSpec);
    tables.insert({ ...done, runs: [DONE, DONE], spec: first!.json, text: first!.text }, young);
    tables.database
      .prepare("UPDATE contents SET spec = ?, text = ? WHERE id = ?")
      .run(second!.json, second!.text, RUNS_PER_DELIVERY + 1);
    expect(tables.pruneAll({ emptyBefore: 5000 })).toMatchObject({ removed: 0, emptied: 1 });
    expect(tables.pruneAll({ emptyBefore: 5000 })).toEqual({ removed: 0, emptied: 0, steps: 1 });
    tables.restart();
    expect(tables.pruneAll({ emptyBefore: 5000 })).toMatchObject({ removed: 0, emptied: 0 });
    const contents = tables.database.prepare("SELECT * FROM contents WHERE id < 2 * 4096 ORDER BY id").all();
    expect(contents.map(({ headers, query, body }) => ({ headers, query, body }))).toEqual([
      { headers: "{}", query: "{}", body: null },
      { headers: null, query: null, body: null },
    ]);
    expect(contents.map((row) => restoreSpec({ text: row["text"] as string, json: row["spec"] as string }))).toEqual([
      { ...specs[0], message: "", name: "agent" },
      { ...specs[1], text: "", name: "agent" },
    ]);
    expect(tables.filled()).toEqual([2]);
  });

  it("empties a delivery without a run, and leaves alone what never had a request", async () => {
    const tables = await openRetentionTables();
    tables.insert({ receivedAt: 1, ended: 0 }, { receivedAt: 1, ended: 2, body: null }, young);
    tables.database.exec(`DELETE FROM contents WHERE body IS NULL`);
    expect(tables.pruneAll({ emptyBefore: 5000 })).toMatchObject({ emptied: 1 });
    expect(tables.database.prepare("SELECT spec, text, headers FROM contents LIMIT 1").get()).toEqual({
      spec: null,
      text: null,
      headers: "{}",
    });
  });

  it("leaves nothing in an emptied delivery that shows what its request said", async () => {
    const tables = await openRetentionTables();
    const filtered: RowToRetain = { receivedAt: 1, ended: ENDED_FILTERED };
    const reasons = [
      'when: payload.email.endsWith("@example.org") is false; payload.email = "secret"',
      'events: "secret" is none of them',
      'the plugin saw "secret"',
      "a ping",
    ];
    tables.insert(
      ...reasons.map((reason) => ({ ...filtered, reason, mappingId: "github", name: "PR secret" })),
      { receivedAt: 1, ended: ENDED_SKIPPED, reason: 'overlap: "skip"', name: "secret" },
      { ...young, reason: 'when: x = "kept"', name: "kept" },
    );
    expect(tables.pruneAll({ emptyBefore: 5000 })).toMatchObject({ emptied: 5 });
    const shown = tables.database.prepare("SELECT name, reason FROM deliveries ORDER BY seq").all();
    expect(shown.map(({ name, reason }) => [name, reason])).toEqual([
      ["github", "when"],
      ["github", "events"],
      ["github", "the plugin saw "],
      ["github", "a ping"],
      ["agent", 'overlap: "skip"'],
      ["kept", 'when: x = "kept"'],
    ]);
  });

  it("empties the replies that are the text itself, and keeps the agent's", async () => {
    const tables = await openRetentionTables();
    const specs = [agentSpec({ mode: "deliver", name: "secret" }), agentSpec({ name: "secret" })].map(storeSpec);
    tables.insert(...specs.map(({ json: spec }) => ({ ...done, runs: rangeOf(600).map(() => DONE), spec })), young);
    expect(tables.pruneAll({ emptyBefore: 5000 })).toMatchObject({ emptied: 2 });
    const kept = tables.database.prepare("SELECT run / 4096 AS seq, count(reply) AS n FROM attempts GROUP BY 1").all();
    expect(kept.map(({ seq, n }) => [seq, n])).toEqual([
      [1, 0],
      [2, 600],
      [3, 1],
    ]);
    const named = tables.database.prepare("SELECT count(*) AS n FROM contents WHERE spec LIKE '%secret%'").get();
    expect(named?.["n"]).toBe(0);
  });

  it("finds what is old wherever it is: clocks are set", async () => {
    const tables = await openRetentionTables();
    tables.insert(...rangeOf(2000).map((seq) => (seq % 700 === 1 ? done : young)), young);
    expect(tables.pruneAll({ emptyBefore: 5000 }).emptied).toBe(3);
    expect(tables.pruneAll({ removeBefore: 5000 }).removed).toBe(3);
    expect(tables.pruneAll({ removeBefore: 5000, emptyBefore: 5000 })).toMatchObject({ removed: 0, emptied: 0 });
    // A clock that was set back makes an old one of the next.
    tables.insert(done, young);
    expect(tables.pruneAll({ removeBefore: 5000 }).removed).toBe(1);
  });

  it("changes at most 64 deliveries in one step", async () => {
    const tables = await openRetentionTables();
    tables.insert(...rangeOf(1000).map(() => done), young);
    expect(tables.prune({ removeBefore: 5000 })).toEqual([64, 0, 1]);
    const steps: number[] = [];
    for (let more = 1; more === 1;) {
      const [removed, emptied, again] = tables.prune({ emptyBefore: 5000 });
      expect(removed).toBe(0);
      steps.push(emptied);
      more = again;
    }
    expect(Math.max(...steps)).toBe(64);
    expect(steps.reduce((sum, one) => sum + one)).toBe(1000 - 64);
    expect(tables.pruneAll({ removeBefore: 5000 })).toMatchObject({ removed: 1000 - 64 });
  });

  it("ends a step after some 512 runs, and after 1 MiB that became free", async () => {
    const tables = await openRetentionTables();
    const many: RowToRetain = { receivedAt: 1, runs: rangeOf(200).map(() => DONE) };
    tables.insert(...rangeOf(5).map(() => many), ...rangeOf(6).map(() => done), young);
    expect(tables.prune({ removeBefore: 5000 })).toEqual([3, 0, 1]);
    tables.pruneAll({ removeBefore: 5000 });
    const body = randomBytes(400_000);
    tables.insert(...rangeOf(10).map(() => ({ ...done, body })), young);
    expect(tables.prune({ emptyBefore: 5000 })).toEqual([0, 3, 1]);
    expect(tables.pruneAll({ emptyBefore: 5000 })).toMatchObject({ emptied: 7, steps: 3 });
  });

  it("takes a delivery that is greater than all bounds in one step of its own", async () => {
    const tables = await openRetentionTables();
    tables.insert({ ...done, body: randomBytes(3_000_000), runs: rangeOf(512).map(() => DONE) }, done, young);
    expect(tables.prune({ removeBefore: 5000 })).toEqual([1, 0, 1]);
    expect(tables.pruneAll({ removeBefore: 5000 }).removed).toBe(1);
  });

  it("takes as many steps as it needs for one delivery of very many runs", async () => {
    const tables = await openRetentionTables();
    const many: RowToRetain = { receivedAt: 100, runs: rangeOf(1300).map(() => DONE) };
    tables.insert(many, { ...many, markUntil: 1e14 }, many, young);
    const texts = () =>
      Number(tables.database.prepare("SELECT count(*) AS n FROM contents WHERE text <> ''").get()?.["n"]);
    const left: number[] = [];
    for (let more = 1, emptied = 0; more === 1 && emptied === 0; left.push(texts())) {
      [, emptied, more] = tables.prune({ emptyBefore: 5000 });
      if (emptied === 0) expect(tables.filled()).toEqual([1, 2, 3, 4]);
    }
    expect(left.map((count) => 3901 - count)).toEqual([512, 1024, 1300]);
    expect(tables.filled()).toEqual([2, 3, 4]);
    expect(tables.prune({ now: 0, removeBefore: 5000 })).toEqual([0, 0, 1]);
    expect(tables.prune({ now: 0, removeBefore: 5000 })).toEqual([0, 0, 1]);
    expect(tables.listed()).toContain(1);
    expect(tables.prune({ now: 0, removeBefore: 5000 })).toEqual([1, 0, 1]);
    expect(tables.pruneAll({ now: 0, removeBefore: 5000 })).toMatchObject({ removed: 1, emptied: 1 });
    expect(tables.listed()).toEqual([2, 4]);
    expect(["runs", "contents", "attempts"].map(tables.count)).toEqual([1301, 1301, 1301]);
    tables.insert(many, done);
    expect(tables.remove(0, 5, 2)).toEqual([1, 1, 0]);
    expect(["runs", "contents", "attempts"].map(tables.count)).toEqual([1302, 1302, 1302]);
  });

  it("comes back to what was open when all around it was done", async () => {
    const tables = await openRetentionTables();
    tables.insert(...rangeOf(600).map((seq) => (seq === 5 || seq === 9 ? { ...done, runs: [QUEUED] } : done)), young);
    expect(tables.pruneAll({ emptyBefore: 5000 }).emptied).toBe(598);
    tables.settle(5, DONE);
    expect(tables.pruneAll({ emptyBefore: 5000 }).emptied).toBe(1);
    expect(tables.pruneAll({ removeBefore: 5000 }).removed).toBe(599);
    tables.settle(9, DONE);
    expect(tables.pruneAll({ removeBefore: 5000 }).removed).toBe(1);
  });

  it("looks at no block again in which nothing has become due", async () => {
    const tables = await openRetentionTables();
    tables.insert(...rangeOf(5000).map((seq) => ({ ...done, receivedAt: seq })), young);
    const first = tables.pruneAll({ removeBefore: 1, emptyBefore: 3000 });
    expect(first.emptied).toBe(2999);
    expect(tables.pruneAll({ removeBefore: 1, emptyBefore: 3000 })).toEqual({ removed: 0, emptied: 0, steps: 1 });
    expect(tables.pruneAll({ removeBefore: 1, emptyBefore: 3010 })).toMatchObject({ emptied: 10 });
    expect(tables.pruneAll({ removeBefore: 1, emptyBefore: 3010 })).toEqual({ removed: 0, emptied: 0, steps: 1 });
    tables.restart();
    expect(tables.pruneAll({ removeBefore: 1, emptyBefore: 3010 }).steps).toBeGreaterThan(5);
  });

  it("acts on as many in a step as it is asked for, each with all that belongs to it", async () => {
    const tables = await openRetentionTables();
    const rows = rangeOf(700).map((seq): RowToRetain => {
      if (seq === 100) return { ...done, runs: [QUEUED] };
      return seq === 200 ? { ...done, markUntil: 1e14 } : { ...done, runs: [DONE, DONE], reason: "r", bytes: 1500 };
    });
    tables.insert(...rows, { ...young, runs: [DONE, DONE] });
    expect(tables.prune({ emptyBefore: 5000, most: 200 })[1]).toBe(200);
    expect(tables.filled()).toEqual([100, ...rangeOf(701).slice(201)]);
    expect(tables.prune({ now: 0, removeBefore: 5000, most: 200 })).toEqual([199, 0, 1]);
    expect(tables.listed()).toEqual([100, 200, ...rangeOf(701).slice(201)]);
    expect(tables.pruneAll({ now: 0, removeBefore: 5000, most: 200 })).toMatchObject({ removed: 499, emptied: 0 });
    expect(tables.listed()).toEqual([100, 200, 701]);
    expect(["runs", "contents", "attempts"].map(tables.count)).toEqual([4, 4, 4]);
  });

  it("ends a step of many when it has freed a mebibyte", async () => {
    const tables = await openRetentionTables();
    tables.insert(...rangeOf(40).map(() => ({ ...done, body: randomBytes(100_000) })), young);
    const [removed, , more] = tables.prune({ removeBefore: 5000, most: 320 });
    expect([removed, more]).toEqual([11, 1]);
  });

  it("begins a round again when the limits have moved by more than a minute", async () => {
    const tables = await openRetentionTables();
    tables.insert(...rangeOf(300).map((seq) => ({ ...done, receivedAt: seq === 1 ? 200_000 : 1 })), young);
    expect(tables.prune({ removeBefore: 2 })).toEqual([64, 0, 1]);
    expect(tables.pruneAll({ removeBefore: 200_001 }).removed).toBe(300 - 64);
    tables.insert(...rangeOf(300).map((seq) => ({ ...done, receivedAt: seq === 1 ? 200_000 : 1 })), young);
    tables.pruneAll({ emptyBefore: -300_000 });
    for (let steps = 0; steps < 2; steps++) tables.prune({ emptyBefore: 2 });
    expect(tables.pruneAll({ emptyBefore: 200_001 }).emptied).toBe(301 - 128);
  });

  it("starts over when the transaction of a step was rolled back", async () => {
    const tables = await openRetentionTables();
    tables.insert(...rangeOf(600).map(() => done), young);
    const old = { removeBefore: 5000 };
    for (let step = 0; step < 4; step++) tables.prune(old);
    for (let step = 0; step < 3; step++) tables.prune(old, "ROLLBACK");
    expect(tables.pruneAll(old).removed).toBe(600 - 256);
    tables.insert(...rangeOf(600).map(() => done), young);
    const undone: number[] = [];
    for (let step = 0; step < 8; step++) undone.push(tables.prune({ emptyBefore: 5000 }, "ROLLBACK")[1]);
    expect(undone.filter((emptied) => emptied === 64).length).toBeGreaterThan(1);
    expect(tables.pruneAll({ emptyBefore: 5000 }).emptied).toBe(600);
  });
});
