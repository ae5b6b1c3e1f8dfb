import { expect, it, vi } from "vitest";
import { defineOpenClawPlugin } from "../../../../src/hosts/openclaw/define-plugin.ts";
import plugin from "../../../../src/openclaw-plugin.ts";
import type { LoadOutcome } from "../../../../src/hosts/openclaw/gateway.ts";
import type { OpenClawService } from "../../../../src/hosts/openclaw/sdk.ts";
import { requireCalls } from "../../../../src/hosts/openclaw/require-calls.ts";
import { openClawLogger } from "../../../../src/hosts/openclaw/logger.ts";
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
  const offered: LoadOutcome[] = [];
  const about = { id: "reveille", name: "R", description: "d" };
  const loadSdk = async (): Promise<typeof openClaw.sdk> => openClaw.sdk;
  const defined = defineOpenClawPlugin(about, {
    bare: true,
    block: (written) => written,
    loadSdk,
    onLoaded: (outcome) => void offered.push(outcome),
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
  expect(sdk.peekSystemEventEntries?.("agent:main:main", "main")).toEqual([]);
  await expect(requireCalls(openClaw.api, async () => null)).rejects.toThrow("registerPluginHttpRoute");
});

it("opens nothing when the host has stopped the service before its start had ended", async () => {
  using openClaw = new FakeOpenClaw();
  let opened = 0;
  const held = Promise.withResolvers<typeof openClaw.sdk>();
  const defined = defineOpenClawPlugin(
    { id: "reveille", name: "R", description: "d" },
    {
      bare: true,
      block: (written) => written,
      loadSdk: async () => {
        opened++;
        return held.promise;
      },
      runCommand: async () => 0,
    },
  );
  const [service] = register(openClaw, defined).services;
  const early = service?.start(openClaw.context);
  await service?.stop();
  await early;
  expect(opened).toBe(0);
  const late = service?.start(openClaw.context);
  await vi.waitFor(() => expect(opened).toBe(1), { timeout: 10_000 });
  const intervals = vi.spyOn(globalThis, "setInterval");
  const stopped = service?.stop();
  held.resolve(openClaw.sdk);
  await Promise.all([late, stopped]);
  expect(intervals).not.toHaveBeenCalled();
  intervals.mockRestore();
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
