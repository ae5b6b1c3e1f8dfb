import { describe, expect, it } from "vitest";
import { acceptRow } from "../../../../../src/storage/sqlite/operations/accept-row.ts";
import type { OverlapClaim } from "../../../../../src/storage/new-delivery.ts";
import { codeOfSettled } from "../../../../../src/storage/sqlite/codes.ts";
import { newClaim, newDelivery } from "../../../../conformance/store/new-delivery.ts";
import { openStoreTables, TAG } from "../store-in-thread.ts";

async function open(mode: OverlapClaim["mode"]) {
  const tables = await openStoreTables();
  const overlap: OverlapClaim = { key: newClaim().key, mode };
  let seq = 0;
  return {
    ...tables,
    accepting: () => ["accept", acceptRow(++seq, TAG, newDelivery({ overlap }))] as const,
    keyed: () => Number(tables.reader.prepare("SELECT count(*) AS n FROM runs WHERE overlap IS NOT NULL").get()?.["n"]),
  };
}

describe("overlap in the writer thread", () => {
  it("leaves keys on open runs only, so that the index stays small", async () => {
    const latest = await open("latest");
    for (let count = 0; count < 20; count++) latest.run(...latest.accepting());
    expect(latest.keyed()).toBe(1);
    latest.run("settle", [codeOfSettled("done"), null, null, 20 * 4096, TAG]);
    expect(latest.keyed()).toBe(0);

    const skip = await open("skip");
    for (let count = 0; count < 20; count++) skip.run(...skip.accepting());
    expect(skip.keyed()).toBe(1);
  });

  it("skips runs that the host would not begin, and leaves one alone that it has begun", async () => {
    const attempt = (seq: number, status: string) =>
      [
        ["beginAttempt", [seq * 4096, TAG, 1, 1_000]],
        ["endAttempt", [seq * 4096, TAG, 2_000, status, "busy", null, null, null]],
        ["postpone", [seq * 4096, TAG, 3_000, "it is tried again"]],
      ] as const;
    const { accepting, run, commit } = await open("latest");
    run(...accepting());
    commit(attempt(1, "aborted"));
    expect(run(...accepting())).toMatchObject({ kind: "superseding", runs: [4096, TAG] });
    commit(attempt(2, "error"));
    expect(run(...accepting())).toBeUndefined();
  });

  it("skips a run once when its commit is carried out a second time, since another call failed", async () => {
    const { accepting, commit, reader } = await open("latest");
    const calls = [accepting(), accepting(), accepting()];
    const broken = ["accept", accepting()[1].with(5, null)] as const;
    const { results, failures } = commit([...calls, broken]);
    expect(failures.map(({ index }) => index)).toEqual([3]);
    expect(results).toMatchObject([
      undefined,
      { kind: "superseding", runs: [4096, TAG] },
      { kind: "superseding", runs: [2 * 4096, TAG] },
      undefined,
    ]);
    expect(
      reader
        .prepare("SELECT state FROM runs ORDER BY id")
        .all()
        .map((row) => row["state"]),
    ).toEqual([-1, -1, 4]);
    expect(
      reader
        .prepare("SELECT ended FROM deliveries ORDER BY seq")
        .all()
        .map((row) => row["ended"]),
    ).toEqual([1, 1, null]);
  });
});
