/** The lifecycle hooks of a host that this repository brings. */
import { AsyncSeriesHook, SyncHook } from "tapable";
import { reasonLine } from "../../core/reason-of.ts";
import { guardHook } from "../../core/guard-hook.ts";
import type { ConfigSnapshot, HostLifecycle, HttpRouter, ShutdownDeadline } from "../../core/host.ts";

/** Makes the hooks; every error out of them names the hook and the plugin's tap. */
export function createLifecycle(): HostLifecycle {
  const onConfigLoad = guardHook("onConfigLoad", new AsyncSeriesHook<[ConfigSnapshot]>(["snapshot"]));
  nameCommits(onConfigLoad);
  return Object.freeze({
    onConfigLoad,
    onHttpRoute: guardHook("onHttpRoute", new SyncHook<[HttpRouter]>(["router"])),
    onShutdown: guardHook("onShutdown", new AsyncSeriesHook<[ShutdownDeadline]>(["deadline"])),
  });
}

type Tap = (snapshot: ConfigSnapshot, ...rest: unknown[]) => unknown;

/** Makes what the commits of a tap throw name the hook and the tap, as the guard does for the tap itself. */
function nameCommits(hook: AsyncSeriesHook<[ConfigSnapshot]>): void {
  hook.intercept({
    name: "commits",
    register: (tap) => {
      const load = tap.fn as Tap;
      const fn: Tap = (snapshot, ...rest) => load(withNamedCommits(snapshot, tap.name), ...rest);
      return { ...tap, fn };
    },
  });
  // tapable counts interceptors as taps.
  hook.isUsed = () => hook.taps.length > 0;
}

function withNamedCommits(snapshot: ConfigSnapshot, name: string): ConfigSnapshot {
  return {
    ...snapshot,
    onCommit: (commit) => {
      snapshot.onCommit(() => {
        try {
          commit();
        } catch (error) {
          const who = `Hook "onConfigLoad", commit of the tap "${name}"`;
          throw new Error(`${who}: ${reasonLine(error)}`, { cause: error });
        }
      });
    },
  };
}
