import { createHmac } from "node:crypto";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { EmbeddedGateway } from "../../../src/hosts/embedded/gateway.ts";
import type { BacktestPage, Preview, PreviewedRun } from "../../../src/index.ts";
import {
  baseConfig,
  callHook,
  GatewayFixture,
  gatewayToken,
  readApi,
} from "../../unit/hosts/embedded/gateway/fixture.ts";

const BUILD = { id: "build", match: { path: "build" }, messageTemplate: "Build {{id}}", wakeMode: "next-heartbeat" };
const LARGE = { id: "large", match: { path: "large" }, when: "payload.n > 10.0", messageTemplate: "Large {{n}}" };

let fixture: GatewayFixture;
let gateway: EmbeddedGateway;

beforeEach(async () => {
  fixture = new GatewayFixture(configOf([BUILD, LARGE]));
  gateway = await fixture.start();
});

afterEach(async () => {
  await fixture.remove();
});

function configOf(mappings: readonly object[]): object {
  return { ...baseConfig, hooks: { ...baseConfig.hooks, mappings } };
}

async function post<Body>(path: string, body: object): Promise<Body> {
  const response = await fetch(`${gateway.url}/api/v1/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${gatewayToken}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  return (await response.json()) as Body;
}

async function call(path: string, body: object): Promise<string> {
  return ((await (await callHook(gateway, `/hooks/${path}`, body)).json()) as { deliveryId: string }).deliveryId;
}

async function deliveries(): Promise<{ id: string; state: string }[]> {
  return ((await (await readApi(gateway, "deliveries")).json()) as { deliveries: { id: string; state: string }[] })
    .deliveries;
}

it("shows what the configuration makes of a payload, and stores nothing", async () => {
  const runs = await post<Preview>("deliveries/preview", { path: "build", payload: '{"id":7}' });
  expect(runs).toMatchObject({ outcome: "runs", mappingId: "build", runs: [{ kind: "agent", agentId: "main" }] });
  expect(runs.runs[0]!.prompt).toContain("Build 7");
  const filtered = await post<Preview>("deliveries/preview", { path: "large", payload: '{"n":1}' });
  expect([filtered.outcome, filtered.mappingId, filtered.runs]).toEqual(["filtered", "large", []]);
  expect(filtered.reason).toContain("payload.n > 10.0");
  for (const [path, payload] of [
    ["nothing", "{}"],
    ["build", "{"],
  ]) {
    expect(await post("deliveries/preview", { path, payload })).toMatchObject({ outcome: "refused", runs: [] });
  }
  expect(await deliveries()).toEqual([]);
});

it("judges a payload with the headers of a stored delivery, which may say what event it is", async () => {
  const secret = "secret-of-the-github-hook-here";
  fixture.write(configOf([{ id: "github", match: { path: "github" }, preset: "github", secret }]));
  await gateway.reload();
  const payload = '{"zen":"Speak like a human.","hook_id":1}';
  const signature = createHmac("sha256", secret).update(payload).digest("hex");
  const headers = { "x-hub-signature-256": `sha256=${signature}`, "x-github-event": "ping" };
  const init = { method: "POST", headers: { ...headers, "content-type": "application/json" }, body: payload };
  expect((await fetch(`${gateway.url}/hooks/github`, init)).status).toBe(200);
  const [stored] = await deliveries();
  const sample = { path: "github", payload };
  expect((await post<Preview>("deliveries/preview", sample)).outcome).toBe("runs");
  const like = await post<Preview>("deliveries/preview", { ...sample, delivery: stored!.id });
  expect([like.outcome, like.reason]).toEqual(["filtered", "a ping, by which GitHub tries the webhook"]);
});

it("compares stored deliveries with the configuration of today, and says which it could not judge", async () => {
  const ids = {
    same: await call("build", { id: 1 }),
    gone: await call("build", { id: 2 }),
    filtered: await call("large", { n: 1 }),
  };
  await vi.waitFor(async () => {
    expect((await deliveries()).map(({ state }) => state).toSorted()).toEqual(["done", "done", "filtered"]);
  }, 15_000);
  const backtest = async (): Promise<Record<string, string>> => {
    const { deliveries } = await post<BacktestPage>("deliveries/backtest", { filter: { since: "1h" } });
    return Object.fromEntries(deliveries.map(({ deliveryId, change }) => [deliveryId, change]));
  };
  expect(await backtest()).toEqual({ [ids.same]: "same", [ids.gone]: "same", [ids.filtered]: "same" });

  fixture.write(
    configOf([
      { ...BUILD, messageTemplate: "The build {{id}}" },
      { ...LARGE, when: "payload.n > 0.0" },
    ]),
  );
  await gateway.reload();
  expect(await backtest()).toEqual({ [ids.same]: "content", [ids.gone]: "content", [ids.filtered]: "runs" });
  const compared = (await (await readApi(gateway, `deliveries/${ids.same}/preview`)).json()) as {
    accepted: PreviewedRun[];
    now: Preview;
  };
  expect(compared.accepted[0]!.prompt).toContain("Build 1");
  expect(compared.now.runs[0]!.prompt).toContain("The build 1");

  fixture.write(configOf([LARGE]));
  await gateway.reload();
  expect((await backtest())[ids.same]).toBe("refused");
  expect(await deliveries()).toHaveLength(3);
});
