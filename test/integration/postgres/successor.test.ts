import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { migrate } from "../../../src/storage/postgres/migrate.ts";
import { startServer, type TestServer } from "../../fixtures/postgres/server.ts";
import { GatewayProcess, HOOK_TOKEN } from "../gateway-process.ts";
import { ModelEndpoint } from "../model-endpoint.ts";

const CALLS = 40;
const CONCURRENCY = 4;

describe("a second gateway that is started again whenever it is refused", () => {
  let server: TestServer;
  let model: ModelEndpoint;
  let first: GatewayProcess;
  let second: GatewayProcess;

  const open = (): GatewayProcess =>
    new GatewayProcess({
      agents: { defaults: { model: "test/model", heartbeat: { every: "0m" } } },
      models: { providers: { test: { baseUrl: model.baseUrl } } },
      hooks: { enabled: true, token: HOOK_TOKEN, concurrency: CONCURRENCY, store: { url: { env: "DATABASE_URL" } } },
    });
  const start = (gateway: GatewayProcess) => gateway.start({ env: { DATABASE_URL: server.url } });
  /** As a supervisor does. */
  const supervise = async (gateway: GatewayProcess): Promise<void> => {
    while (
      !(await start(gateway).then(
        () => true,
        () => false,
      ))
    );
  };
  const call = (gateway: GatewayProcess, number: number) =>
    gateway.post("/hooks/agent", { message: `call ${number}.`, wakeMode: "next-heartbeat", deliver: false });

  beforeAll(async () => {
    server = await startServer();
    await migrate(server.url);
  });
  afterAll(() => server.dispose());
  beforeEach(async () => {
    model = await ModelEndpoint.listen();
    model.reply = "NO_REPLY";
    first = open();
    second = open();
    await start(first);
  });
  afterEach(async () => {
    first.freeze("SIGCONT");
    await first.close();
    await second.close();
    model.close();
  });

  it.each(["SIGKILL", "SIGSTOP"] as const)(
    "takes over after %s: all is done, and a run that began twice says so",
    async (signal) => {
      const succession = supervise(second);
      model.delayMs = 50;
      for (let number = 0; number < CALLS; number++) expect((await call(first, number)).status).toBe(202);
      if (signal === "SIGKILL") await first.end(signal);
      else first.freeze(signal);
      await succession;
      if (signal === "SIGSTOP") {
        first.freeze("SIGCONT");
        await expect.poll(async () => (await call(first, CALLS)).status, { timeout: 20_000 }).toBe(503);
      }
      await second.settled();
      const deliveries = await second.deliveries();
      expect(deliveries.filter(({ state }) => state !== "done")).toEqual([]);
      expect(deliveries.length).toBeGreaterThanOrEqual(CALLS);
      for (let number = 0; number < CALLS; number++) {
        const prompts = model.prompts.filter((prompt) => prompt.includes(`call ${number}.`));
        expect(prompts.length, `call ${number}`).toBeGreaterThanOrEqual(1);
        // The first gateway may ask for its first attempt after the second one has asked again.
        const first = prompts.filter((prompt) => !prompt.includes("may already have taken effect"));
        expect(first.length, `call ${number}`).toBeLessThanOrEqual(1);
      }
      expect(model.prompts.length).toBeLessThanOrEqual(deliveries.length + CONCURRENCY);
    },
    120_000,
  );
});
