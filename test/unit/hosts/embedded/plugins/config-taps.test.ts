import { describe, expect, it } from "vitest";
import type { ConfigSnapshot, GatewayPlugin } from "../../../../../src/core/host.ts";
import { PluginSet } from "../../../../../src/hosts/embedded/plugins/reload.ts";
import { prepareConfig } from "../../../../../src/hosts/shared/load-config.ts";
import { pluginHost } from "./plugin-host.ts";

const clock = { now: () => Date.now() };
const SNAPSHOT = { config: {}, reason: "reload" } as unknown as ConfigSnapshot;
const NO_PLUGINS = { load: [], entries: new Map() };

function tapping(
  tap: (hook: Parameters<GatewayPlugin["apply"]>[0]["lifecycle"]["onConfigLoad"]) => void,
): GatewayPlugin {
  return { apply: (host) => tap(host.lifecycle.onConfigLoad) };
}

/** Offers a configuration to plugins; the built-in one takes longer than each may. */
async function offered(...given: readonly GatewayPlugin[]): Promise<readonly string[]> {
  const { host } = pluginHost();
  const order: string[] = [];
  const builtIn = tapping((hook) =>
    hook.tapPromise("ingress", async () => {
      await new Promise((resolve) => setTimeout(resolve, 200));
      order.push("ingress");
    }),
  );
  const set = new PluginSet(NO_PLUGINS, { host, builtIn, given, clock, configTimeoutMs: 100 });
  set.apply([]);
  const { commits } = await prepareConfig(host.lifecycle, SNAPSHOT);
  for (const commit of commits) commit();
  return order;
}

describe("a configuration that plugins are offered", () => {
  it.each([
    ["a promise", tapping((hook) => hook.tapPromise("hanging", () => new Promise(() => {})))],
    ["a callback", tapping((hook) => hook.tapAsync("hanging", () => {}))],
  ])("is refused, with the name of the tap, by one that never ends: %s", async (_how, hanging) => {
    await expect(offered(hanging)).rejects.toThrow(
      'Hook "onConfigLoad", tap "hanging": has not come to an end after 100 ms.',
    );
  });

  it("is taken by those that end, however they were tapped, with what they commit", async () => {
    const seen: string[] = [];
    const sync = tapping((hook) => hook.tap("sync", (snapshot) => snapshot.onCommit(() => void seen.push("sync"))));
    const promise = tapping((hook) =>
      hook.tapPromise("promise", async (snapshot) => {
        await Promise.resolve();
        snapshot.onCommit(() => void seen.push("promise"));
      }),
    );
    const callback = tapping((hook) =>
      hook.tapAsync("callback", (snapshot, done) => {
        snapshot.onCommit(() => void seen.push("callback"));
        process.nextTick(() => done());
      }),
    );
    expect(await offered(sync, promise, callback)).toEqual(["ingress"]);
    expect(seen).toEqual(["sync", "promise", "callback"]);
  });

  it("is refused by what one throws, in its words", async () => {
    const throwing = tapping((hook) =>
      hook.tap("strict", () => {
        throw new Error("not with me");
      }),
    );
    await expect(offered(throwing)).rejects.toThrow('Hook "onConfigLoad", tap "strict": not with me');
  });
});
