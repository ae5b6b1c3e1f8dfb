import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { acceptRow } from "../../../../../src/storage/sqlite/operations/accept-row.ts";
import type { CoalesceClaim, NewDelivery } from "../../../../../src/storage/new-delivery.ts";
import { newCoalesce, newDelivery, RECEIVED_AT } from "../../../../conformance/store/new-delivery.ts";
import { openStoreTables, TAG } from "../store-in-thread.ts";

const RUN = 4096;
const row = (seq: number, changes: Partial<NewDelivery>) =>
  ["accept", acceptRow(seq, TAG, newDelivery(changes))] as const;

async function open() {
  const tables = await openStoreTables();
  const count = (text: string) => Number(tables.reader.prepare(`SELECT count(*) AS n FROM ${text}`).get()?.["n"]);
  return { ...tables, count, calls: (run: number) => callsOf(tables, run) };
}

function callsOf({ reader }: Pick<Awaited<ReturnType<typeof openStoreTables>>, "reader">, run: number): unknown {
  return reader.prepare("SELECT calls FROM runs WHERE id = ?").get(run)?.["calls"];
}

describe("coalescing in the writer thread", () => {
  it("counts each call once when its commit is carried out a second time, since another call failed", async () => {
    const { commit, calls, count } = await open();
    const coalesce = newCoalesce();
    const broken = acceptRow(3, TAG, newDelivery({ coalesce })).with(5, null);
    const outcome = commit([row(1, { coalesce }), row(2, { coalesce }), ["accept", broken], row(4, { coalesce })]);
    expect(outcome.failures.map(({ index }) => index)).toEqual([2]);
    expect(outcome.results).toMatchObject([
      { kind: "coalescing" },
      { kind: "coalesced", run: RUN },
      undefined,
      { kind: "coalesced", run: RUN },
    ]);
    expect(calls(RUN)).toBe(3);
    expect(count("deliveries WHERE ended = 3")).toBe(2);
  });

  it("starts over when the call whose run was to coalesce failed", async () => {
    const { commit, count } = await open();
    const coalesce = newCoalesce();
    const broken = acceptRow(1, TAG, newDelivery({ coalesce })).with(5, null);
    const outcome = commit([["accept", broken], row(2, { coalesce }), row(3, { coalesce })]);
    expect(outcome.results).toMatchObject([undefined, { kind: "coalescing" }, { kind: "coalesced", run: 2 * RUN }]);
    expect(count("gathering")).toBe(1);
  });

  it.each<[string, readonly (readonly [string, unknown])[]]>([
    ["to gather no more", [["stopCoalescing", [RUN, TAG]]]],
    ["begun", [["beginAttempt", [RUN, TAG, 1, 1000]]]],
    ["held", [["hold", [RUN, TAG, "x"]]]],
    ["postponed", [["postpone", [RUN, TAG, 5, "x"]]]],
    ["settled", [["settle", [0, null, null, RUN, TAG]]]],
  ])("leaves no row behind of a run that is %s", async (_, operations) => {
    const { commit, count } = await open();
    commit([row(1, { coalesce: newCoalesce() }), row(2, { coalesce: newCoalesce() })]);
    expect(count("gathering")).toBe(2);
    commit(operations);
    expect(count("gathering")).toBe(1);
    expect(count(`gathering WHERE run = ${2 * RUN}`)).toBe(1);
  });

  it("joins no run that is not in the queue, even when it is still recorded as coalescing", async () => {
    const { commit, file } = await open();
    const coalesce = newCoalesce();
    commit([row(1, { coalesce })]);
    for (const [seq, state] of [0, -1, 3, 5].entries()) {
      const other = new DatabaseSync(file);
      other.exec(`UPDATE runs SET state = ${state}`);
      other.close();
      const outcome = commit([row(2 * seq + 2, { coalesce }), row(2 * seq + 3, { coalesce })]);
      expect(outcome.results).toMatchObject([{ kind: "coalescing" }, { kind: "coalesced", run: (2 * seq + 2) * RUN }]);
    }
  });

  it("stops no coalescing for a caller that does not know the run", async () => {
    const { run, count } = await open();
    run(...row(1, { coalesce: newCoalesce() }));
    expect(run("stopCoalescing", [RUN, TAG.replace("0", "1")])).toBe(0);
    expect(count("gathering")).toBe(1);
  });

  it("makes every call due within the bounds, in whatever order and with whatever clock calls come", async () => {
    const claim = fc.record({
      windowMs: fc.integer({ min: 1, max: 1e6 }),
      maxWaitMs: fc.integer({ min: 1, max: 1e6 }),
    });
    const times = fc.array(fc.integer({ min: -4e6, max: 4e6 }), { minLength: 1, maxLength: 12 });
    const { run, calls } = await open();
    let seq = 0;
    fc.assert(
      fc.property(claim, times, (bounds, offsets) => {
        const coalesce: CoalesceClaim = newCoalesce(bounds);
        const first = (seq + 1) * RUN;
        let earliest = Number.POSITIVE_INFINITY;
        for (const offset of offsets) {
          const receivedAt = RECEIVED_AT + offset;
          earliest = Math.min(earliest, receivedAt);
          const { dueAt } = run(...row(++seq, { coalesce, receivedAt })) as { dueAt: number };
          expect(dueAt).toBeLessThanOrEqual(earliest + bounds.maxWaitMs);
          expect(dueAt).toBeGreaterThanOrEqual(Math.min(receivedAt + bounds.windowMs, earliest + bounds.maxWaitMs));
        }
        expect(calls(first)).toBe(offsets.length);
      }),
      { numRuns: 50 },
    );
  });
});
