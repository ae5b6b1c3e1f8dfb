import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHECKS, torture, type TortureResult } from "../../torture/torture.ts";
import { tortureFigures } from "../../torture/torture-figures.ts";
import { createDatabase, type TestDatabase } from "../../fixtures/postgres/database.ts";

const KILLS = 6;
/** `npm run torture -- --store postgres` takes all of them. */
const POINTS = ["commit:before", "commit:after", "begin:after", "settle:before"];

describe("a gateway with its deliveries in PostgreSQL that is killed again and again under load", () => {
  let database: TestDatabase;
  let result: TortureResult;

  beforeAll(async () => {
    database = await createDatabase();
    result = await torture({ kills: KILLS, seed: 20_261_125, points: POINTS, databaseUrl: database.url });
    console.log(tortureFigures(result).join("\n"));
  }, 600_000);
  afterAll(() => database.drop());

  it.each(Object.keys(CHECKS))("keeps its promise: %s", (promise) => {
    expect(result.violations[promise]).toEqual([]);
  });

  it("dies at the step that was named for it", () => {
    expect(result.kills).toHaveLength(KILLS);
    expect(result.kills.filter(({ planned, reached }) => planned.kind === "step" && !reached)).toEqual([]);
  });
});
