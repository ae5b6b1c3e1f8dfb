import { createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createDatabase, type TestDatabase } from "../../fixtures/postgres/database.ts";
import { runSql } from "../../fixtures/postgres/run-sql.ts";
import { RecordedProcess } from "../../unit/cli/recorded-process.ts";
import { GatewayProcess, HOOK_TOKEN } from "../gateway-process.ts";

const KEY = "secret_that_notion_has_delivered";
const EVENT = {
  id: "153104cd-477e-809d-8dc4-ff2d96ae3091",
  type: "page.content_updated",
  authors: [{ id: "c7c11cca-1d73-471d-9b6e-bdef51470190", type: "person" }],
  entity: { id: "153104cd-477e-809d-8dc4-ff2d96ae3090", type: "page" },
  data: {},
};

let database: TestDatabase;
let gateways: GatewayProcess[];
let terminal: RecordedProcess;

beforeEach(async () => {
  database = await createDatabase();
  gateways = [];
  terminal = new RecordedProcess();
  for (let number = 0; number < 2; number++) gateways.push(new GatewayProcess(config()));
});
afterEach(async () => {
  for (const gateway of gateways) await gateway.close();
  terminal.remove();
  await database.drop();
});

function config(): object {
  const store = { url: database.url, several: true };
  // What is sent until the key is known there must not lock anyone out.
  const lockout = { failures: 10_000 };
  return { hooks: { enabled: true, token: HOOK_TOKEN, store, lockout, notion: {}, presets: ["notion"] } };
}

const stored = () => runSql(database.url, "SELECT route, key FROM reveille.sender_keys");
const deliver = (gateway: GatewayProcess, key = KEY) => gateway.post("/hooks/notion", { verification_token: key });

function send(gateway: GatewayProcess, key = KEY) {
  const signature = createHmac("sha256", key).update(JSON.stringify(EVENT)).digest("hex");
  return gateway.post("/hooks/notion", EVENT, { "x-notion-signature": `sha256=${signature}` });
}

async function keys(...args: readonly string[]): Promise<string> {
  const file = join(gateways[0]!.folder, "keys.json5");
  writeFileSync(file, JSON.stringify({ ...config(), gateway: { auth: { token: "gateway-token-of-the-keys" } } }), {
    mode: 0o600,
  });
  terminal.out = "";
  terminal.err = "";
  await terminal.run("keys", ...args, "--config", file);
  expect(terminal.err).toBe("");
  return terminal.out;
}

it("a key that a sender delivers to one gateway is accepted once for all, and its events at each, once", async () => {
  const [first, second] = gateways as [GatewayProcess, GatewayProcess];
  for (const gateway of gateways) await gateway.start();
  expect((await send(second)).status).toBe(401);
  expect((await deliver(first)).status).toBe(200);
  await expect.poll(async () => (await send(second)).status).toBe(200);
  const [one, other] = [await send(first), await send(second)];
  expect(other.body["deliveryId"]).toBe(one.body["deliveryId"]);
  expect((await deliver(second, "secret_of_somebody_who_comes_late")).status).not.toBe(200);
  expect(await stored()).toEqual([{ route: "notion", key: KEY }]);
  expect(await keys("--show", "notion")).toBe(`${KEY}\n`);
  expect(await keys("--forget", "notion")).toContain('The key of "notion" is forgotten.');
  await expect.poll(async () => (await send(first)).status).toBe(401);
}, 120_000);

it("what one gateway had in its folder moves to the database, and does not come back", async () => {
  const [first, second] = gateways as [GatewayProcess, GatewayProcess];
  await first.start();
  await first.end("SIGTERM");
  const file = join(first.stateDir, "sender-keys.json");
  writeFileSync(file, JSON.stringify({ version: 1, keys: { notion: KEY } }), { mode: 0o600 });
  await first.start();
  expect(await stored()).toEqual([{ route: "notion", key: KEY }]);
  await second.start();
  expect((await send(second)).status).toBe(200);
  await keys("--forget", "notion");
  await first.end("SIGTERM");
  await first.start();
  expect(await stored()).toEqual([]);
}, 120_000);
