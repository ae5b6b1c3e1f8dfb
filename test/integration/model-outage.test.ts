import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { RunningGateway } from "./http/running-gateway.ts";
import { ModelEndpoint } from "./model-endpoint.ts";

const RUNS = 60;

let model: ModelEndpoint;
let gateway: RunningGateway;

beforeAll(async () => {
  model = await ModelEndpoint.listen();
  gateway = await RunningGateway.start({
    config: {
      agents: { defaults: { model: "test/small", heartbeat: { every: "0m" } } },
      models: { providers: { test: { baseUrl: model.baseUrl } } },
    },
    hooks: { allowRequestSessionKey: true, allowedSessionKeyPrefixes: ["hook:"], concurrency: 4 },
  });
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
  model.close();
});

it(
  "runs wait with the reason while their model's provider is down, ask it little, and are done when it is back",
  { timeout: 90_000 },
  async () => {
    model.refusal = { status: 503, message: "down for maintenance" };
    const call = { message: "x", wakeMode: "next-heartbeat", deliver: false };
    for (let run = 0; run < RUNS; run++) await gateway.post("/hooks/agent", { ...call, sessionKey: `hook:${run}` });
    await vi.waitFor(
      async () => {
        const waiting = (await gateway.deliveries()).filter(({ reason }) =>
          /The provider "test" is down/.test(reason ?? ""),
        );
        expect(waiting.length).toBeGreaterThan(RUNS - 10);
      },
      { timeout: 60_000, interval: 100 },
    );
    // Four turns at once of three requests each, before and after the fifth failure; then single ones.
    expect(model.requests.length).toBeLessThan(36);
    expect((await gateway.deliveries()).every(({ state }) => state === "queued" || state === "running")).toBe(true);

    model.refusal = undefined;
    await vi.waitFor(
      async () => expect((await gateway.deliveries()).filter(({ state }) => state !== "done")).toEqual([]),
      { timeout: 60_000, interval: 100 },
    );
  },
);
