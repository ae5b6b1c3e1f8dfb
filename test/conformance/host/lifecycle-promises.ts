import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { expect, it } from "vitest";
import type { ConfigSnapshot, GatewayHost } from "../../../src/core/host.ts";
import type { SuiteContext } from "./describe-gateway-host.ts";
import { ProbePlugin } from "./probe-plugin.ts";

/** The host object itself, and the order in which its hooks are fired. */
export function testLifecycle({ start, startProbe }: SuiteContext): void {
  it("applies each plugin once and gives every one of them the same host", async () => {
    const plugins = [new ProbePlugin(), new ProbePlugin()];
    await start(plugins);
    expect(plugins[0]?.hosts).toHaveLength(1);
    expect(plugins[1]?.hosts).toEqual(plugins[0]?.hosts);
    expect(plugins[1]?.host).toBe(plugins[0]?.host);
  });

  it("has a name, a clock in milliseconds, a logger, and absolute paths of which the state's is private", async () => {
    const before = Date.now();
    const { host } = await startProbe();
    expect(host.name).toMatch(/^\S+$/u);
    expect(host.clock.now()).toBeGreaterThanOrEqual(before);
    expect(host.clock.now()).toBeLessThanOrEqual(Date.now());
    for (const level of ["debug", "info", "warn", "error"] as const) {
      expect(() => {
        host.logger[level]({ from: "the conformance suite" }, "A line of the host contract's suite.");
      }).not.toThrow();
    }
    expect(isAbsolute(host.paths.configDir)).toBe(true);
    expect(isAbsolute(host.paths.stateDir)).toBe(true);
    expect(statSync(host.paths.stateDir).mode & 0o777).toBe(0o700);
  });

  it("loads the configuration, commits it, builds the routes and then answers, in this order", async () => {
    const order: string[] = [];
    const probe = new ProbePlugin({
      onConfigLoad(snapshot) {
        order.push(`load ${snapshot.reason}`);
        snapshot.onCommit(() => order.push("commit"));
      },
      onHttpRoute(router) {
        order.push("route");
        router.register({ path: "/probe", match: "exact", handler: (_req, res) => void res.end("served") });
      },
    });
    const running = await start([probe]);
    expect(order).toEqual(["load start", "commit", "route"]);
    expect(await (await fetch(`${running.url}/probe`)).text()).toBe("served");
    await running.reload({ enabled: false });
    expect(order).toEqual(["load start", "commit", "route", "load reload", "commit", "route"]);
  });

  it("hands over the plugin's block as written, and undefined when there is none", async () => {
    const blocks: unknown[] = [];
    const taps = { onConfigLoad: (snapshot: ConfigSnapshot) => void blocks.push(snapshot.config) };
    await start([new ProbePlugin(taps)]);
    await start([new ProbePlugin(taps)], { enabled: false, path: "/elsewhere" });
    expect(blocks).toEqual([undefined, { enabled: false, path: "/elsewhere" }]);
  });

  it("reports the facts of the gateway that decide what a safe configuration is", async () => {
    let snapshot: ConfigSnapshot | undefined;
    await start([new ProbePlugin({ onConfigLoad: (given) => void (snapshot = given) })]);
    expect(snapshot?.gateway.loopbackOnly).toBe(true);
    expect(snapshot?.gateway.trustedProxies).toEqual([]);
    expect(snapshot?.gateway.secrets.length).toBeGreaterThan(0);
    for (const secret of snapshot?.gateway.secrets ?? []) expect(secret).not.toBe("");
  });

  it("shows agents and channels with the snapshot as the host has them after the commit", async () => {
    let snapshot: ConfigSnapshot | undefined;
    const probe = new ProbePlugin({ onConfigLoad: (given) => void (snapshot = given) });
    await start([probe]);
    const { agents, channels } = probe.host;
    expect(snapshot?.agents.list()).toEqual(agents.list());
    expect(snapshot?.agents.resolve(undefined)).toEqual(agents.resolve(undefined));
    const { id } = agents.resolve(undefined);
    expect(snapshot?.agents.allowedModels(id)).toEqual(agents.allowedModels(id));
    expect(snapshot?.channels).toEqual(channels.list());
  });

  it("refuses to start when a plugin refuses the configuration", async () => {
    const refusing = new ProbePlugin({
      onConfigLoad() {
        throw new Error("not with these settings");
      },
    });
    await expect(start([refusing])).rejects.toThrow("not with these settings");
  });

  it("keeps the active configuration when any plugin refuses the next", async () => {
    let committed: unknown;
    let refuses = false;
    const first = new ProbePlugin({
      onConfigLoad(snapshot) {
        snapshot.onCommit(() => (committed = snapshot.config));
      },
      onHttpRoute(router) {
        const block = JSON.stringify(committed);
        router.register({ path: "/block", match: "exact", handler: (_req, res) => void res.end(block) });
      },
    });
    const second = new ProbePlugin({
      onConfigLoad() {
        if (refuses) throw new Error("refused");
      },
    });
    const running = await start([first, second], { enabled: false });
    refuses = true;
    await running.reload({ enabled: false, path: "/next" });
    expect(committed).toEqual({ enabled: false });
    expect(await (await fetch(`${running.url}/block`)).json()).toEqual({ enabled: false });
    refuses = false;
    await running.reload({ enabled: false, path: "/next" });
    expect(await (await fetch(`${running.url}/block`)).json()).toEqual({ enabled: false, path: "/next" });
  });

  it("commits once, in order of registration, after every plugin has accepted", async () => {
    const order: string[] = [];
    const tapping = (name: string): ProbePlugin =>
      new ProbePlugin({
        async onConfigLoad(snapshot) {
          snapshot.onCommit(() => order.push(`${name} commits`));
          await new Promise((resolve) => setTimeout(resolve, 5));
          order.push(`${name} accepts`);
        },
      });
    await start([tapping("one"), tapping("two")]);
    expect(order).toEqual(["one accepts", "two accepts", "one commits", "two commits"]);
  });

  it("takes calls to sessions, agents and channels from the commit on", async () => {
    const stored = Promise.withResolvers<void>();
    const probe = new ProbePlugin({
      onConfigLoad(snapshot, host) {
        snapshot.onCommit(() => {
          const sessionKey = host.sessions.mainSessionKey(host.agents.resolve(undefined).id);
          host.sessions
            .enqueueSystemEvent({ sessionKey, text: "early", idempotencyKey: "early" })
            .then(() => stored.resolve(), stored.reject);
        });
      },
    });
    const running = await start([probe]);
    await stored.promise;
    const { host } = probe;
    const sessionKey = host.sessions.mainSessionKey(host.agents.resolve(undefined).id);
    expect(await running.pendingEvents(sessionKey)).toEqual(["early"]);
  });

  it("serves the table of the previous commit until the next is complete, and drops no request", async () => {
    const gate = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    let generation = 0;
    const probe = new ProbePlugin({
      onHttpRoute(router) {
        const own = ++generation;
        router.register({
          path: "/slow",
          match: "exact",
          async handler(_req, res) {
            arrived.resolve();
            await gate.promise;
            res.end(String(own));
          },
        });
        router.register({ path: "/fast", match: "exact", handler: (_req, res) => void res.end(String(own)) });
      },
    });
    const running = await start([probe]);
    const slow = fetch(`${running.url}/slow`);
    await arrived.promise;
    await running.reload({ enabled: false });
    expect(await (await fetch(`${running.url}/fast`)).text()).toBe("2");
    gate.resolve();
    expect(await (await slow).text()).toBe("1");
  });

  it("gives plugins a deadline to shut down by, waits for them, and can still be used meanwhile", async () => {
    const shutdown: { leftMs?: number; waited?: boolean } = {};
    const probe = new ProbePlugin({
      async onShutdown({ deadlineMs }, host: GatewayHost) {
        shutdown.leftMs = deadlineMs - host.clock.now();
        const sessionKey = host.sessions.mainSessionKey(host.agents.resolve(undefined).id);
        await host.sessions.enqueueSystemEvent({ sessionKey, text: "last words", idempotencyKey: "last" });
        shutdown.waited = true;
      },
    });
    const running = await start([probe]);
    await running.stop();
    expect(shutdown.leftMs).toBeGreaterThan(0);
    expect(shutdown.waited).toBe(true);
    await expect(fetch(running.url)).rejects.toThrow("fetch failed");
  });
}
