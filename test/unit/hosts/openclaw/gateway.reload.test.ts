/** What a configuration changes, and what it must not change when it is refused. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, vi } from "vitest";
import type { AgentRunResult, GatewayHost, GatewayPlugin } from "../../../../src/core/host.ts";
import type { OpenClawAgents } from "../../../../src/hosts/openclaw/agents.ts";
import { RunCleanup } from "../../../../src/hosts/openclaw/run-cleanup.ts";
import type { OpenClawSdk } from "../../../../src/hosts/openclaw/sdk.ts";
import { keepingLogger } from "../../auth/keys/key-server.ts";
import { FakeOpenClaw } from "./fake-openclaw.ts";
import { OpenGateway } from "./open-gateway.ts";
import { runRequest } from "./run-request.ts";

const patience = { timeout: 10_000, interval: 20 };

function withBlock(config: object): FakeOpenClaw["config"] {
  return { plugins: { entries: { reveille: { config } } } };
}

/** A host that gives `/taken` to no one. */
function withTaken(openClaw: FakeOpenClaw): () => Promise<OpenClawSdk> {
  return async () => ({
    ...openClaw.sdk,
    registerPluginHttpRoute(route) {
      if (route.path === "/taken") throw new Error("the path is another plugin's");
      return openClaw.sdk.registerPluginHttpRoute(route);
    },
  });
}

/** Serves where the configuration says, and begins what `begin` does with its first commit. */
function serving(used: string[], begin: (host: GatewayHost) => void = () => {}): GatewayPlugin {
  return {
    apply(host) {
      host.lifecycle.onConfigLoad.tap("serving", (snapshot) => {
        snapshot.onCommit(() => {
          if (used.push((snapshot.config as { path: string }).path) === 1) begin(host);
        });
      });
      host.lifecycle.onHttpRoute.tap("serving", (router) => {
        router.register({ path: used.at(-1) ?? "", match: "prefix", handler: (_req, res) => void res.end() });
      });
    },
  };
}

it("changes nothing at a reload whose path the host does not give", async () => {
  const openClaw = new FakeOpenClaw();
  const used: string[] = [];
  openClaw.config = withBlock({ enabled: true, path: "/a" });
  await using opened = await OpenGateway.start({ openClaw, plugin: serving(used), loadSdk: withTaken(openClaw) });
  openClaw.config = withBlock({ enabled: true, path: "/taken" });
  await vi.waitFor(() => expect(String(opened.outcomes[1]?.error)).toContain("another plugin's"), patience);
  expect(used).toEqual(["/a"]);
  expect(openClaw.routes.map(({ path }) => path)).toEqual(["/a"]);
  openClaw.config = withBlock({ enabled: true, path: "/b" });
  await vi.waitFor(() => expect(opened.outcomes[2]).toEqual({ reason: "reload" }), patience);
  expect(openClaw.routes.map(({ path }) => path)).toEqual(["/b"]);
});

it("gives the path back to the host when a commit refuses the start", async () => {
  const openClaw = new FakeOpenClaw();
  openClaw.config = withBlock({ enabled: true, path: "/a" });
  const fail = (): never => {
    throw new Error("not this time");
  };
  await using opened = await OpenGateway.start({ openClaw, plugin: serving([], fail) });
  expect(String(opened.outcomes[0]?.error)).toContain("not this time");
  expect(openClaw.routes).toEqual([]);
});

it.each(["/plugins", "/plugins/reveille", "/plugins/reveille/in"])(
  "refuses the path %s, which would be over or under the operator's API",
  async (path) => {
    const openClaw = new FakeOpenClaw();
    openClaw.config = withBlock({ enabled: true, path });
    await using opened = await OpenGateway.start({ openClaw });
    expect(String(opened.outcomes[0]?.error)).toContain(`${path} overlaps /plugins/reveille`);
    openClaw.config = withBlock({ enabled: true, path: "/plugins/reveille-2" });
    await vi.waitFor(() => expect(opened.outcomes[1]).toEqual({ reason: "start" }), patience);
  },
);

it("does not end runs of its own that a refused start has begun", async () => {
  const openClaw = new FakeOpenClaw();
  openClaw.outcome = undefined;
  openClaw.config = withBlock({ enabled: false, path: "/taken" });
  const ending = new AbortController();
  const run: Promise<AgentRunResult>[] = [];
  const begin = (host: GatewayHost): void => {
    const { signal } = ending;
    const about = runRequest({ runId: "r", sessionKey: "s", timeoutMs: 60_000, signal });
    run.push(host.agents.run(about));
  };
  await using opened = await OpenGateway.start({ openClaw, plugin: serving([], begin), loadSdk: withTaken(openClaw) });
  expect(String(opened.outcomes[0]?.error)).toContain("another plugin's");
  await vi.waitFor(() => expect(openClaw.runs).toHaveLength(1), patience);
  openClaw.config = withBlock({ enabled: true, path: "/b" });
  // A start that was refused is tried again by itself after some seconds.
  await vi.waitFor(() => expect(opened.outcomes.at(-1)).toEqual({ reason: "start" }), patience);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(openClaw.deleted).toEqual([]);
  ending.abort();
  expect((await run[0])?.status).toBe("aborted");
});

it("does not keep a start waiting for a host that ends no run, and stops all the same", async () => {
  const openClaw = new FakeOpenClaw();
  const { ending, lost } = await leaveRun(openClaw);
  const ends = vi.spyOn(openClaw.api.runtime.subagent, "deleteSession").mockImplementation(() => new Promise(() => {}));
  await using second = await OpenGateway.start({ openClaw });
  expect(second.outcomes).toEqual([{ reason: "start" }]);
  expect(ends).toHaveBeenCalledTimes(1);
  ends.mockRestore();
  ending.abort();
  await lost;
});

it("has ended what an earlier process has left before it takes the first configuration into use", async () => {
  const openClaw = new FakeOpenClaw();
  const { ending, lost } = await leaveRun(openClaw);
  openClaw.config = withBlock({ enabled: true, path: "/a" });
  const order: string[] = [];
  vi.spyOn(openClaw.api.runtime.subagent, "deleteSession").mockImplementation(async () => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    order.push("ended");
  });
  await using _second = await OpenGateway.start({ openClaw, plugin: serving([], () => void order.push("in use")) });
  expect(order).toEqual(["ended", "in use"]);
  ending.abort();
  await lost;
});

it("ends a second time, somewhat later, what an earlier process has left, and nothing else", async () => {
  const openClaw = new FakeOpenClaw();
  const { about, ending, lost } = await leaveRun(openClaw);
  await using second = await OpenGateway.start({ openClaw });
  const agents = second.host.agents as OpenClawAgents;
  const closing = new AbortController();
  const cleanup = new RunCleanup({ agents, logger: keepingLogger(), closing: closing.signal, endAgainMs: 50 });
  await cleanup.lostRunsEnded(10_000);
  const own = second.host.agents.run({ ...about, runId: "own" });
  const session = openClaw.runs[0]?.sessionKey;
  await vi.waitFor(() => expect(openClaw.deleted).toEqual([session, session, session]), patience);
  closing.abort();
  ending.abort();
  await Promise.all([lost, own]);
});

it("continues when the host's configuration cannot be read for a while, and says so once", async () => {
  const openClaw = new FakeOpenClaw();
  const current = vi.spyOn(openClaw.api.runtime.config, "current").mockImplementation(() => {
    throw new Error("the file is being written");
  });
  await using opened = await OpenGateway.start({ openClaw });
  await new Promise((resolve) => setTimeout(resolve, 600));
  expect(opened.outcomes).toEqual([]);
  expect(openClaw.log.filter((line) => line.includes("is being written"))).toHaveLength(1);
  current.mockRestore();
  await vi.waitFor(() => expect(opened.outcomes).toEqual([{ reason: "start" }]), patience);
});

it("reports nothing of an address once another configuration is active", async () => {
  const openClaw = new FakeOpenClaw();
  let calls = 0;
  /** Answers what is not there like another server, and `/b` like the plugin. */
  const server = createServer((req, res) => {
    const route = openClaw.routes.find(({ path }) => req.url?.startsWith(path));
    if (req.url?.startsWith("/b") === true) return void route?.handler(req, res);
    // The port may have belonged to another test, whose caller still tries it.
    if (req.url?.startsWith("/a") === true) calls++;
    res.end("another server");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const gateway = { port: portOf(server) };
  const block = { enabled: true, token: "the-token-of-the-hooks-of-this-test" };
  openClaw.config = { ...withBlock({ ...block, path: "/a" }), gateway };
  await using opened = await OpenGateway.start({ openClaw, bare: false });
  await vi.waitFor(() => expect(calls).toBeGreaterThan(0), patience);
  openClaw.config = { ...withBlock({ ...block, path: "/b" }), gateway };
  await vi.waitFor(() => expect(opened.outcomes).toHaveLength(2), patience);
  await vi.waitFor(() => expect(openClaw.log.join("\n")).toContain("/b/wake"), patience);
  const before = calls;
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  expect(calls).toBe(before);
  server.closeAllConnections();
  server.close();
});

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** A run in progress in a gateway that has been stopped. */
async function leaveRun(openClaw: FakeOpenClaw) {
  openClaw.outcome = undefined;
  const first = await OpenGateway.start({ openClaw });
  const ending = new AbortController();
  const about = runRequest({ timeoutMs: 60_000, signal: ending.signal });
  const lost = first.host.agents.run(about);
  await vi.waitFor(() => expect(openClaw.runs).toHaveLength(1), patience);
  await first.gateway.stop();
  return { about, ending, lost };
}
