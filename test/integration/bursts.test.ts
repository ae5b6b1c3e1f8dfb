import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { DeliveryDetail, DeliverySummary } from "../../src/core/delivery.ts";
import { sendBurst } from "../torture/burst-client.ts";
import { ScriptedModel } from "../torture/scripted-model.ts";
import { GatewayProcess, HOOK_TOKEN } from "./gateway-process.ts";

const CALLS = 10_000;
const RUNS = 500;
const CONCURRENCY = 8;
const WINDOW_MS = 400;
const MAX_WAIT_MS = 1_500;
/** Two clocks of one machine, rounded to milliseconds. */
const ROUNDING_MS = 20;
/** As long as the tests have. */
const SETTLED_MS = 300_000;
const headers = { authorization: `Bearer ${HOOK_TOKEN}` };

describe("bursts", () => {
  let model: ScriptedModel;
  let gateway: GatewayProcess;
  let modelMs: number;
  /** The model does not answer before so many have asked at once. */
  let awaited: number;

  beforeEach(async () => {
    modelMs = 0;
    awaited = 0;
    model = await ScriptedModel.listen(async () => {
      while (model.maxAtOnce < awaited) await sleep(5);
      return { delayMs: modelMs };
    });
    gateway = new GatewayProcess({
      ...model.config,
      hooks: {
        enabled: true,
        token: HOOK_TOKEN,
        concurrency: CONCURRENCY,
        allowRequestSessionKey: true,
        allowedSessionKeyPrefixes: ["hook:"],
        mappings: [
          {
            id: "mails",
            match: { path: "mails" },
            messageTemplate: "mail {{number}}.",
            sessionKey: "hook:mails",
            wakeMode: "next-heartbeat",
            deliver: false,
            coalesce: { key: "inbox", windowSeconds: WINDOW_MS / 1_000, maxWaitSeconds: MAX_WAIT_MS / 1_000 },
          },
        ],
      },
    });
    await gateway.start();
  });
  afterEach(async () => {
    await gateway.close();
    model.close();
  });

  it("10,000 calls onto one coalescing mapping make as many runs as its window and its longest wait allow, and lose none", async () => {
    const answers = await sendBurst(`${gateway.url}/hooks/mails`, {
      headers,
      count: CALLS,
      connections: 48,
      payload: (number) => ({ number }),
    });
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    await gateway.settled(SETTLED_MS);

    const deliveries = (await gateway.deliveries()).toReversed();
    expect(deliveries).toHaveLength(CALLS);
    expect(new Set(deliveries.map(({ id }) => id))).toEqual(new Set(answers.map(({ deliveryId }) => deliveryId)));
    const gathered = await gatheredCalls(deliveries);
    expect(gathered.reduce((sum, { calls }) => sum + calls.length, 0)).toBe(CALLS);
    for (const { run, calls } of gathered) expect(run?.calls).toBe(calls.length);

    // Each prompt says how many calls the run serves.
    const told = model.runPrompts.map((prompt) => Number(/serves (\d+) calls/.exec(prompt)?.[1] ?? 1));
    expect(told).toEqual(gathered.map(({ calls }) => calls.length));

    // A run begins when it is due and not before, and from then on calls are coalesced for the next one.
    const slowestMs = Math.max(...answers.map(({ latencyMs }) => latencyMs));
    for (const [at, { run, calls }] of gathered.entries()) {
      const times = calls.map(({ receivedAt }) => Date.parse(receivedAt));
      const dueAt = Math.min(Math.max(...times) + WINDOW_MS, Math.min(...times) + MAX_WAIT_MS);
      const begunAt = Date.parse(run!.attempts[0]!.startedAt);
      expect(begunAt).toBeGreaterThanOrEqual(dueAt - ROUNDING_MS);
      const next = gathered[at + 1];
      if (next) expect(Date.parse(next.calls[0]!.receivedAt)).toBeGreaterThanOrEqual(dueAt - slowestMs - ROUNDING_MS);
    }
    const times = deliveries.map(({ receivedAt }) => Date.parse(receivedAt));
    const spanMs = Math.max(...times) - Math.min(...times);
    expect(gathered.length).toBeLessThanOrEqual(1 + spanMs / (WINDOW_MS - ROUNDING_MS));
  }, 300_000);

  it("500 calls for one session run one after the other, in the order in which they were accepted", async () => {
    await sendRuns(() => "hook:one");
    await gateway.settled(SETTLED_MS);
    const accepted = (await gateway.deliveries()).toReversed().map(({ name }) => name);
    expect(accepted).toHaveLength(RUNS);
    expect(model.runPrompts.map((prompt) => /call-\d+/.exec(prompt)?.[0])).toEqual(accepted);
    expect(model.maxAtOnce).toBe(1);
  }, 300_000);

  it("500 calls for 500 sessions run at once up to hooks.concurrency, and no more", async () => {
    modelMs = 50;
    awaited = CONCURRENCY;
    await sendRuns((number) => `hook:${number}`);
    await gateway.settled(SETTLED_MS);
    expect(new Set(model.runPrompts.map((prompt) => /call-\d+/.exec(prompt)?.[0])).size).toBe(RUNS);
    expect(model.runPrompts).toHaveLength(RUNS);
    expect(model.maxAtOnce).toBe(CONCURRENCY);
  }, 300_000);

  async function sendRuns(sessionKey: (number: number) => string): Promise<void> {
    const answers = await sendBurst(`${gateway.url}/hooks/agent`, {
      headers,
      count: RUNS,
      connections: 16,
      payload: (number) => ({
        message: `This is call-${number}.`,
        name: `call-${number}`,
        sessionKey: sessionKey(number),
        wakeMode: "next-heartbeat",
        deliver: false,
      }),
    });
    expect(answers.every(({ status }) => status === 202)).toBe(true);
  }

  /** Every run that coalesced calls, with its calls, in order of acceptance. */
  async function gatheredCalls(
    deliveries: readonly DeliverySummary[],
  ): Promise<{ run: DeliveryDetail["runs"][0] | undefined; calls: DeliverySummary[] }[]> {
    const groups = new Map(deliveries.filter(({ state }) => state === "done").map((own) => [own.id, [own]]));
    for (const delivery of deliveries) {
      if (delivery.state !== "coalesced") continue;
      expect(delivery.relatedTo).toMatchObject({ how: "coalesced" });
      groups.get(delivery.relatedTo!.deliveryId)!.push(delivery);
    }
    return Promise.all([...groups].map(async ([id, calls]) => ({ run: (await gateway.delivery(id)).runs[0], calls })));
  }
});
