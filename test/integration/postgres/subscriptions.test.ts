/** A subscription to events of an MCP server, at two gateways on one database: whichever leads goes on where it is. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { createDatabase, type TestDatabase } from "../../fixtures/postgres/database.ts";
import { GatewayProcess, HOOK_TOKEN } from "../gateway-process.ts";
import { ModelEndpoint } from "../model-endpoint.ts";
import { EventSource } from "../subscriptions/event-source.ts";
import { FIRST } from "../subscriptions/subscribed-gateway.ts";

const POLL = { timeout: 60_000, interval: 250 };

let database: TestDatabase;
let model: ModelEndpoint;
let source: EventSource;
let gateways: readonly [GatewayProcess, GatewayProcess];

beforeEach(async () => {
  database = await createDatabase();
  model = await ModelEndpoint.listen();
  model.reply = "NO_REPLY";
  source = new EventSource();
  await source.start();
  const open = () =>
    new GatewayProcess({
      ...model.keys,
      hooks: {
        enabled: true,
        token: HOOK_TOKEN,
        senders: { incidents: { preset: "mcp-events", secret: FIRST, deliver: false, wakeMode: "next-heartbeat" } },
        subscriptions: {
          incidents: { server: { url: source.url, token: source.token }, event: "incident.created" },
        },
        store: { url: { env: "DATABASE_URL" }, several: true },
      },
    });
  gateways = [open(), open()];
  for (const gateway of gateways) await start(gateway);
});
afterEach(async () => {
  for (const gateway of gateways) await gateway.close();
  await source.stop();
  model.close();
  await database.drop();
});

const start = (gateway: GatewayProcess) => gateway.start({ env: { DATABASE_URL: database.url } });

/** The events that became deliveries, repeats left out. */
async function taken(gateway: GatewayProcess): Promise<number> {
  const all = await gateway.deliveries();
  return all.filter(({ route, state }) => route === "incidents" && state !== "duplicate").length;
}

const polls = (): number => source.requests.filter(({ method }) => method === "events/poll").length;

it("loses and doubles no event when the gateway that subscribes is killed, and another one goes on", async () => {
  const [first, second] = gateways;
  await expect.poll(polls, POLL).toBeGreaterThan(0);
  source.emit(5);
  await expect.poll(() => taken(second), POLL).toBe(5);
  const before = polls();
  await expect.poll(polls, POLL).toBeGreaterThan(before);
  await first.end("SIGKILL");
  source.emit(7);
  await expect.poll(() => taken(second), POLL).toBe(12);
  await start(first);
  await second.end("SIGKILL");
  source.emit(3);
  await expect.poll(() => taken(first), POLL).toBe(15);
  const again = polls();
  await expect.poll(polls, POLL).toBeGreaterThan(again + 1);
  expect(await taken(first)).toBe(15);
});
