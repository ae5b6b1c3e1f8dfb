import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { migrate } from "../../../src/storage/postgres/migrate.ts";
import { DatabaseProxy } from "../../fixtures/postgres/proxy.ts";
import { startServer, type TestServer } from "../../fixtures/postgres/server.ts";
import { GatewayProcess, HOOK_TOKEN } from "../gateway-process.ts";
import { ModelEndpoint } from "../model-endpoint.ts";

const CALLS = 100;
const CONCURRENCY = 8;

describe("a gateway with its deliveries in PostgreSQL", () => {
  let server: TestServer;
  let model: ModelEndpoint;
  let gateway: GatewayProcess;

  const open = (): GatewayProcess =>
    new GatewayProcess({
      agents: { defaults: { model: "test/model", heartbeat: { every: "0m" } } },
      models: { providers: { test: { baseUrl: model.baseUrl } } },
      hooks: { enabled: true, token: HOOK_TOKEN, concurrency: CONCURRENCY, store: { url: { env: "DATABASE_URL" } } },
    });
  const start = (which = gateway) => which.start({ env: { DATABASE_URL: server.url } });
  const call = (number: number) =>
    gateway.post("/hooks/agent", { message: `call ${number}.`, wakeMode: "next-heartbeat", deliver: false });

  beforeAll(async () => {
    server = await startServer();
    await migrate(server.url);
  });
  afterAll(() => server.dispose());
  beforeEach(async () => {
    model = await ModelEndpoint.listen();
    model.reply = "NO_REPLY";
    model.delayMs = 20;
    gateway = open();
    await start();
  });
  afterEach(async () => {
    await gateway.close();
    model.close();
  });

  /** Makes every call; what happens in the middle of them is `fault`. `answered` resolves when none waits any more. */
  async function callsWith(fault: () => Promise<unknown>) {
    const acknowledged = new Map<number, string>();
    const calls = Array.from({ length: CALLS }, async (_, number) => {
      const answer = await call(number).catch(() => undefined);
      if (answer && answer.status < 300) acknowledged.set(number, String(answer.body["deliveryId"]));
    });
    while (acknowledged.size < CALLS / 4) await sleep(1);
    await fault();
    return { acknowledged, answered: Promise.all(calls) };
  }

  /** Every acknowledged call is done, and a run that began twice says so. */
  async function expectAllDone(acknowledged: ReadonlyMap<number, string>): Promise<void> {
    await gateway.settled();
    const deliveries = new Map((await gateway.deliveries()).map((delivery) => [delivery.id, delivery]));
    for (const [number, id] of acknowledged) {
      expect(deliveries.get(id), `call ${number}`).toMatchObject({ state: "done" });
    }
    for (const number of acknowledged.keys()) {
      const prompts = model.prompts.filter((prompt) => prompt.includes(`call ${number}.`));
      expect(prompts.length, `call ${number}`).toBeGreaterThanOrEqual(1);
      for (const again of prompts.slice(1)) expect(again).toContain("may already have taken effect");
    }
  }

  it("has every acknowledged call done after a SIGKILL under load", async () => {
    const { acknowledged, answered } = await callsWith(() => gateway.end("SIGKILL"));
    await answered;
    model.delayMs = 0;
    await start();
    await expectAllDone(acknowledged);
  }, 120_000);

  it("answers 503 with Retry-After while the server is gone, and goes on by itself when it is back", async () => {
    const { acknowledged, answered } = await callsWith(() => server.stop("immediate"));
    const refused = await call(1_000);
    expect(refused).toMatchObject({ status: 503, body: { ok: false, code: "STORE_UNAVAILABLE" } });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect((await fetch(`${gateway.url}/ready`)).status).toBe(503);
    await server.start();
    // A call whose commit the server may have made before it went is answered when it can be asked.
    await answered;
    await expect.poll(async () => (await call(1_001)).status, { timeout: 30_000 }).toBe(202);
    await expectAllDone(acknowledged);
    await expect.poll(async () => (await fetch(`${gateway.url}/ready`)).status).toBe(200);
  }, 120_000);

  it("ends its turns when another gateway has taken over, and begins no more", async () => {
    await using proxy = await DatabaseProxy.listen(server.url);
    await gateway.end("SIGTERM");
    await gateway.start({ env: { DATABASE_URL: proxy.url } });
    const letGo = model.holdBack();
    for (let number = 0; number < CONCURRENCY + 1; number++) expect((await call(number)).status).toBe(202);
    await expect.poll(() => model.prompts.length, { timeout: 10_000 }).toBe(CONCURRENCY);

    proxy.freeze();
    const second = open();
    onTestFinished(() => second.close());
    await start(second);
    proxy.thaw();
    await expect.poll(() => model.aborted, { timeout: 20_000 }).toBe(CONCURRENCY);
    expect(await call(100)).toMatchObject({ status: 503, body: { code: "STORE_UNAVAILABLE" } });
    expect((await fetch(`${gateway.url}/ready`)).status).toBe(503);
    letGo();
    await second.settled();
    const again = model.prompts.slice(CONCURRENCY).filter((prompt) => prompt.includes("may already have taken effect"));
    expect(again).toHaveLength(CONCURRENCY);
    expect(model.prompts).toHaveLength(2 * CONCURRENCY + 1);
    expect(await gateway.end("SIGTERM")).toBe(0);
  }, 120_000);

  it("is the only one: a second gateway does not start, and says which one has the database", async () => {
    const second = open();
    await expect(start(second)).rejects.toThrow(/another gateway uses the database \(on .+, process \d+, since/u);
    expect((await call(1)).status).toBe(202);
    await second.close();
  }, 60_000);
});
