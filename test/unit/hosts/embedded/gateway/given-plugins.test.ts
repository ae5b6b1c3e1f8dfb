import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { GatewayHost, GatewayPlugin } from "../../../../../src/core/host.ts";
import { WebhookIngress } from "../../../../../src/index.ts";
import { callHook, GatewayFixture } from "./fixture.ts";
import { configWith, writePlugin } from "./rules-plugin.ts";

const ROUNDS = 20;
const SOON = { timeout: 15_000, interval: 5 };

let fixture: GatewayFixture;
beforeEach(() => {
  fixture = new GatewayFixture();
  writePlugin(fixture, "rules");
});
afterEach(() => fixture.remove());

/** How many functions hang on the hooks of a host and of the ingress in it. */
function tapsOf(host: GatewayHost): number {
  const hooks = [...Object.values(host.lifecycle), ...Object.values(WebhookIngress.hooks(host))];
  return hooks.reduce((sum, hook) => sum + (hook as { taps: readonly unknown[] }).taps.length, 0);
}

describe("plugins of the program that embeds the gateway", () => {
  it("are applied once more to a new host object, of which all but the hooks is as it was, when plugins change", async () => {
    const hosts: GatewayHost[] = [];
    const order: string[] = [];
    const observer: GatewayPlugin = {
      apply(host) {
        const at = hosts.push(host);
        order.push(`${at} applied`);
        host.lifecycle.onConfigLoad.tap("observer", (snapshot) => {
          snapshot.onCommit(() => void order.push(`${at} commits ${snapshot.reason}`));
        });
        host.lifecycle.onHttpRoute.tap("observer", () => void order.push(`${at} routes`));
        host.lifecycle.onShutdown.tap("observer", () => void order.push(`${at} shuts down`));
      },
    };
    const gateway = await fixture.start({ plugins: [observer] });
    fixture.write(configWith({ rules: {} }));
    await gateway.reload();
    await vi.waitFor(() => expect(order).toContain("1 shuts down"), SOON);
    await gateway.reload();
    await gateway.stop();
    expect(order).toEqual([
      "1 applied",
      "1 commits start",
      "1 routes",
      "2 applied",
      "2 commits reload",
      "2 routes",
      "1 shuts down",
      "2 commits reload",
      "2 routes",
      "2 shuts down",
    ]);
    const [first, second] = hosts;
    expect(second).not.toBe(first);
    expect(second?.lifecycle).not.toBe(first?.lifecycle);
    expect({ ...second, lifecycle: undefined }).toEqual({ ...first, lifecycle: undefined });
  });

  it(`leave no taps behind and keep no host object alive: ${ROUNDS} reloads of the plugins are as one`, async () => {
    const taps: number[] = [];
    const hosts: WeakRef<GatewayHost>[] = [];
    let current: GatewayHost | undefined;
    const policy: string[] = [];
    const observer: GatewayPlugin = {
      apply(host) {
        current = host;
        const at = hosts.push(new WeakRef(host));
        WebhookIngress.hooks(host).policy.tap("observer", () => void policy.push(String(at)));
      },
    };
    const gateway = await fixture.start({ plugins: [observer] });
    for (let round = 0; round < ROUNDS; round++) {
      fixture.write(configWith({ rules: { deny: `round ${round}` } }));
      expect(await gateway.reload()).toEqual({ applied: true, restartNeeded: [] });
      if (current) taps.push(tapsOf(current));
    }
    expect(new Set(taps).size).toBe(1);
    await callHook(gateway, "/hooks/wake", { text: "x", mode: "next-heartbeat" });
    expect(policy).toEqual([String(ROUNDS + 1)]);
    expect((await callHook(gateway, "/hooks/wake", { text: `round ${ROUNDS - 1}` })).status).toBe(403);
    expect((await callHook(gateway, "/hooks/wake", { text: "round 1," })).status).toBe(200);
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    await vi.waitFor(async () => {
      await setImmediate();
      collect();
      // The first one stays: what lives as long as the gateway was made with it.
      expect(hosts.filter((host) => host.deref() !== undefined).length).toBeLessThanOrEqual(2);
    }, SOON);
  });

  it("are waited for when the gateway stops while they still let go of the object before", async () => {
    const ended: number[] = [];
    let objects = 0;
    const slow: GatewayPlugin = {
      apply(host) {
        const at = ++objects;
        host.lifecycle.onShutdown.tapPromise("slow", async () => {
          if (at === 1) await sleep(1_500);
          ended.push(at);
        });
      },
    };
    const gateway = await fixture.start({ plugins: [slow] });
    fixture.write(configWith({ rules: {} }));
    await gateway.reload();
    await gateway.stop();
    expect(ended.toSorted((a, b) => a - b)).toEqual([1, 2]);
  });

  it("that refuse the new host object keep the previous plugins active", async () => {
    let refuses = false;
    const moody: GatewayPlugin = {
      apply() {
        if (refuses) throw new Error("not a second time");
      },
    };
    const gateway = await fixture.start({ plugins: [moody] });
    refuses = true;
    fixture.write(configWith({ rules: { deny: "x" } }));
    expect(await gateway.reload()).toEqual({ applied: false, restartNeeded: [] });
    expect(String(fixture.logger.lines.findLast(({ level }) => level === "error")?.fields["err"])).toContain(
      "not a second time",
    );
    expect((await callHook(gateway, "/hooks/wake", { text: "x" })).status).toBe(200);
  });
});
