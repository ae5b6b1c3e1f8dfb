import { describe, expect, it } from "vitest";
import { codeOfSettled, FAILED, HELD, QUEUED, RUNNING, SKIPPED } from "../../../../../src/storage/sqlite/codes.ts";
import { newClaim, newDelivery } from "../../../../conformance/store/new-delivery.ts";
import { acceptRow } from "../../../../../src/storage/sqlite/operations/accept-row.ts";
import { openStoreTables, TAG } from "../store-in-thread.ts";

const DONE = codeOfSettled("done");
const RUN = 4096;

async function oneRun() {
  const tables = await openStoreTables();
  const idempotency = newClaim();
  tables.accept(1, () => ({ idempotency }));
  const stateOf = () => tables.reader.prepare("SELECT state FROM runs WHERE id = ?").get(RUN)?.["state"];
  const claims = () => Number(tables.reader.prepare("SELECT count(*) AS n FROM claims").get()?.["n"]);
  return { ...tables, idempotency, stateOf, claims };
}

describe("operations of the store in the writer thread", () => {
  it("answer nothing when they took effect", async () => {
    const { run, stateOf } = await oneRun();
    expect(stateOf()).toBe(QUEUED);
    expect(run("beginAttempt", [RUN, TAG, 1, 1000])).toBeUndefined();
    expect(stateOf()).toBe(RUNNING);
    expect(run("endAttempt", [RUN, TAG, 2000, "ok", null, "x".repeat(3000), null, null])).toBeUndefined();
    expect(run("recordStep", [RUN, TAG, 0, null, 2001])).toBeUndefined();
    expect(run("hold", [RUN, TAG, "wait"])).toBeUndefined();
    expect(stateOf()).toBe(HELD);
    expect(run("settle", [DONE, null, null, RUN, TAG])).toBeUndefined();
    expect(stateOf()).toBe(DONE);
    expect(run("barrier", null)).toBeUndefined();
  });

  it("answer the position of a run that they cannot change", async () => {
    const { run } = await oneRun();
    const otherTag = TAG.replace("0", "1");
    expect(run("endAttempt", [RUN, TAG, 2000, "ok", null, null, null, null])).toBe(0);
    for (const tag of [otherTag, ""]) {
      expect(run("beginAttempt", [RUN, tag, 1, 1000])).toBe(0);
      expect(run("endAttempt", [RUN, tag, 2000, "ok", null, null, null, null])).toBe(0);
      expect(run("recordStep", [RUN, tag, 0, null, 2001])).toBe(0);
      expect(run("hold", [RUN, tag, "wait"])).toBe(0);
      expect(run("settle", [DONE, null, null, RUN, TAG, RUN, tag])).toBe(1);
    }
  });

  it("may be repeated without changing what stands: begin, steps, settle", async () => {
    const { run, reader } = await oneRun();
    for (let round = 0; round < 2; round++) run("beginAttempt", [RUN, TAG, 1, 1000]);
    for (let round = 0; round < 2; round++) run("recordStep", [RUN, TAG, 1, 2, 2002]);
    run("recordStep", [RUN, TAG, 2, null, 2003]);
    for (const state of [DONE, FAILED]) run("settle", [state, null, null, RUN, TAG]);
    expect(reader.prepare("SELECT count(*) AS n FROM attempts").get()).toEqual({ n: 1 });
    expect(reader.prepare("SELECT state, steps, outcome FROM runs").get()).toEqual({
      state: DONE,
      steps: 6,
      outcome: 2,
    });
  });

  it("release the claim when the last run has failed, and only if the delivery still has it", async () => {
    const { run, claims, accept, idempotency } = await oneRun();
    accept(1, () => ({ idempotency: newClaim(), runs: [...newDelivery().runs, ...newDelivery().runs] }));
    expect(claims()).toBe(2);
    run("settle", [FAILED, "no", null, RUN, TAG]);
    expect(claims()).toBe(1);
    run("settle", [FAILED, "no", null, 2 * RUN, TAG]);
    expect(claims()).toBe(1);
    run("settle", [FAILED, "no", null, 2 * RUN + 1, TAG]);
    expect(claims()).toBe(0);
    const again = { ...idempotency, expiresAt: idempotency.expiresAt + 1 };
    expect(run("accept", acceptRow(3, TAG, newDelivery({ idempotency: again })))).toBeUndefined();
    run("settle", [FAILED, "no", null, RUN, TAG]);
    expect(claims()).toBe(1);
  });

  it("keep the claim of a delivery of which a run was skipped, and end it when all were", async () => {
    const { run, claims, accept, reader } = await oneRun();
    accept(1, () => ({ idempotency: newClaim(), runs: [...newDelivery().runs, ...newDelivery().runs] }));
    run("settle", [SKIPPED, "too old", null, RUN, TAG]);
    run("settle", [SKIPPED, "too old", null, 2 * RUN, TAG]);
    run("settle", [FAILED, "no", null, 2 * RUN + 1, TAG]);
    expect(claims()).toBe(2);
    expect(
      reader
        .prepare("SELECT ended FROM deliveries ORDER BY seq")
        .all()
        .map((row) => row["ended"]),
    ).toEqual([1, null]);
  });

  it("put a run back into the queue with its time", async () => {
    const { run, reader, stateOf } = await oneRun();
    run("beginAttempt", [RUN, TAG, 1, 1000]);
    expect(run("postpone", [RUN, TAG, 5000, "busy"])).toBeUndefined();
    expect(stateOf()).toBe(QUEUED);
    expect(run("beginAttempt", [RUN, TAG, 2, 5000])).toBeUndefined();
    expect(reader.prepare("SELECT due_at FROM runs").get()).toEqual({ due_at: null });
    run("settle", [DONE, null, null, RUN, TAG]);
    expect(run("postpone", [RUN, TAG, 5000, "busy"])).toBe(0);
  });

  it("leave a delivery without a claim alone when its run fails", async () => {
    const { run, claims, accept } = await oneRun();
    accept(1);
    run("settle", [FAILED, "no", null, 2 * RUN, TAG]);
    expect(claims()).toBe(1);
  });

  it("answer who holds a key, and of another request with it only that", async () => {
    const { run, idempotency } = await oneRun();
    const holder = { seq: 1, tag: TAG };
    expect(run("accept", acceptRow(2, TAG, newDelivery({ idempotency })))).toEqual({
      ...holder,
      kind: "repeat",
      runs: 1,
      ended: null,
      related: null,
      related_tag: null,
    });
    const other = { ...idempotency, fingerprint: newClaim().fingerprint };
    expect(run("accept", acceptRow(3, TAG, newDelivery({ idempotency: other })))).toEqual({
      ...holder,
      kind: "conflict",
    });
  });
});
