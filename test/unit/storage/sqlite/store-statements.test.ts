import { DatabaseSync, type StatementSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { acceptOperation } from "../../../../src/storage/sqlite/operations/accept.ts";
import { acceptRow } from "../../../../src/storage/sqlite/operations/accept-row.ts";
import { claimOperations } from "../../../../src/storage/sqlite/operations/claims.ts";
import { StoredDeliveryReader } from "../../../../src/storage/sqlite/readers/stored-delivery.ts";
import type { NewDelivery } from "../../../../src/storage/new-delivery.ts";
import { coalesceOperations } from "../../../../src/storage/sqlite/operations/coalesce-and-overlap.ts";
import { replayKeyMemory } from "../../../../src/storage/sqlite/operations/replay-key-memory.ts";
import { OpenRunReader } from "../../../../src/storage/sqlite/readers/open-runs.ts";
import { ReplayableReader } from "../../../../src/storage/sqlite/readers/replayable.ts";
import { runOperations } from "../../../../src/storage/sqlite/operations/run.ts";
import { waitChanges } from "../../../../src/storage/sqlite/operations/waits.ts";
import { newClaim, newCoalesce, newDelivery, RECEIVED_AT } from "../../../conformance/store/new-delivery.ts";
import { openStoreTables, TAG } from "./store-in-thread.ts";

const RUN = 4096;

/** The operations on a connection that notes each statement that is prepared, and each that is carried out. */
async function open() {
  const { file } = await openStoreTables();
  const database = new DatabaseSync(file);
  onTestFinished(() => database.close());
  const prepared: string[] = [];
  const executed: string[] = [];
  const noting = new Proxy(database, {
    get(target, name) {
      if (name !== "prepare") return Reflect.get(target, name) as unknown;
      return (text: string) => {
        prepared.push(text);
        return notingStatement(target.prepare(text), () => executed.push(text.trim().split(/\s+/u, 3).join(" ")));
      };
    },
  });
  const claims = claimOperations(noting);
  const replayKeys = replayKeyMemory(noting, claims);
  const shared = { claims, replayKeys, coalescing: coalesceOperations(noting), waits: waitChanges(noting) };
  const operations = { accept: acceptOperation(noting, shared), ...runOperations(noting, shared) };
  let seq = 0;
  return {
    database,
    noting,
    prepared,
    /** Words of the statements that the acceptance of a delivery carries out. */
    accept: (changes: Partial<NewDelivery> = {}): string[] => {
      executed.length = 0;
      operations.accept(acceptRow(++seq, TAG, newDelivery(changes)));
      return [...executed];
    },
    /** Likewise, of anything else. */
    executing: (action: (of: typeof operations) => unknown): string[] => {
      executed.length = 0;
      action(operations);
      return [...executed];
    },
  };
}

function notingStatement(statement: StatementSync, note: () => void): StatementSync {
  return new Proxy(statement, {
    get(target, name) {
      const value = Reflect.get(target, name) as unknown;
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        note();
        return Reflect.apply(value, target, args);
      };
    },
  });
}

describe("the statements of the store", () => {
  it("are three for a call that has nothing to do with others, and no more for its run than there were", async () => {
    const { accept, executing } = await open();
    const insertions = ["INSERT INTO deliveries", "INSERT INTO runs", "INSERT INTO contents"];
    expect(accept()).toEqual(insertions);
    expect(accept({ event: "push", actor: "octocat", credentialId: "token:1" })).toEqual(insertions);
    expect(accept({ replayKeys: [{ key: newClaim().key, expiresAt: RECEIVED_AT + 1 }] })).toEqual(insertions);
    expect(accept({ idempotency: newClaim() })).toEqual(["INSERT INTO claims", ...insertions]);
    expect(executing((of) => of.beginAttempt([RUN, TAG, 1, 0]))).toEqual(["UPDATE runs SET", "INSERT INTO attempts"]);
    expect(executing((of) => of.settle([0, null, null, RUN, TAG]))).toEqual([
      "SELECT 1 FROM",
      "UPDATE runs SET",
      "UPDATE attempts SET",
    ]);
  });

  it("are four for a call that is coalesced", async () => {
    const { accept } = await open();
    const coalesce = newCoalesce();
    accept({ coalesce });
    expect(accept({ coalesce })).toEqual([
      "SELECT run, opened_at,",
      "UPDATE runs SET",
      "INSERT INTO deliveries",
      "INSERT INTO contents",
    ]);
  });

  it("find by key or index what they look for, never through a whole table", async () => {
    const { database, noting, prepared } = await open();
    // Each prepares its statements.
    const readers = [new StoredDeliveryReader(noting), new OpenRunReader(noting), new ReplayableReader(noting)];
    expect(readers).toHaveLength(3);
    const plans = new Map(prepared.map((text) => [text, planOf(database, text)]));
    expect(plans.size).toBeGreaterThan(35);
    const scans = [...plans].filter(([, plan]) => plan.some((step) => /^SCAN (?!open$|\(subquery)/u.test(step)));
    expect(scans.map(([text]) => text)).toEqual([
      // Both when the file is opened; the first goes through an index, over a bounded number of rows.
      "SELECT seq FROM deliveries WHERE marks IS NOT NULL ORDER BY seq DESC LIMIT 1 OFFSET ?",
      "SELECT 1 FROM gathering LIMIT 1",
      // For a call that makes a wait; there are at most as many as hooks.waits.max.
      "SELECT count(*) AS n FROM waits",
    ]);
    const sorting = [...plans].filter(([, plan]) => plan.some((step) => step.includes("TEMP B-TREE")));
    // A page of open runs.
    expect(sorting.map(([text]) => text)).toEqual([expect.stringMatching(/(?:ORDER BY id LIMIT 500\).*){3}/su)]);
    for (const index of [
      "runs_overlap",
      "runs_not_done",
      "deliveries_coalesced",
      "deliveries_replays",
      "gathering_run",
    ]) {
      expect([...plans.values()].flat().filter((step) => step.includes(index))).not.toEqual([]);
    }
  });
});

function planOf(database: DatabaseSync, text: string): string[] {
  return database
    .prepare(`EXPLAIN QUERY PLAN ${text}`)
    .all()
    .map((row) => String(row["detail"]));
}
