import { statSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import type { ConfigSnapshot, GatewayPlugin } from "../../../../src/core/host.ts";
import { OpenClawGateway } from "../../../../src/hosts/openclaw/gateway.ts";
import { requireCalls } from "../../../../src/hosts/openclaw/require-calls.ts";
import { configFolder } from "../../../../src/hosts/openclaw/host.ts";
import { FakeOpenClaw } from "./fake-openclaw.ts";
import { OpenGateway } from "./open-gateway.ts";

const patience = { timeout: 10_000, interval: 20 };

function withBlock(config: object): FakeOpenClaw["config"] {
  return { plugins: { entries: { reveille: { config } } } };
}

function refusing(refuses: (config: unknown) => boolean): GatewayPlugin {
  return {
    apply(host) {
      host.lifecycle.onConfigLoad.tapPromise("refusing", async ({ config }) => {
        if (refuses(config)) throw new Error("not with these settings");
      });
      host.lifecycle.onHttpRoute.tap("refusing", (router) => {
        router.register({ path: "/a", match: "prefix", handler: (_req, res) => void res.end("a") });
      });
    },
  };
}

it("has a private folder of its own in the host's state folder", async () => {
  await using opened = await OpenGateway.start();
  const { stateDir } = opened.host.paths;
  expect(stateDir).toBe(join(opened.openClaw.stateDir, "reveille"));
  expect(statSync(stateDir).mode & 0o777).toBe(0o700);
  expect(opened.host.name).toBe("openclaw");
});

it("finds its configuration's folder where the host has its file", () => {
  expect(configFolder("/state", {})).toBe("/state");
  expect(configFolder("/state", { OPENCLAW_CONFIG_PATH: "/etc/claw/openclaw.json" })).toBe("/etc/claw");
});

it("loads a configuration once, and the next one as a reload", async () => {
  await using opened = await OpenGateway.start();
  const { openClaw, outcomes } = opened;
  expect(outcomes).toEqual([{ reason: "start" }]);
  openClaw.config = { ...openClaw.config, unrelated: 1 };
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(outcomes).toHaveLength(1);
  openClaw.config = withBlock({ enabled: true });
  await vi.waitFor(() => expect(outcomes).toEqual([{ reason: "start" }, { reason: "reload" }]), patience);
  await opened.gateway.reload();
  expect(outcomes).toHaveLength(3);
});

it("keeps the active configuration when the next one is refused, and reports it in the host's health", async () => {
  const openClaw = new FakeOpenClaw();
  await using opened = await OpenGateway.start({ openClaw, plugin: refusing((config) => config !== undefined) });
  openClaw.config = withBlock({ enabled: true });
  await vi.waitFor(() => expect(opened.outcomes).toHaveLength(2), patience);
  expect(String(opened.outcomes[1]?.error)).toContain("not with these settings");
  expect(openClaw.routes.map(({ path }) => path)).toEqual(["/a"]);
  expect(openClaw.health.at(-1)).toContain("not with these settings");
  expect(openClaw.log.join("\n")).toContain("The new configuration is refused");
  openClaw.config = {};
  await vi.waitFor(() => expect(openClaw.health.at(-1)).toBe("clear"), patience);
});

it("serves nothing after a start that was refused, and starts with the next configuration", async () => {
  const openClaw = new FakeOpenClaw();
  await using opened = await OpenGateway.start({ openClaw, plugin: refusing((config) => config === undefined) });
  expect(openClaw.routes).toEqual([]);
  openClaw.config = withBlock({ enabled: true });
  await vi.waitFor(() => expect(openClaw.routes).toHaveLength(1), patience);
  expect(opened.outcomes.map(({ reason }) => reason)).toEqual(["start", "start"]);
});

it("refuses a late commit", async () => {
  let snapshot: ConfigSnapshot | undefined;
  await using _opened = await OpenGateway.start({
    plugin: { apply: (host) => host.lifecycle.onConfigLoad.tap("late", (given) => void (snapshot = given)) },
  });
  expect(() => snapshot?.onCommit(() => {})).toThrow("after onConfigLoad had ended");
});

it("refuses a path below the host's own hooks or around them, while those are on", async () => {
  const openClaw = new FakeOpenClaw();
  openClaw.config = { ...withBlock({ enabled: true, path: "/hooks/x" }), hooks: { enabled: true } };
  await using opened = await OpenGateway.start({ openClaw });
  expect(String(opened.outcomes[0]?.error)).toContain("/hooks/x is taken by OpenClaw's built-in hooks at /hooks");
  openClaw.config = { ...withBlock({ enabled: true, path: "/in" }), hooks: { enabled: true, path: "/in/bound" } };
  await vi.waitFor(() => expect(String(opened.outcomes[1]?.error)).toContain("/in is taken"), patience);
  openClaw.config = { ...withBlock({ enabled: true, path: "/hooksx" }), hooks: { enabled: true } };
  await vi.waitFor(() => expect(opened.outcomes[2]).toEqual({ reason: "start" }), patience);
});

it("names the calls that this version of the host lacks", async () => {
  using openClaw = new FakeOpenClaw();
  const { context, api } = openClaw;
  const lacking = { ...api, runtime: { ...api.runtime, subagent: {} } } as typeof api;
  const outcomes: unknown[] = [];
  const gateway = new OpenClawGateway(lacking, context, {
    pluginId: "reveille",
    block: (written) => written,
    loadSdk: requireCalls,
    onLoaded: ({ error }) => void outcomes.push(error),
  });
  await gateway.start();
  await gateway.stop();
  expect(String(outcomes[0])).toMatch(/2026\.9\.6.*runtime\.subagent\.run.*registerPluginHttpRoute.*update the host/);
});

it("waits for plugins at the stop, can be used meanwhile, and survives one that fails", async () => {
  const openClaw = new FakeOpenClaw();
  const left: number[] = [];
  const opened = await OpenGateway.start({
    openClaw,
    plugin: {
      apply(host) {
        host.lifecycle.onShutdown.tapPromise("last", async ({ deadlineMs }) => {
          left.push(deadlineMs - host.clock.now());
          const sessionKey = host.sessions.mainSessionKey("main");
          await host.sessions.enqueueSystemEvent({ sessionKey, text: "last words", idempotencyKey: "1" });
          throw new Error("too late");
        });
      },
    },
  });
  await opened.gateway.stop();
  await opened.gateway.stop();
  expect(left).toHaveLength(1);
  expect(left[0]).toBeGreaterThan(0);
  expect(openClaw.log.join("\n")).toContain("too late");
  await using second = await OpenGateway.start({ openClaw });
  await vi.waitFor(() => expect(second.openClaw.queues.get("agent:main:main")?.[0]?.text).toBe("last words"), patience);
});

it("runs the ingress itself, and calls its own route to report the exact address", async () => {
  const openClaw = new FakeOpenClaw();
  const server = createServer((req: IncomingMessage, res: ServerResponse) => {
    void openClaw.routes.find(({ path }) => path === "/reveille")?.handler(req, res);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const block = { enabled: true, path: "/reveille", token: "the-token-of-the-hooks-of-this-test" };
  openClaw.config = { ...withBlock(block), gateway: { port } };
  await using _opened = await OpenGateway.start({ openClaw, bare: false });
  const address = `http://127.0.0.1:${port}/reveille/wake`;
  await vi.waitFor(() => expect(openClaw.log.join("\n")).toContain(`Reveille answers at ${address}`), patience);
  server.closeAllConnections();
  server.close();
});
