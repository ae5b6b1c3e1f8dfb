import { afterAll, beforeAll, expect, it } from "vitest";
import { createDatabase, type TestDatabase } from "../../fixtures/postgres/database.ts";
import { GatewayProcess, HOOK_TOKEN } from "../gateway-process.ts";

const FAILURES = 60;
const WRONG = { authorization: "Bearer a-guess-of-the-hook-token" };

let database: TestDatabase;
let gateways: GatewayProcess[];

beforeAll(async () => {
  database = await createDatabase();
  gateways = [];
  for (let number = 0; number < 2; number++) {
    const gateway = new GatewayProcess({
      hooks: {
        enabled: true,
        token: HOOK_TOKEN,
        lockout: { failures: FAILURES, windowSeconds: 600, lockSeconds: 600 },
        store: { url: { env: "DATABASE_URL" }, several: true },
      },
    });
    gateways.push(gateway);
    await gateway.start({ env: { DATABASE_URL: database.url } });
  }
});
afterAll(async () => {
  for (const gateway of gateways) await gateway.close();
  await database.drop();
});

it("an address that guesses at several gateways is locked out at each, and the right token is let in", async () => {
  const [first, second] = gateways as [GatewayProcess, GatewayProcess];
  const guess = async (gateway: GatewayProcess) => (await gateway.post("/hooks/wake", { text: "x" }, WRONG)).status;
  await expect.poll(() => guess(first), { interval: 1 }).toBe(429);
  // It is asked a few times, and would let it guess more often by itself.
  await expect.poll(() => guess(second), { interval: 1_000 }).toBe(429);
  for (const gateway of [second, first]) {
    expect((await gateway.post("/hooks/wake", { text: "The right one." })).status).toBe(200);
  }
});
