/** Two gateways on one database behind what could be a load balancer: both accept, one carries out the runs. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { migrate } from "../../../src/storage/postgres/migrate.ts";
import { startServer, type TestServer } from "../../fixtures/postgres/server.ts";
import { GatewayProcess, HOOK_TOKEN } from "../gateway-process.ts";
import { ModelEndpoint } from "../model-endpoint.ts";

const CALLS = 60;
const CONCURRENCY = 4;
const SESSIONS = 3;

describe("several gateways on one database", () => {
  let server: TestServer;
  let model: ModelEndpoint;
  let gateways: GatewayProcess[];

  const open = (): GatewayProcess => {
    const gateway = new GatewayProcess({
      ...model.keys,
      hooks: {
        enabled: true,
        token: HOOK_TOKEN,
        concurrency: CONCURRENCY,
        allowRequestSessionKey: true,
        allowedSessionKeyPrefixes: ["hook:"],
        store: { url: { env: "DATABASE_URL" }, several: true },
      },
    });
    gateways.push(gateway);
    return gateway;
  };
  const start = (gateway: GatewayProcess) => gateway.start({ env: { DATABASE_URL: server.url } });
  const call = (gateway: GatewayProcess, number: number, more: object = {}) =>
    gateway.post("/hooks/agent", {
      message: `call ${number}.`,
      sessionKey: `hook:${number % SESSIONS}`,
      wakeMode: "next-heartbeat",
      deliver: false,
      ...more,
    });
  const leads = (gateway: GatewayProcess) => gateway.log.includes("this gateway carries out the runs now");

  beforeAll(async () => {
    server = await startServer();
    await migrate(server.url);
  });
  afterAll(() => server.dispose());
  beforeEach(async () => {
    model = await ModelEndpoint.listen();
    model.reply = "NO_REPLY";
    gateways = [];
    await start(open());
    await start(open());
  });
  afterEach(async () => {
    for (const gateway of gateways) {
      gateway.freeze("SIGCONT");
      await gateway.close();
    }
    model.close();
  });

  /** The numbers of the calls of a session, in the order in which the model was asked; one that began again counts once. */
  function askedOf(session: number): number[] {
    const asked = model.prompts.map((prompt) => Number(/call (\d+)\./u.exec(prompt)?.[1]));
    return [...new Set(asked)].filter((number) => number % SESSIONS === session);
  }

  /** Every acknowledged call is done, in the order of its session, and one that began twice says so. */
  async function expectAllDone(gateway: GatewayProcess, acknowledged: readonly number[]): Promise<void> {
    await gateway.settled();
    const deliveries = await gateway.deliveries();
    expect(deliveries.filter(({ state }) => state !== "done")).toEqual([]);
    for (let session = 0; session < SESSIONS; session++) {
      const expected = acknowledged.filter((number) => number % SESSIONS === session);
      expect(askedOf(session)).toEqual(expected);
    }
    for (const number of acknowledged) {
      const prompts = model.prompts.filter((prompt) => prompt.includes(`call ${number}.`));
      // A gateway that was frozen may ask for its first attempt after another one has asked again.
      const first = prompts.filter((prompt) => !prompt.includes("may already have taken effect"));
      expect(first.length, `call ${number}`).toBeLessThanOrEqual(1);
    }
  }

  it("keep the order of a session, whichever of them each call arrives at", async () => {
    for (let number = 0; number < CALLS; number++) {
      expect((await call(gateways[number % 2]!, number)).status).toBe(202);
    }
    await expectAllDone(
      gateways[1]!,
      Array.from({ length: CALLS }, (_, number) => number),
    );
    expect(gateways.map(leads)).toEqual([false, false]);
    // A sum over the gateways counts the runs of the store once.
    const texts = await Promise.all(gateways.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()));
    expect(texts.map((text) => text.match(/^reveille_(?:runs\{|oldest)/gmu)?.length)).toEqual([4, undefined]);
  });

  it.each(["SIGKILL", "SIGSTOP"] as const)(
    "refuse no call at the second one when the first is hit by %s, and all that was accepted is done",
    async (signal) => {
      const [first, second] = gateways as [GatewayProcess, GatewayProcess];
      model.delayMs = 20;
      const acknowledged: number[] = [];
      for (let number = 0; number < CALLS; number++) {
        if (number === CALLS / 3) {
          if (signal === "SIGKILL") await first.end(signal);
          else first.freeze(signal);
        }
        const isToFirst = number < CALLS / 3 && number % 2 === 0;
        expect((await call(isToFirst ? first : second, number)).status).toBe(202);
        acknowledged.push(number);
      }
      await expect.poll(() => leads(second)).toBe(true);
      if (signal === "SIGSTOP") {
        first.freeze("SIGCONT");
        await expect.poll(async () => (await call(first, CALLS)).status, { timeout: 20_000 }).toBe(503);
      }
      await expectAllDone(second, acknowledged);
    },
    120_000,
  );

  it("are updated one after the other under load, and no call is refused", async () => {
    const end = new AbortController();
    let number = 0;
    const acknowledged: number[] = [];
    /** The one that a load balancer would choose. */
    let chosen = gateways[1]!;
    const calls = (async () => {
      while (!end.signal.aborted) {
        const answer = await call(chosen, number);
        expect(answer.status).toBe(202);
        acknowledged.push(number++);
      }
    })();
    for (const which of [0, 1]) {
      const old = gateways[which]!;
      chosen = gateways[which === 0 ? 1 : 2]!;
      await sleep(50);
      await old.end("SIGTERM");
      const next = open();
      await start(next);
    }
    await sleep(50);
    end.abort();
    await calls;
    await expectAllDone(gateways[2]!, acknowledged);
  }, 120_000);

  it("do what an operator wants at either of them", async () => {
    const [first, second] = gateways as [GatewayProcess, GatewayProcess];
    await second.api("/hooks/*/pause", "POST");
    const states = async (gateway: GatewayProcess) =>
      (await gateway.api<{ all: { paused: object | null } }>("/hooks")).all.paused !== null;
    await expect.poll(() => states(first)).toBe(true);
    const waiting = await call(first, 0);
    const canceled = await call(second, 1);
    await second.api(`/deliveries/${String(canceled.body["deliveryId"])}/cancel`, "POST");
    await first.api("/hooks/*/resume", "POST");
    await first.settled();
    expect((await second.delivery(String(waiting.body["deliveryId"]))).state).toBe("done");
    expect((await first.delivery(String(canceled.body["deliveryId"]))).state).toBe("canceled");
    expect(model.prompts).toHaveLength(1);

    model.delayMs = 60_000;
    const active = await call(first, 2);
    await expect.poll(() => model.prompts.length).toBe(2);
    await second.api(`/deliveries/${String(active.body["deliveryId"])}/cancel`, "POST");
    await expect.poll(() => model.aborted).toBe(1);
  });

  it("give a caller who waits the result also where another one has it", async () => {
    model.reply = "The answer.";
    const answers = await Promise.all(gateways.map((gateway, number) => call(gateway, number, { wait: true })));
    for (const { status, body } of answers) expect([status, body["reply"]]).toEqual([200, "The answer."]);
  });
});
