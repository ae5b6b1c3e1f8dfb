import { afterEach, beforeEach, expect, it } from "vitest";
import { createDatabase, type TestDatabase } from "../../fixtures/postgres/database.ts";
import { runSql } from "../../fixtures/postgres/run-sql.ts";
import { GatewayProcess, HOOK_TOKEN } from "../gateway-process.ts";

interface Status {
  readonly ready: boolean;
  readonly problems: readonly { readonly code: string; readonly message: string }[];
}

const WAIT = { timeout: 30_000 };
const DIFFERS = "another gateway on the database is not as this one";

let database: TestDatabase;
let gateways: GatewayProcess[];

beforeEach(async () => {
  database = await createDatabase();
  gateways = [];
});
afterEach(async () => {
  for (const gateway of gateways) await gateway.close();
  await database.drop();
});

async function open(hooks: object = {}): Promise<GatewayProcess> {
  const store = { url: { env: "DATABASE_URL" }, several: true };
  const gateway = new GatewayProcess({ hooks: { enabled: true, token: HOOK_TOKEN, store, ...hooks } });
  gateways.push(gateway);
  await gateway.start({ env: { DATABASE_URL: database.url } });
  return gateway;
}

const recorded = () => runSql(database.url, "SELECT version, config FROM reveille.gateways ORDER BY pid");
const codes = async (gateway: GatewayProcess) => {
  const { ready, problems } = await gateway.api<Status>("/status");
  return [ready, ...problems.map(({ code }) => code)];
};

it("gateways with the same hooks block are silent; one with another block is named at each, and takes calls", async () => {
  const first = await open();
  const same = await open();
  await expect.poll(async () => (await recorded()).length, WAIT).toBe(2);
  const other = await open({ concurrency: 3 });
  await expect.poll(() => codes(first), WAIT).toEqual([true, "GATEWAYS_DIFFER"]);
  await expect.poll(() => codes(other), WAIT).toEqual([true, "GATEWAYS_DIFFER"]);
  await expect.poll(() => same.log, WAIT).toContain(DIFFERS);
  await expect.poll(() => first.log.split(DIFFERS), WAIT).toHaveLength(2);
  expect(first.log).toContain(`"pid":${other.pid}`);
  expect(first.log).not.toContain(`"pid":${same.pid},"hasOtherConfig"`);
  expect((await other.post("/hooks/wake", { text: "x" })).status).toBe(200);
  const rows = JSON.stringify(await recorded());
  expect(rows).not.toContain(HOOK_TOKEN);
}, 120_000);

it("another version is named", async () => {
  const gateway = await open();
  await expect.poll(async () => (await recorded()).length, WAIT).toBe(1);
  await runSql(
    database.url,
    `INSERT INTO reveille.gateways
     SELECT 'other', 'elsewhere', 1, '99.0.0', config, clock_timestamp() FROM reveille.gateways`,
  );
  await expect.poll(() => codes(gateway), WAIT).toEqual([true, "GATEWAYS_DIFFER"]);
  await expect.poll(() => gateway.log, WAIT).toContain('"version":"99.0.0"');
}, 120_000);
