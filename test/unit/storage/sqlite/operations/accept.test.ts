import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { acceptRow } from "../../../../../src/storage/sqlite/operations/accept-row.ts";
import type { NewDelivery } from "../../../../../src/storage/new-delivery.ts";
import { deliveryId } from "../../../../../src/storage/sqlite/public-id.ts";
import { FAILED } from "../../../../../src/storage/sqlite/codes.ts";
import {
  agentSpec,
  endedDelivery,
  newClaim,
  newDelivery,
  RECEIVED_AT,
} from "../../../../conformance/store/new-delivery.ts";
import { openStoreTables, TAG } from "../store-in-thread.ts";

async function open() {
  const tables = await openStoreTables();
  let seq = 0;
  return {
    accept: (changes: Partial<NewDelivery> = {}): unknown =>
      tables.run("accept", acceptRow(++seq, TAG, newDelivery(changes))),
    fail: (of: number): unknown => tables.run("settle", [FAILED, "no model", null, of * 4096, TAG]),
    rows: (text: string): Record<string, unknown>[] =>
      tables.reader
        .prepare(text)
        .all()
        .map((row) => ({ ...row })),
  };
}

describe("accepting in the writer thread", () => {
  it("stores the request once, with the first run or, without one, alone", async () => {
    const { accept, rows } = await open();
    const run = (message: string) => ({ lane: "a", spec: agentSpec({ message }) });
    accept({ runs: [run("one"), run("two")] });
    accept(endedDelivery("filtered", "a bot"));
    expect(rows("SELECT id, text, headers IS NULL AS bare, body IS NULL AS empty FROM contents ORDER BY id")).toEqual([
      { id: 4096, text: "one", bare: 0, empty: 0 },
      { id: 4097, text: "two", bare: 1, empty: 1 },
      { id: 8192, text: null, bare: 0, empty: 0 },
    ]);
    expect(rows("SELECT runs, ended, reason FROM deliveries ORDER BY seq")).toEqual([
      { runs: 2, ended: null, reason: null },
      { runs: 0, ended: 0, reason: "a bot" },
    ]);
  });

  it("stores every run of a delivery that overlaps with its key, in a row like any other", async () => {
    const { accept, rows } = await open();
    const runs = ["one", "two"].map((message) => ({ lane: "a", spec: agentSpec({ message }), expiresAt: 7 }));
    const key = randomBytes(32);
    const idempotency = newClaim();
    accept({ runs, idempotency, overlap: { key, mode: "latest" } });
    expect(rows("SELECT hex(fingerprint) AS print FROM deliveries")).toEqual([
      { print: Buffer.from(idempotency.fingerprint).toString("hex").toUpperCase() },
    ]);
    expect(rows("SELECT id, lane, state, expires_at, due_at, hex(overlap) AS overlap, calls FROM runs")).toEqual(
      [4096, 4097].map((id) => ({
        id,
        lane: "a",
        state: 4,
        expires_at: 7,
        due_at: null,
        overlap: key.toString("hex", 0, 16).toUpperCase(),
        calls: null,
      })),
    );
  });

  it("says of a replay what it is one of, and of a call that gave way as well", async () => {
    const { accept, rows } = await open();
    accept({ replayOf: deliveryId(7, TAG) });
    const overlap = { key: randomBytes(32), mode: "skip" } as const;
    accept({ overlap });
    expect(accept({ overlap, replayOf: deliveryId(7, TAG) })).toMatchObject({ kind: "skipped" });
    expect(rows("SELECT seq FROM deliveries WHERE related = 7 AND related_tag IS NOT NULL")).toEqual([
      { seq: 1 },
      { seq: 3 },
    ]);
  });

  it("stores a hundred repeats of a delivery, and nothing but their row", async () => {
    const { accept, rows } = await open();
    const idempotency = newClaim();
    for (let count = 0; count < 150; count++) accept({ idempotency });
    expect(rows("SELECT count(*) AS n FROM deliveries WHERE ended = 2 AND related = 1 AND claim IS NULL")).toEqual([
      { n: 100 },
    ]);
    expect(rows("SELECT repeats FROM deliveries WHERE seq = 1")).toEqual([{ repeats: 100 }]);
    expect(rows("SELECT count(*) AS n FROM contents")).toEqual([{ n: 1 }]);
  });

  it("stores no claim of what has failed at once: no idempotency key, no fingerprint, no replay keys", async () => {
    const { accept, rows } = await open();
    const marks = [{ key: randomBytes(32), expiresAt: RECEIVED_AT + 60_000 }];
    accept(endedDelivery("failed", "r", { idempotency: newClaim(), replayKeys: marks }));
    expect(rows("SELECT claim, fingerprint, marks, reason FROM deliveries")).toEqual([
      { claim: null, fingerprint: null, marks: null, reason: "r" },
    ]);
    expect(rows("SELECT count(*) AS n FROM claims")).toEqual([{ n: 0 }]);
  });

  it("takes a copy of what failed for new: its replay keys are free, in memory and in its row", async () => {
    const { accept, fail, rows } = await open();
    const marks = [1, 2].map(() => ({ key: randomBytes(32), expiresAt: RECEIVED_AT + 60_000 }));
    accept({ replayKeys: marks });
    expect(accept({ replayKeys: marks.slice(1) })).toMatchObject({ kind: "repeat", seq: 1 });
    fail(1);
    expect(rows("SELECT seq FROM deliveries WHERE marks IS NOT NULL")).toEqual([]);
    expect(accept({ replayKeys: marks.slice(1) })).toBeUndefined();
    expect(accept({ replayKeys: marks })).toMatchObject({ kind: "repeat", seq: 3 });
  });
});
