/** Sessions that wait, at two gateways on one database: whichever takes the event, the session is resumed once. */
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { WaitView } from "../../../src/index.ts";
import { createDatabase, type TestDatabase } from "../../fixtures/postgres/database.ts";
import { GatewayProcess, HOOK_TOKEN } from "../gateway-process.ts";
import { ModelEndpoint } from "../model-endpoint.ts";

const SESSION = "agent:main:hook:work";
const HOUR = { withinSeconds: 3_600, sessionKey: "hook:work" };
const POLL = { timeout: 30_000 };

let database: TestDatabase;
let model: ModelEndpoint;
let gateways: readonly [GatewayProcess, GatewayProcess];

const open = (): GatewayProcess => {
  const mapping = { messageTemplate: "{{text}}", deliver: false, wakeMode: "next-heartbeat" };
  return new GatewayProcess({
    ...model.keys,
    hooks: {
      enabled: true,
      token: HOOK_TOKEN,
      mappings: [
        { ...mapping, id: "ci", match: { path: "ci" } },
        { ...mapping, id: "alerts", match: { path: "alerts" } },
        {
          ...mapping,
          id: "opened",
          match: { path: "opened" },
          sessionKey: "hook:work",
          sessionMode: "persistent",
          respond: { wait: { hook: "ci", correlation: { path: "pr", equals: "{{pr}}" }, withinSeconds: 3_600 } },
        },
      ],
      store: { url: { env: "DATABASE_URL" }, several: true },
    },
  });
};
const start = (gateway: GatewayProcess) => gateway.start({ env: { DATABASE_URL: database.url } });

beforeEach(async () => {
  database = await createDatabase();
  model = await ModelEndpoint.listen();
  model.reply = "NO_REPLY";
  gateways = [open(), open()];
  for (const gateway of gateways) await start(gateway);
});
afterEach(async () => {
  for (const gateway of gateways) await gateway.close();
  model.close();
  await database.drop();
});

async function add(gateway: GatewayProcess, wish: object): Promise<WaitView> {
  const made = await gateway.api<WaitView & { error?: string }>("/waits", "POST", { ...HOUR, ...wish });
  expect(made.error).toBeUndefined();
  return made;
}

async function waits(gateway: GatewayProcess): Promise<readonly WaitView[]> {
  return (await gateway.api<{ waits: WaitView[] }>("/waits")).waits;
}

/** The texts of the session's runs. */
async function resumed(gateway: GatewayProcess): Promise<string[]> {
  const texts = [];
  for (const { id } of await gateway.deliveries()) {
    const { runs } = await gateway.delivery(id);
    for (const { spec } of runs) if (spec.sessionKey === SESSION && spec.kind === "agent") texts.push(spec.message);
  }
  return texts;
}

it("an event counts at the gateway that did not make the wait, and once of many at both", async () => {
  const [first, second] = gateways;
  for (const [maker, taker] of [[first, second] as const, [second, first] as const]) {
    const before = await resumed(first);
    await add(maker, { hook: "ci", when: "payload.ok == true" });
    expect((await taker.post("/hooks/ci", { ok: true, text: "at once" })).status).toBe(202);
    expect(await resumed(first)).toHaveLength(before.length + 1);
    await add(maker, { hook: "ci" });
    const calls = Array.from({ length: 20 }, (_, at) => gateways[at % 2]!.post("/hooks/ci", { text: `call ${at}` }));
    for (const { status } of await Promise.all(calls)) expect(status).toBe(202);
    expect(await resumed(first)).toHaveLength(before.length + 2);
    expect([await waits(first), await waits(second)]).toEqual([[], []]);
  }
  await first.settled();
});

it("a condition of three events is fulfilled once, over the end of the gateway that leads", async () => {
  const [first, second] = gateways;
  const [red, green] = ["red", "green"].map((state) => ({ hook: "ci", when: `payload.state == "${state}"` }));
  const { id } = await add(second, { all: [red, green], none: [{ hook: "alerts" }], quietSeconds: 3 });
  await first.post("/hooks/ci", { state: "red", text: "it is red" });
  await first.end("SIGKILL");
  expect(await waits(second)).toMatchObject([{ id, seen: [{ hook: "ci" }] }]);
  await second.post("/hooks/ci", { state: "green", text: "it is green" });
  await second.post("/hooks/alerts", { text: "it burns" });
  await start(first);
  await expect.poll(async () => (await resumed(first)).length, POLL).toBe(1);
  await second.end("SIGKILL");
  await start(second);
  await sleep(2_500);
  const [text, ...more] = await resumed(second);
  expect(text).toMatch(/^Fulfilled: [^]*it is red[^]*it is green/u);
  expect(more).toEqual([]);
  expect(await waits(second)).toEqual([]);
});

it("a wait that an event makes at one gateway is ended by an event at the other, once of many", async () => {
  const [first, second] = gateways;
  const copy = { "idempotency-key": "opened-7" };
  const opened = Array.from({ length: 10 }, (_, at) =>
    gateways[at % 2]!.post("/hooks/opened", { pr: 7, text: "opened" }, copy),
  );
  for (const { status } of await Promise.all(opened)) expect(status).toBe(202);
  expect(await waits(first)).toMatchObject([{ mapping: "opened", sessionKey: SESSION }]);
  for (const [at, maker] of [first, second, first].entries()) {
    const taker = maker === first ? second : first;
    await maker.post("/hooks/opened", { pr: 10 + at, text: "opened" });
    expect((await taker.post("/hooks/ci", { pr: 10 + at, text: `built ${at}` })).status).toBe(202);
    expect((await resumed(first)).filter((text) => text.includes(`built ${at}`))).toHaveLength(1);
  }
  const calls = Array.from({ length: 20 }, (_, at) => gateways[at % 2]!.post("/hooks/ci", { pr: 7, text: "built" }));
  for (const { status } of await Promise.all(calls)) expect(status).toBe(202);
  expect((await resumed(second)).filter((text) => text.endsWith("ci\nbuilt"))).toHaveLength(1);
  expect([await waits(first), await waits(second)]).toEqual([[], []]);
});

it("a deadline that passes while no gateway runs resumes the session once", async () => {
  const [first, second] = gateways;
  await add(second, { hook: "ci", withinSeconds: 1 });
  for (const gateway of gateways) await gateway.end("SIGKILL");
  await sleep(1_500);
  await Promise.all(gateways.map(start));
  await expect.poll(async () => (await resumed(first)).length, POLL).toBe(1);
  await sleep(2_500);
  expect(await resumed(second)).toHaveLength(1);
});
