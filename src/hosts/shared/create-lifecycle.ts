/** The lifecycle hooks of a host that this repository brings. */
import { AsyncSeriesHook, SyncHook } from "tapable";
import { guardHook } from "../../core/guard-hook.ts";
import { nameCommits } from "./name-commits.ts";
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
