/** Several gateways on one database: one has the runs, and all of them carry out turns. */
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { migrate } from "../../../src/storage/postgres/migrate.ts";
import { startServer, type TestServer } from "../../fixtures/postgres/server.ts";
import { GatewayProcess, HOOK_TOKEN } from "../gateway-process.ts";
import { ModelEndpoint } from "../model-endpoint.ts";

const CONCURRENCY = 2;
const REPEATED = "may already have taken effect";

async function dropTables(url: string): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query("DROP SCHEMA IF EXISTS reveille CASCADE");
  await client.end();
}

describe("turns of several gateways on one database", () => {
  let server: TestServer;
  let model: ModelEndpoint;
  let gateways: GatewayProcess[];

  /** Each asks the model with a key of its own. */
  const open = (more: { agents?: object; hooks?: object } = {}): GatewayProcess => {
    const gateway = new GatewayProcess({
      agents: { defaults: { model: "test/model", heartbeat: { every: "0m" } }, ...more.agents },
      models: { providers: { test: { baseUrl: model.baseUrl, apiKey: `key-of-gateway-${gateways.length}` } } },
      hooks: {
        enabled: true,
        token: HOOK_TOKEN,
        concurrency: CONCURRENCY,
        allowRequestSessionKey: true,
        allowedSessionKeyPrefixes: ["hook:"],
        store: { url: { env: "DATABASE_URL" }, several: true },
        ...more.hooks,
      },
    });
    gateways.push(gateway);
    return gateway;
  };
  const start = (gateway: GatewayProcess) => gateway.start({ env: { DATABASE_URL: server.url } });
  const call = (gateway: GatewayProcess, number: number, more: object = {}) =>
    gateway.post("/hooks/agent", {
      message: `call ${number}.`,
      sessionKey: `hook:${number}`,
      wakeMode: "next-heartbeat",
      deliver: false,
      ...more,
    });
  const calls = async (gateway: GatewayProcess, count: number): Promise<void> => {
    for (let number = 0; number < count; number++) expect((await call(gateway, number)).status).toBe(202);
  };
  /** Which gateway asked for each turn, in order. */
  const askers = () => model.requests.map(({ authorization }) => Number(authorization?.at(-1)));
  const askedBy = (number: number) => askers().filter((asker) => asker === number).length;
  const promptsOf = (number: number) => model.prompts.filter((prompt) => prompt.includes(`call ${number}.`));
  const interrupted = async (gateway: GatewayProcess) => {
    const details = (await gateway.deliveries()).map(({ id }) => gateway.delivery(id));
    const attempts = (await Promise.all(details)).flatMap(({ runs }) => runs.flatMap((run) => run.attempts));
    return attempts.filter(({ status }) => status === "interrupted").length;
  };
  const states = async (gateway: GatewayProcess) => (await gateway.deliveries()).map(({ state }) => state);

  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server.dispose());
  beforeEach(async () => {
    await dropTables(server.url);
    await migrate(server.url);
    model = await ModelEndpoint.listen();
    model.reply = "NO_REPLY";
    gateways = [];
  });
  afterEach(async () => {
    for (const gateway of gateways) {
      gateway.freeze("SIGCONT");
      await gateway.close();
    }
    model.close();
  });

  /** All calls are done, and the turns of one gateway began twice: the second time with a note. */
  async function expectHalfRepeated(gateway: GatewayProcess): Promise<void> {
    expect(new Set(await states(gateway))).toEqual(new Set(["done"]));
    const prompts = Array.from({ length: 2 * CONCURRENCY }, (_, number) => promptsOf(number));
    expect(prompts.filter(({ length }) => length === 1)).toHaveLength(CONCURRENCY);
    const repeated = prompts.filter(({ length }) => length === 2);
    expect(repeated).toHaveLength(CONCURRENCY);
    for (const [, again] of repeated) expect(again).toContain(REPEATED);
  }

  /** Two gateways, of which the first has the runs and knows that the second takes turns; `more` is the second's alone. */
  async function startTwo(
    more: Parameters<typeof open>[0] = {},
    hooks: object = {},
  ): Promise<[GatewayProcess, GatewayProcess]> {
    const [first, second] = [open({ hooks }), open({ hooks, ...more })];
    await start(first);
    await start(second);
    await expect
      .poll(async () => {
        model.delayMs = 100;
        for (const number of [1_000, 1_001]) await call(first, number);
        await first.settled();
        model.delayMs = 0;
        return askedBy(1);
      })
      .toBeGreaterThan(0);
    model.requests.length = 0;
    return [first, second];
  }

  it("are carried out by all of them, as many at once as they take together", async () => {
    const [first, second] = await startTwo();
    const release = model.holdBack();
    await calls(first, 5);
    await expect.poll(() => model.requests.length).toBe(2 * CONCURRENCY);
    expect(askedBy(0)).toBe(CONCURRENCY);
    expect(askedBy(1)).toBe(CONCURRENCY);
    release();
    await second.settled();
    expect(model.requests).toHaveLength(5);
    for (const gateway of [first, second]) {
      expect(await gateway.api<object>("/status")).toMatchObject({ turnsElsewhere: CONCURRENCY });
    }
    expect(new Set(await states(second))).toEqual(new Set(["done"]));
  });

  it("go on when the gateway with the runs is killed, and only those of its own begin again", async () => {
    const [first, second] = await startTwo();
    const release = model.holdBack();
    await calls(first, 2 * CONCURRENCY);
    await expect.poll(() => model.requests.length).toBe(2 * CONCURRENCY);
    await first.end("SIGKILL");
    release();
    await second.settled();
    await expectHalfRepeated(second);
  });

  it("draw on the budget again when they begin again, and wait when it is used up", async () => {
    const [first, second] = await startTwo(
      {},
      {
        mappings: [
          {
            match: { path: "counted" },
            budget: { perHour: 2 * CONCURRENCY },
            sessionKey: "hook:{{key}}",
            messageTemplate: "call {{key}}.",
            wakeMode: "next-heartbeat",
          },
        ],
      },
    );
    const release = model.holdBack();
    for (let key = 0; key < 2 * CONCURRENCY; key++) await first.post("/hooks/counted", { key });
    await expect.poll(() => model.requests.length).toBe(2 * CONCURRENCY);
    await second.end("SIGKILL");
    await expect.poll(() => interrupted(first), { timeout: 15_000 }).toBe(CONCURRENCY);
    release();
    await expect.poll(() => first.log, { timeout: 15_000 }).toContain("a budget is used up");
    const counted = async () => {
      const deliveries = await first.deliveries("&route=counted");
      return deliveries.map(({ state }) => state).toSorted();
    };
    await expect.poll(counted).toEqual(["done", "done", "queued", "queued"]);
    expect(model.requests).toHaveLength(2 * CONCURRENCY);
  });

  it("begin again elsewhere, and say so, when the gateway that carries them out is killed", async () => {
    const [first, second] = await startTwo();
    const release = model.holdBack();
    await calls(first, 2 * CONCURRENCY);
    await expect.poll(() => model.requests.length).toBe(2 * CONCURRENCY);
    await second.end("SIGKILL");
    await expect.poll(() => first.api<object>("/status")).toMatchObject({ turnsElsewhere: 0 });
    release();
    await first.settled();
    await expectHalfRepeated(first);
  });

  it("begin again elsewhere when the gateway that carries them out is frozen", async () => {
    const [first, second] = await startTwo();
    const release = model.holdBack();
    await calls(first, 2 * CONCURRENCY);
    await expect.poll(() => model.requests.length).toBe(2 * CONCURRENCY);
    second.freeze("SIGSTOP");
    await expect.poll(() => interrupted(first), { timeout: 20_000 }).toBe(CONCURRENCY);
    second.freeze("SIGCONT");
    await expect.poll(() => model.aborted, { timeout: 20_000 }).toBe(CONCURRENCY);
    release();
    await first.settled();
    await expectHalfRepeated(first);
  }, 60_000);

  it("are left to another gateway at a stop, when they are not done in time", async () => {
    const [first, second] = await startTwo();
    const release = model.holdBack();
    await calls(first, 2 * CONCURRENCY);
    await expect.poll(() => model.requests.length).toBe(2 * CONCURRENCY);
    await second.end("SIGTERM");
    release();
    await first.settled();
    expect(new Set(await states(first))).toEqual(new Set(["done"]));
    expect(askedBy(0)).toBe(2 * CONCURRENCY);
  }, 60_000);

  it("end at the other gateway when a person cancels the run", async () => {
    const [first] = await startTwo();
    model.holdBack();
    await calls(first, 2 * CONCURRENCY);
    await expect.poll(() => model.requests.length).toBe(2 * CONCURRENCY);
    for (const { id, state } of await first.deliveries()) {
      if (state === "running") await first.api(`/deliveries/${id}/cancel`, "POST");
    }
    await expect.poll(() => model.aborted).toBe(2 * CONCURRENCY);
  });

  it("stay with the gateway that has the runs where the next run continues what they leave", async () => {
    const [first] = await startTwo();
    for (let number = 0; number < 4; number++) await call(first, number, { sessionMode: "persistent" });
    await first.settled();
    expect(askedBy(0)).toBe(4);
  });

  it("stay where the hooks block of the other gateway is another one", async () => {
    const [first, second] = [open(), open({ hooks: { concurrency: CONCURRENCY + 1 } })];
    await start(first);
    await start(second);
    await calls(second, 6);
    await second.settled();
    expect(askedBy(0)).toBe(6);
  });

  it("of an agent that only another gateway has are carried out there", async () => {
    const list = [{ id: "main", default: true }, { id: "ops" }];
    const [first] = await startTwo({ agents: { list } });
    const accepted = await call(gateways[1]!, 0, { agentId: "ops" });
    expect(accepted.status).toBe(202);
    await first.settled();
    expect(askers()).toEqual([1]);
  });
});
