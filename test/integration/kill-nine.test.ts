import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GatewayProcess } from "./gateway-process.ts";
import { ModelEndpoint } from "./model-endpoint.ts";

const CALLS = 500;
const CONCURRENCY = 8;

describe("SIGKILL under load", () => {
  let model: ModelEndpoint;
  let gateway: GatewayProcess;

  beforeEach(async () => {
    model = await ModelEndpoint.listen();
    model.reply = "NO_REPLY";
    model.delayMs = 20;
    gateway = new GatewayProcess({
      agents: { defaults: { model: "test/model", heartbeat: { every: "0m" } } },
      models: { providers: { test: { baseUrl: model.baseUrl } } },
      hooks: {
        enabled: true,
        token: "hook-token-of-the-integration-tests",
        concurrency: CONCURRENCY,
        mappings: [{ match: { path: "mapped" }, wakeMode: "next-heartbeat", messageTemplate: "call {{number}}." }],
      },
    });
    await gateway.start();
  });
  afterEach(async () => {
    await gateway.close();
    model.close();
  });

  function call(number: number): Promise<{ status: number; body: Readonly<Record<string, unknown>> }> {
    const quiet = { wakeMode: "next-heartbeat", deliver: false };
    if (number % 3 === 0) return gateway.post("/hooks/wake", { text: `call ${number}.`, mode: "next-heartbeat" });
    if (number % 3 === 1) return gateway.post("/hooks/agent", { message: `call ${number}.`, ...quiet });
    return gateway.post("/hooks/mapped", { number });
  }

  it("every call that got a 2xx is done afterwards, none is lost, and a run that began twice says so in its prompt", async () => {
    const acknowledged = new Map<number, string>();
    const calls = Array.from({ length: CALLS }, async (_, number) => {
      const answer = await call(number).catch(() => undefined);
      if (answer && answer.status < 300) acknowledged.set(number, String(answer.body["deliveryId"]));
    });
    // In the middle: some answered, some not, some runs in progress.
    while (acknowledged.size < CALLS / 4) await sleep(1);
    await gateway.end("SIGKILL");
    await Promise.all(calls);
    expect(acknowledged.size).toBeGreaterThanOrEqual(CALLS / 4);

    model.delayMs = 0;
    await gateway.start();
    await gateway.settled();

    const deliveries = new Map((await gateway.deliveries()).map((delivery) => [delivery.id, delivery]));
    for (const [number, id] of acknowledged) {
      expect(deliveries.get(id), `call ${number}`).toMatchObject({ state: "done" });
    }

    const begun = new Map<string, string[]>();
    for (const prompt of model.prompts) {
      const number = /call (\d+)\./.exec(prompt)?.[1];
      if (number !== undefined) begun.set(number, [...(begun.get(number) ?? []), prompt]);
    }
    const agentCalls = [...acknowledged.keys()].filter((number) => number % 3 !== 0);
    for (const number of agentCalls) expect(begun.get(String(number)), `call ${number}`).toBeDefined();
    const twice = [...begun.values()].filter((prompts) => prompts.length > 1);
    expect(twice.length).toBeLessThanOrEqual(CONCURRENCY);
    for (const prompts of twice) {
      expect(prompts).toHaveLength(2);
      expect(prompts[1]).toContain("may already have taken effect");
    }

    const events = await gateway.api<{ events: { text: string }[] }>("/sessions/agent%3Amain%3Amain/events?limit=200");
    expect(events.events.length).toBeGreaterThan(0);
    const wakes = await pendingTexts(gateway);
    for (const number of acknowledged.keys()) {
      const times = wakes.filter((text) => text.includes(`call ${number}.`)).length;
      if (number % 3 === 0) expect(times, `wake ${number}`).toBe(1);
    }
  }, 120_000);
});

/** The texts of all pending system events of the main session. */
async function pendingTexts(gateway: GatewayProcess): Promise<string[]> {
  const texts: string[] = [];
  let cursor: string | null = null;
  do {
    const query: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const page: { events: { text: string }[]; nextCursor: string | null } = await gateway.api(
      `/sessions/agent%3Amain%3Amain/events?limit=200${query}`,
    );
    texts.push(...page.events.map(({ text }) => text));
    cursor = page.nextCursor;
  } while (cursor !== null);
  return texts;
}
