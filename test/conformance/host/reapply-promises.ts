import { expect, it, vi } from "vitest";
import type { SuiteContext } from "./describe-gateway-host.ts";
import { ProbePlugin } from "./probe-plugin.ts";
import type { ProbeTaps } from "./probe-plugin.ts";

const SOON = { timeout: 20_000, interval: 10 };

/** A plugin that writes down what happens to it, with the number of the host object. */
function chronicler(order: string[], taps: ProbeTaps = {}): ProbePlugin {
  const probe: ProbePlugin = new ProbePlugin({
    onConfigLoad(snapshot, host) {
      const at = probe.hosts.indexOf(host) + 1;
      order.push(`${at} loads`);
      snapshot.onCommit(() => order.push(`${at} commits`));
    },
    onHttpRoute(router, host) {
      const at = probe.hosts.indexOf(host) + 1;
      order.push(`${at} routes`);
      router.register({ path: "/object", match: "exact", handler: (_req, res) => void res.end(String(at)) });
    },
    onShutdown(_deadline, host) {
      order.push(`${probe.hosts.indexOf(host) + 1} shuts down`);
    },
    ...taps,
  });
  return probe;
}

/** A host that applies plugins again, to a new object; one that never does has nothing to promise. */
export function testReapply({ start }: SuiteContext): void {
  it("gives every plugin the same new object, of which all but the lifecycle is as it was", async () => {
    const probes = [chronicler([]), new ProbePlugin()];
    const running = await start(probes);
    if (running.reapply === undefined) return expect(probes[0]?.hosts).toHaveLength(1);
    await running.reapply();
    const [first, second] = probes.map(({ hosts }) => hosts);
    expect(second).toEqual(first);
    expect(first).toHaveLength(2);
    expect(first?.[1]).not.toBe(first?.[0]);
    expect(first?.[1]?.lifecycle).not.toBe(first?.[0]?.lifecycle);
    const rest = first?.map((host) => ({ ...host, lifecycle: undefined }));
    expect(rest?.[1]).toEqual(rest?.[0]);
  });

  it("prepares and commits on the new object alone, serves its routes, and then shuts down the previous one, once", async () => {
    const order: string[] = [];
    const running = await start([chronicler(order)]);
    if (running.reapply === undefined) return expect(order).toEqual(["1 loads", "1 commits", "1 routes"]);
    await running.reapply();
    expect(await (await fetch(`${running.url}/object`)).text()).toBe("2");
    await vi.waitFor(() => expect(order).toContain("1 shuts down"), SOON);
    await running.reload({ enabled: false });
    await running.stop();
    const again = ["2 loads", "2 commits", "2 routes"];
    expect(order).toEqual(["1 loads", "1 commits", "1 routes", ...again, "1 shuts down", ...again, "2 shuts down"]);
  });

  it("continues with the object before when a plugin refuses the new one, which it then shuts down", async () => {
    const order: string[] = [];
    const refusing: ProbePlugin = new ProbePlugin({
      onConfigLoad(_snapshot, host) {
        if (refusing.hosts.indexOf(host) > 0) throw new Error("not here");
      },
    });
    const running = await start([chronicler(order), refusing]);
    if (running.reapply === undefined) return expect(order).toEqual(["1 loads", "1 commits", "1 routes"]);
    await running.reapply();
    expect(await (await fetch(`${running.url}/object`)).text()).toBe("1");
    await vi.waitFor(() => expect(order.slice(3)).toEqual(["2 loads", "2 shuts down"]), SOON);
    await running.stop();
    expect(order.slice(5)).toEqual(["1 shuts down"]);
  });

  it("lets a request finish on the object that it began with, before that is shut down", async () => {
    const gate = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    const order: string[] = [];
    const probe: ProbePlugin = chronicler(order, {
      onHttpRoute(router, host) {
        const at = probe.hosts.indexOf(host) + 1;
        router.register({
          path: "/slow",
          match: "exact",
          async handler(_req, res) {
            arrived.resolve();
            await gate.promise;
            order.push(`${at} answers`);
            res.end(String(at));
          },
        });
      },
    });
    const running = await start([probe]);
    if (running.reapply === undefined) return expect(probe.hosts).toHaveLength(1);
    const slow = fetch(`${running.url}/slow`);
    await arrived.promise;
    await running.reapply();
    gate.resolve();
    expect(await (await slow).text()).toBe("1");
    await vi.waitFor(() => expect(order).toContain("1 shuts down"), SOON);
    expect(order.indexOf("1 answers")).toBeLessThan(order.indexOf("1 shuts down"));
  });
}
