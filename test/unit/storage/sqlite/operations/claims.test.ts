import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { newClaim, RECEIVED_AT } from "../../../../conformance/store/new-delivery.ts";
import { openStoreTables } from "../store-in-thread.ts";

describe("claims", () => {
  it("are removed after they lapse, some with each few new ones, so that the table does not grow", async () => {
    const tables = await openStoreTables();
    const count = () => Number(tables.reader.prepare("SELECT count(*) AS n FROM claims").get()?.["n"]);
    tables.accept(2000, () => ({ idempotency: newClaim({ expiresAt: RECEIVED_AT + 10 }) }));
    expect(count()).toBe(2000);
    // Half an hour longer than they stand: a request counts as of the time it began.
    const late = RECEIVED_AT + 10 + 1_800_000 - 1;
    tables.accept(32, () => ({ idempotency: newClaim({ expiresAt: late + 86_400_000 }), receivedAt: late }));
    expect(count()).toBe(2032);
    const later = late + 1;
    tables.accept(32, () => ({ idempotency: newClaim(), receivedAt: later }));
    const afterOneLook = count();
    expect(afterOneLook).toBeLessThan(2032);
    expect(afterOneLook).toBeGreaterThan(1832);
    for (let round = 0; round < 20; round++) {
      tables.accept(32, () => ({ idempotency: newClaim(), receivedAt: later }));
    }
    expect(count()).toBe(22 * 32);
  });

  it("are free again when the delivery that has them is removed", async () => {
    const tables = await openStoreTables();
    const idempotency = newClaim();
    tables.accept(1, () => ({ idempotency }));
    const other = new DatabaseSync(tables.file);
    other.exec("DELETE FROM deliveries");
    other.close();
    tables.accept(1, () => ({ idempotency }));
    expect(tables.reader.prepare("SELECT seq FROM claims").all()).toEqual([{ seq: 2 }]);
    tables.accept(1, () => ({ idempotency }));
    expect(tables.reader.prepare("SELECT seq, related FROM deliveries").all()).toEqual([
      { seq: 2, related: null },
      { seq: 3, related: 2 },
    ]);
  });

  it("cost a delivery without a key nothing", async () => {
    const tables = await openStoreTables();
    tables.accept(10);
    expect(tables.reader.prepare("SELECT count(*) AS n FROM claims").get()).toEqual({ n: 0 });
  });
});
