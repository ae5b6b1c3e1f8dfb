import { expect, it, vi } from "vitest";
import { defineOpenClawPlugin } from "../../../src/openclaw/define-openclaw-plugin.ts";
import plugin from "../../../src/openclaw-plugin.ts";
import type { OfferOutcome } from "../../../src/openclaw/openclaw-gateway.ts";
import type { OpenClawService } from "../../../src/openclaw/openclaw-sdk.ts";
import { requireCalls } from "../../../src/openclaw/require-calls.ts";
import { probeSelf } from "../../../src/openclaw/self-probe.ts";
import { openClawLogger } from "../../../src/openclaw/openclaw-logger.ts";
import { FakeOpenClaw } from "./fake-openclaw.ts";

function register(openClaw: FakeOpenClaw, define: typeof plugin, registrationMode = "full") {
  const services: OpenClawService[] = [];
  const noop: string[] = [];
  define.register({
    ...openClaw.api,
    registrationMode,
    registerService: (service) => void services.push(service),
    registerReload: ({ noopPrefixes }) => void noop.push(...noopPrefixes),
  });
  return { services, noop };
}

it("announces a service and starts nothing; in other modes it announces no service", () => {
  using openClaw = new FakeOpenClaw();
  const { services, noop } = register(openClaw, plugin);
  expect(register(openClaw, plugin, "discovery")).toEqual({ services: [], noop });
  expect(services.map(({ id }) => id)).toEqual(["reveille"]);
  expect(noop).toEqual(["plugins.entries.reveille.config"]);
  expect(openClaw.log).toEqual([]);
});

it("opens the gateway in the service's start and closes it in its stop", async () => {
  using openClaw = new FakeOpenClaw();
  const offered: OfferOutcome[] = [];
  const about = { id: "reveille", name: "R", description: "d" };
  const loadSdk = async (): Promise<typeof openClaw.sdk> => openClaw.sdk;
  const defined = defineOpenClawPlugin(about, {
    bare: true,
    block: (written) => written,
    loadSdk,
    offered: (outcome) => void offered.push(outcome),
    runCommand: async () => 0,
  });
  const [service] = register(openClaw, defined).services;
  await service?.start(openClaw.context);
  expect(offered).toEqual([{ reason: "start" }]);
  await service?.stop();
  await service?.stop();
  openClaw.config = { plugins: { entries: { reveille: { config: { a: 1 } } } } };
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(offered).toHaveLength(1);
});

it("says in the log and in the host's health that the host lacks what it needs", async () => {
  using openClaw = new FakeOpenClaw();
  openClaw.config = { plugins: { entries: { reveille: { config: { enabled: true } } } } };
  const [service] = register(openClaw, plugin).services;
  await service?.start(openClaw.context);
  await service?.stop();
  expect(openClaw.health.join()).toContain("update the host");
});

it("finds the calls where the host has them", async () => {
  using openClaw = new FakeOpenClaw();
  const sdk = await requireCalls(openClaw.api, async () => openClaw.sdk);
  expect(sdk.peekSystemEventEntries("agent:main:main")).toEqual([]);
  await expect(requireCalls(openClaw.api, async () => null)).rejects.toThrow("peekSystemEventEntries");
});

it("says why its own address does not answer", async () => {
  using openClaw = new FakeOpenClaw();
  const logger = openClawLogger(openClaw.logger);
  const options = { config: { gateway: { port: 9 } }, path: "/x", logger, env: {}, pauseMs: 1 };
  const reason = await probeSelf({ ...options, signal: new AbortController().signal });
  expect(reason).toMatch(/^Reveille cannot be reached on its own address: http:\/\/127\.0\.0\.1:9\/x\/wake is not/);
  expect(await probeSelf({ ...options, signal: AbortSignal.abort() })).toBeUndefined();
});

it("says when somebody else answers at its address", async () => {
  using openClaw = new FakeOpenClaw();
  vi.spyOn(globalThis, "fetch").mockImplementation(async () => new Response("x", { status: 200 }));
  const config = { gateway: { tls: { enabled: true } } };
  const options = { config, path: "/x", logger: openClawLogger(openClaw.logger), env: {}, pauseMs: 1 };
  const reason = await probeSelf({ ...options, signal: new AbortController().signal });
  expect(reason).toContain("https://127.0.0.1:18789/x/wake is answered 200 by somebody else");
});

it("writes fields and errors behind the sentence, and no more than a line holds", () => {
  using openClaw = new FakeOpenClaw();
  const logger = openClawLogger(openClaw.logger);
  logger.info({}, "plain");
  logger.warn({ err: new Error("outer", { cause: new Error("inner") }) }, "failed");
  logger.debug({ long: "x".repeat(5_000) }, "long");
  expect(openClaw.log.slice(0, 2)).toEqual(["plain", 'failed {"err":"Error: outer (inner)"}']);
  expect(openClaw.log[2]?.length).toBeLessThan(2_100);
});
