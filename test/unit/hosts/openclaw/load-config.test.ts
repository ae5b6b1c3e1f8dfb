import { expect, it, vi } from "vitest";
import type { GatewayPlugin } from "../../../../src/core/host.ts";
import { FakeOpenClaw } from "./fake-openclaw.ts";
import { OpenGateway } from "./open-gateway.ts";

const patience = { timeout: 10_000, interval: 20 };

/** Two commits, of which the first throws as long as the block says so. */
function throwing(used: string[]): GatewayPlugin {
  return {
    apply(host) {
      host.lifecycle.onConfigLoad.tap("throwing", (snapshot) => {
        const { enabled, path } = snapshot.config as { enabled: boolean; path: string };
        snapshot.onCommit(() => {
          if (enabled) throw new Error("a commit that must not throw");
        });
        snapshot.onCommit(() => void used.push(path));
      });
      host.lifecycle.onHttpRoute.tap("throwing", (router) => {
        router.register({ path: used.at(-1) ?? "/none", match: "prefix", handler: (_req, res) => void res.end() });
      });
    },
  };
}

function withBlock(config: object): FakeOpenClaw["config"] {
  return { plugins: { entries: { reveille: { config } } } };
}

it("takes the other parts of a configuration into use when a commit throws, and says so", async () => {
  const openClaw = new FakeOpenClaw();
  const used: string[] = [];
  openClaw.config = withBlock({ enabled: false, path: "/a" });
  await using opened = await OpenGateway.start({ openClaw, plugin: throwing(used) });
  openClaw.config = withBlock({ enabled: true, path: "/b" });
  await vi.waitFor(() => expect(opened.outcomes).toEqual([{ reason: "start" }, { reason: "reload" }]), patience);
  expect(used).toEqual(["/a", "/b"]);
  expect(openClaw.routes.map(({ path }) => path)).toContain("/b");
  expect(openClaw.log.join("\n")).toMatch(/a part of the new configuration failed.*a commit that must not throw/);
});

it("refuses the first configuration as a whole when a commit throws, and serves nothing", async () => {
  const openClaw = new FakeOpenClaw();
  const used: string[] = [];
  openClaw.config = withBlock({ enabled: true, path: "/a" });
  await using opened = await OpenGateway.start({ openClaw, plugin: throwing(used) });
  expect(String(opened.outcomes[0]?.error)).toContain("a commit that must not throw");
  expect(openClaw.routes).toEqual([]);
  openClaw.config = withBlock({ enabled: false, path: "/a" });
  await vi.waitFor(() => expect(opened.outcomes[1]).toEqual({ reason: "start" }), patience);
});

it("loads a configuration again when an agent may choose other models than before", async () => {
  const openClaw = new FakeOpenClaw();
  const subagent = { allowModelOverride: true };
  const withModels = (allow: readonly string[]): FakeOpenClaw["config"] => ({
    plugins: { entries: { reveille: { subagent, config: { enabled: false } } } },
    agents: { entries: { main: {}, ops: { modelPolicy: { allow } } } },
  });
  openClaw.config = withModels(["a/b"]);
  await using opened = await OpenGateway.start({ openClaw });
  openClaw.config = withModels(["c/d"]);
  await vi.waitFor(() => expect(opened.outcomes).toEqual([{ reason: "start" }, { reason: "reload" }]), patience);
  expect(opened.host.agents.allowedModels("ops")).toEqual(["c/d"]);
});
