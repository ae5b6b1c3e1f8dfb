import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createDatabase, type TestDatabase } from "../../fixtures/postgres/database.ts";
import { RunningGateway } from "../http/running-gateway.ts";

describe("the choice of a store", () => {
  let database: TestDatabase;
  beforeEach(async () => {
    database = await createDatabase();
  });
  afterEach(() => database.drop());

  it("is made at the start: a reload that names another one is refused, and all goes on", async () => {
    await using gateway = await RunningGateway.start({ hooks: { store: { url: database.url } } });
    gateway.writeHooks({});
    const { applied } = await gateway.reload();
    expect(applied).toBe(false);
    expect(JSON.stringify(gateway.logger.lines)).toContain("hooks.store: is read at the start only");
    gateway.writeHooks({ store: { url: database.url }, maxDepth: 3 });
    expect((await gateway.reload()).applied).toBe(true);
  });

  it("leaves no run behind in the SQLite file: a start with hooks.store is refused while one is open there", async () => {
    await using gateway = await RunningGateway.start();
    await gateway.api("/hooks/*/pause", {});
    const { body } = await gateway.post("/hooks/agent", { message: "wait" });
    gateway.writeHooks({ store: { url: database.url } });
    await expect(gateway.restart()).rejects.toThrow(
      "hooks.store: one run is open in the SQLite file of the state folder; move them with reveille move --from sqlite --to postgres, or start without hooks.store until all have ended.",
    );
    gateway.writeHooks({});
    await gateway.restart();
    await gateway.api(`/deliveries/${String(body["deliveryId"])}/cancel`, {});
    gateway.writeHooks({ store: { url: database.url } });
    await gateway.restart();
    expect(await gateway.deliveries()).toEqual([]);
  });
});
