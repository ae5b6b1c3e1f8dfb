import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { migrate } from "../../../src/storage/postgres/migrate.ts";
import { severalFigures } from "../../torture/several-figures.ts";
import { PROMISES, type SeveralResult, tortureSeveral } from "../../torture/several-gateways.ts";
import { startServer, type TestServer } from "../../fixtures/postgres/server.ts";

describe("three gateways on one database that are killed, frozen and cut off under load", () => {
  let server: TestServer;
  let result: SeveralResult;

  beforeAll(async () => {
    server = await startServer();
    await migrate(server.url);
    result = await tortureSeveral({
      databaseUrl: server.url,
      gateways: 3,
      faults: ["SIGKILL", "SIGSTOP", "cut", "SIGKILL"],
      seed: 20_261_125,
    });
    console.log(severalFigures(result).join("\n"));
  }, 600_000);
  afterAll(() => server.dispose());

  it.each(PROMISES)("keep their promise: %s", (promise) => {
    expect(result.violations[promise]).toEqual([]);
  });

  it("are hit where the runs are as well", () => {
    expect(result.hits.filter(({ isLead }) => isLead).length).toBeGreaterThan(0);
  });
});
